package dynamo

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// fake answers every call with the next of its errors; when they run out, with success.
type fake struct {
	errs  []error
	calls []string
}

func (f *fake) answer(call string) error {
	f.calls = append(f.calls, call)
	if len(f.errs) == 0 {
		return nil
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return err
}

func (f *fake) GetItem(context.Context, *sdk.GetItemInput, ...func(*sdk.Options)) (*sdk.GetItemOutput, error) {
	return &sdk.GetItemOutput{}, f.answer("get")
}

func (f *fake) PutItem(context.Context, *sdk.PutItemInput, ...func(*sdk.Options)) (*sdk.PutItemOutput, error) {
	return &sdk.PutItemOutput{}, f.answer("put")
}

func (f *fake) Query(context.Context, *sdk.QueryInput, ...func(*sdk.Options)) (*sdk.QueryOutput, error) {
	return &sdk.QueryOutput{}, f.answer("query")
}

func (f *fake) TransactWriteItems(
	_ context.Context, in *sdk.TransactWriteItemsInput, _ ...func(*sdk.Options),
) (*sdk.TransactWriteItemsOutput, error) {
	return &sdk.TransactWriteItemsOutput{}, f.answer("transact " + aws.ToString(in.ClientRequestToken))
}

var (
	key     = table.Key{Partition: "p", Sort: "s"}
	create  = table.Write{ID: "w", Ops: []table.Op{table.Put(key, []byte("v"), table.Absent())}}
	replace = table.Write{ID: "w", Ops: []table.Op{table.Put(key, []byte("v"), table.At("before"))}}
	pair    = table.Write{ID: "w", Ops: []table.Op{
		table.Check(table.Key{Partition: "p", Sort: "fence"}, table.At("f")), table.Put(key, []byte("v"), table.Absent()),
	}}
)

func apiError(code string, fault smithy.ErrorFault) error {
	return &smithy.GenericAPIError{Code: code, Fault: fault}
}

// cancelled is a transaction's refusal, a reason for each of its actions.
func cancelled(reasons ...types.CancellationReason) error {
	return &types.TransactionCanceledException{CancellationReasons: reasons}
}

func reason(code string) types.CancellationReason { return types.CancellationReason{Code: &code} }

func conditionOn(revision string) types.CancellationReason {
	r := reason("ConditionalCheckFailed")
	if revision != "" {
		r.Item = record(&table.Op{Key: key}, table.Revision(revision))
	}
	return r
}

func TestWriteSaysWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	conflict := apiError("TransactionConflictException", smithy.FaultClient)
	inProgress := apiError("TransactionInProgressException", smithy.FaultClient)
	for name, tc := range map[string]struct {
		write table.Write
		errs  []error
		want  error // nil is success
		sent  int
	}{
		"success":                           {create, nil, nil, 1},
		"a conflict passes":                 {pair, []error{cancelled(reason("None"), reason("TransactionConflict"))}, nil, 2},
		"throttling passes":                 {pair, []error{cancelled(reason("ThrottlingError"), reason("None"))}, nil, 2},
		"a plain put's conflict passes":     {replace, []error{conflict, conflict}, nil, 3},
		"a conflict that stays":             {pair, slices.Repeat([]error{conflict}, 99), table.ErrRefused, busyAttempts},
		"an earlier sending in progress":    {pair, []error{inProgress}, nil, 2},
		"one that stays in progress":        {pair, slices.Repeat([]error{inProgress}, 99), table.ErrUnknown, busyAttempts},
		"no answer":                         {pair, []error{io.ErrUnexpectedEOF}, table.ErrUnknown, 1},
		"the server's fault":                {replace, []error{apiError("InternalServerError", smithy.FaultServer)}, table.ErrUnknown, 1},
		"no permission":                     {pair, []error{apiError("AccessDeniedException", smithy.FaultClient)}, table.ErrRefused, 1},
		"a request that can't be":           {pair, []error{apiError("ValidationException", smithy.FaultClient)}, table.ErrInvalid, 1},
		"an item that can't be":             {pair, []error{cancelled(reason("None"), reason("ValidationError"))}, table.ErrInvalid, 1},
		"a token used for another write":    {pair, []error{&types.IdempotentParameterMismatchException{}}, table.ErrInvalid, 1},
		"a reason that doesn't pass":        {pair, []error{cancelled(reason("ItemCollectionSizeLimitExceeded"))}, table.ErrRefused, 1},
		"a condition that shows our record": {pair, []error{cancelled(conditionOn(""), conditionOn("w"))}, nil, 1},
		"a plain put that was ours": {
			replace, []error{&types.ConditionalCheckFailedException{Item: conditionOn("w").Item}}, nil, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fake{errs: tc.errs}
				if err := (&Table{api: f}).Write(t.Context(), tc.write); !errors.Is(err, tc.want) {
					t.Errorf("got error %v, want %v", err, tc.want)
				}
				if len(f.calls) != tc.sent {
					t.Errorf("sent %d times, want %d: %v", len(f.calls), tc.sent, f.calls)
				}
			})
		})
	}
}

func TestFailedConditionDecidesOverAConflict(t *testing.T) {
	t.Parallel()
	f := &fake{errs: []error{cancelled(reason("TransactionConflict"), conditionOn("theirs"))}}
	err := (&Table{api: f}).Write(t.Context(), pair)
	var failed *table.ConditionError
	if !errors.As(err, &failed) {
		t.Fatalf("got error %v, want a *ConditionError", err)
	}
	want := []table.Failed{{Index: 1, Item: &table.Item{Key: key, Revision: "theirs"}}}
	if diff := cmp.Diff(want, failed.Failed); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestOnlyALonePutAtARevisionGoesWithoutATransaction(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		write table.Write
		call  string
	}{
		"put at a revision": {replace, "put"},
		"put if absent":     {create, "transact w"},
		"several":           {pair, "transact w"},
		"delete":            {table.Write{ID: "w", Ops: []table.Op{table.Delete(key, table.At("before"))}}, "transact w"},
		"add":               {table.Write{ID: "w", Ops: []table.Op{table.Add(key, 1)}}, "transact w"},
	} {
		f := new(fake)
		if err := (&Table{api: f}).Write(t.Context(), tc.write); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]string{tc.call}, f.calls); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}

func TestWriteIsSentOnceWhenItsOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	s := New(aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, "table")
	for _, w := range []table.Write{pair, replace} {
		sent.Store(0)
		if err := s.Write(t.Context(), w); !errors.Is(err, table.ErrUnknown) || sent.Load() != 1 {
			t.Errorf("sent %d times, then %v; want once, then ErrUnknown: another sending hides the outcome", sent.Load(), err)
		}
	}
}

func TestKeysAreText(t *testing.T) {
	t.Parallel()
	odd := table.Key{Partition: "p", Sort: "\xff"}
	s := &Table{api: new(fake)}
	_, get := s.Get(t.Context(), odd)
	_, scan := s.Scan(t.Context(), table.Query{Partition: "p", Prefix: "\xff"})
	write := s.Write(t.Context(), table.Write{ID: "w", Ops: []table.Op{table.DeleteBlind(odd)}})
	for _, err := range []error{get, scan, write} {
		if !errors.Is(err, table.ErrInvalid) {
			t.Errorf("got error %v, want ErrInvalid", err)
		}
	}
}

func TestBoundNeverOverflows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		delta, most int64
		room        int64
		never       bool
	}{
		"plain":      {3, 10, 7, false},
		"negative":   {10, 3, -7, false},
		"over":       {-1, math.MaxInt64, math.MaxInt64, false},
		"under":      {1, math.MinInt64, 0, true},
		"both least": {math.MinInt64, math.MinInt64, 0, false},
		"least":      {math.MinInt64, 0, math.MaxInt64, false},
		"most":       {math.MaxInt64, 0, -math.MaxInt64, false},
	} {
		if room, never := minus(tc.most, tc.delta); room != tc.room || never != tc.never {
			t.Errorf("%s: got %d, %v; want %d, %v", name, room, never, tc.room, tc.never)
		}
	}
}

func TestRecordsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	op := table.PutExpiring(key, []byte("v"), table.Absent(), time.Unix(1_900_000_000, 5))
	a := record(&op, "w")
	a["n"] = &types.AttributeValueMemberN{Value: "99999999999999999999"}
	got, err := item(a)
	if err != nil {
		t.Fatal(err)
	}
	want := &table.Item{
		Key: key, Value: []byte("v"), Counter: math.MaxInt64, Revision: "w", Expires: time.Unix(1_900_000_000, 0).UTC(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if _, err := item(attributes{"n": &types.AttributeValueMemberN{Value: "1.5"}}); err == nil {
		t.Error("a counter that is no whole number was read")
	}
}

func TestScanThatCanFindNothingIsNotSent(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]table.Query{
		"up from past the prefix":     {Prefix: "m", After: "n"},
		"down from before the prefix": {Prefix: "m", After: "a", Desc: true},
		"until before the prefix":     {Prefix: "m", Until: "m"},
		"until before its start":      {After: "m", Until: "m"},
	} {
		q.Partition = "p"
		f := new(fake)
		p, err := (&Table{api: f}).Scan(t.Context(), q)
		if err != nil || len(p.Items) != 0 || p.Next != "" || len(f.calls) != 0 {
			t.Errorf("%s: got %v, %v after %v", name, p, err, f.calls)
		}
	}
}

func TestScanSaysItsRangeInOneCondition(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		q     table.Query
		cond  string
		start string
	}{
		"all":                   {table.Query{}, "p = :p", ""},
		"prefix":                {table.Query{Prefix: "m"}, "p = :p AND begins_with(s, :prefix)", ""},
		"prefix after":          {table.Query{Prefix: "m", After: "m1"}, "p = :p AND begins_with(s, :prefix)", "m1"},
		"prefix after before":   {table.Query{Prefix: "m", After: "a"}, "p = :p AND begins_with(s, :prefix)", ""},
		"until":                 {table.Query{Until: "m"}, "p = :p AND s < :until", ""},
		"after until":           {table.Query{After: "a", Until: "m"}, "p = :p AND s < :until", "a"},
		"prefix until":          {table.Query{Prefix: "m", Until: "m5"}, "p = :p AND s BETWEEN :prefix AND :until", ""},
		"prefix until past":     {table.Query{Prefix: "m", Until: "z"}, "p = :p AND begins_with(s, :prefix)", ""},
		"down":                  {table.Query{Prefix: "m", After: "m1", Desc: true}, "p = :p AND begins_with(s, :prefix)", "m1"},
		"down from past":        {table.Query{Prefix: "m", After: "z", Desc: true}, "p = :p AND begins_with(s, :prefix)", ""},
		"down ignores its end":  {table.Query{Until: "m", Desc: true}, "p = :p", ""},
		"until the prefix's up": {table.Query{Prefix: "m", After: "m1", Until: "m2"}, "p = :p AND s BETWEEN :prefix AND :until", "m1"},
	} {
		tc.q.Partition = "p"
		in, some := query(tc.q)
		if !some {
			t.Errorf("%s: not sent", name)
			continue
		}
		if got := aws.ToString(in.KeyConditionExpression); got != tc.cond {
			t.Errorf("%s: condition %q, want %q", name, got, tc.cond)
		}
		if got := textOf(in.ExclusiveStartKey["s"]); got != tc.start {
			t.Errorf("%s: starts after %q, want %q", name, got, tc.start)
		}
	}
}

func TestFailedReadIsRefused(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.ErrUnexpectedEOF, apiError("AccessDeniedException", smithy.FaultClient), context.Canceled} {
		_, get := (&Table{api: &fake{errs: []error{err}}}).Get(t.Context(), key)
		_, scan := (&Table{api: &fake{errs: []error{err}}}).Scan(t.Context(), table.Query{Partition: "p"})
		for _, got := range []error{get, scan} {
			if !errors.Is(got, table.ErrRefused) || !errors.Is(got, err) {
				t.Errorf("got error %v, want ErrRefused for %v", got, err)
			}
		}
	}
}
