package s3

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

// fake answers every call with the next of its errors; when they run out, with success.
type fake struct {
	api
	errs   []error
	calls  int
	ranged string
	body   io.ReadCloser
}

func (f *fake) answer() error {
	f.calls++
	if len(f.errs) == 0 {
		return nil
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return err
}

func (f *fake) PutObject(context.Context, *sdk.PutObjectInput, ...func(*sdk.Options)) (*sdk.PutObjectOutput, error) {
	return &sdk.PutObjectOutput{}, f.answer()
}

func (f *fake) GetObject(_ context.Context, in *sdk.GetObjectInput, _ ...func(*sdk.Options)) (*sdk.GetObjectOutput, error) {
	f.ranged = aws.ToString(in.Range)
	if err := f.answer(); err != nil {
		return nil, err
	}
	return &sdk.GetObjectOutput{Body: f.body}, nil
}

// answered is an error that S3 answered with.
func answered(status int, err error) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
	}}
}

func TestPutSaysWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	conflict := answered(http.StatusConflict, io.EOF)
	for name, tc := range map[string]struct {
		errs []error
		want error // nil is success
		sent int
	}{
		"success":               {nil, nil, 1},
		"exists":                {[]error{answered(http.StatusPreconditionFailed, io.EOF)}, blob.ErrExists, 1},
		"a conflict passes":     {[]error{conflict, conflict}, nil, 3},
		"a conflict that stays": {slices.Repeat([]error{conflict}, 99), blob.ErrRefused, conflictAttempts},
		"a conflict that was lost": {
			[]error{conflict, answered(http.StatusPreconditionFailed, io.EOF)}, blob.ErrExists, 2,
		},
		"no permission": {[]error{answered(http.StatusForbidden, io.EOF)}, blob.ErrRefused, 1},
		"no answer":     {[]error{io.ErrUnexpectedEOF}, blob.ErrRefused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fake{errs: tc.errs}
				if err := (&Blob{api: f}).Put(t.Context(), "a", []byte("x")); !errors.Is(err, tc.want) {
					t.Errorf("got error %v, want %v", err, tc.want)
				}
				if f.calls != tc.sent {
					t.Errorf("sent %d times, want %d", f.calls, tc.sent)
				}
			})
		})
	}
}

func TestGetSaysWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ err, want error }{
		"missing":       {answered(http.StatusNotFound, &types.NoSuchKey{}), blob.ErrNotFound},
		"no bucket":     {answered(http.StatusNotFound, &types.NoSuchBucket{}), blob.ErrRefused},
		"no permission": {answered(http.StatusForbidden, io.EOF), blob.ErrRefused},
		"no answer":     {io.ErrUnexpectedEOF, blob.ErrRefused},
	} {
		if _, err := (&Blob{api: &fake{errs: []error{tc.err}}}).Get(t.Context(), "a"); !errors.Is(err, tc.want) {
			t.Errorf("%s: got error %v, want %v", name, err, tc.want)
		}
	}
}

func TestBodyThatBreaksOffIsRefused(t *testing.T) {
	t.Parallel()
	broken := io.NopCloser(io.MultiReader(strings.NewReader("half"), brokenReader{}))
	got, err := (&Blob{api: &fake{body: broken}}).Get(t.Context(), "a")
	if !errors.Is(err, blob.ErrRefused) || got != nil {
		t.Errorf("got %q, %v; want ErrRefused and no half of a body", got, err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRangeIsSaidInclusively(t *testing.T) {
	t.Parallel()
	for want, r := range map[string][2]int64{
		"bytes=0-0":                   {0, 1},
		"bytes=10-14":                 {10, 5},
		"bytes=7-7":                   {7, 0},
		"bytes=1-9223372036854775807": {1, math.MaxInt64},
		"bytes=9-9223372036854775807": {9, math.MaxInt64},
	} {
		f := &fake{body: io.NopCloser(strings.NewReader(""))}
		if _, err := (&Blob{api: f}).GetRange(t.Context(), "a", r[0], r[1]); err != nil || f.ranged != want {
			t.Errorf("%v: asked for %q, %v; want %q", r, f.ranged, err, want)
		}
	}
}

func TestBucketIsPartOfThePathOnlyAtAnEndpointOfOnesOwn(t *testing.T) {
	t.Parallel()
	if Client(aws.Config{}).Options().UsePathStyle {
		t.Error("path style on AWS")
	}
	if !Client(aws.Config{BaseEndpoint: aws.String("http://127.0.0.1:1")}).Options().UsePathStyle {
		t.Error("no path style at an endpoint")
	}
}
