package owner_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

const bot = "telegram-1"

var noon = time.UnixMilli(1_900_000_000_000)

func newBook() *owner.Book { return &owner.Book{Table: new(tabletest.Fake), IDs: new(id.Source)} }

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func add(t *testing.T, b *owner.Book, name string, at time.Time) owner.Owner {
	t.Helper()
	return must[owner.Owner](t)(b.Add(t.Context(), name, at))
}

// redeem uses a code up as inbox does: in one write.
func redeem(t *testing.T, b *owner.Book, code, external string, at time.Time) error {
	t.Helper()
	_, ops, err := b.Redeem(t.Context(), code, bot, external, at)
	if err != nil {
		return err
	}
	return b.Table.Write(t.Context(), table.Write{ID: b.IDs.New(at), Ops: ops})
}

func TestAnAddedOwnerIsFoundWithAnActiveThread(t *testing.T) {
	t.Parallel()
	b := newBook()
	if _, ok, err := b.First(t.Context()); ok || err != nil {
		t.Fatalf("nobody was added, and there is one: %v, %v", ok, err)
	}
	ada := add(t, b, "Ada", noon)
	add(t, b, "Bea", noon.Add(time.Millisecond))
	first, ok, err := b.First(t.Context())
	if diff := cmp.Diff(ada, first); !ok || err != nil || diff != "" {
		t.Errorf("the first is %v, %v; want (-), got (+):\n%s", ok, err, diff)
	}
	if diff := cmp.Diff(ada, must[owner.Owner](t)(b.Get(t.Context(), ada.ID))); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	head := must[thread.Head](t)(thread.Load(t.Context(), b.Table, ada.Thread))
	if head.Owner != ada.ID || head.Status != thread.Active {
		t.Errorf("got head %+v", head)
	}
}

func TestOfManyWhoFoundTheFirstOwnerAtOnceOneDoes(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	b := &owner.Book{Table: store, IDs: new(id.Source)}
	quicker, raced := owner.Owner{}, false
	store.Fault = func(c tabletest.Call) tabletest.Fault {
		if raced || c.Method != tabletest.MethodScan {
			return tabletest.Fault{}
		}
		raced = true
		return tabletest.Fault{While: func() { quicker = must[owner.Owner](t)(b.Found(t.Context(), "Ada", noon)) }}
	}
	slower := must[owner.Owner](t)(b.Found(t.Context(), "Bea", noon))
	again := must[owner.Owner](t)(b.Found(t.Context(), "Cleo", noon))
	if diff := cmp.Diff([]owner.Owner{quicker, quicker}, []owner.Owner{slower, again}); diff != "" || quicker.Name != "Ada" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	page := must[table.Page](t)(store.Scan(t.Context(), table.Query{Partition: "dir", Prefix: "owner#"}))
	if len(page.Items) != 1 {
		t.Errorf("there are %d owners, want one", len(page.Items))
	}
}

// An owner who is added later by a machine whose clock is behind must not become the first.
func TestTheFoundedOwnerStaysTheFirst(t *testing.T) {
	t.Parallel()
	b := newBook()
	ada := must[owner.Owner](t)(b.Found(t.Context(), "Ada", noon))
	add(t, b, "Bea", noon.Add(-time.Hour))
	if first, _, err := b.First(t.Context()); err != nil || first != ada {
		t.Errorf("the first is %+v, %v", first, err)
	}
}

func TestAnOwnerWhoIsNotThere(t *testing.T) {
	t.Parallel()
	if _, err := newBook().Get(t.Context(), "nobody"); !errors.Is(err, thread.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestACodeIsTwelveCharactersThatNobodyMistakes(t *testing.T) {
	t.Parallel()
	b := newBook()
	form := regexp.MustCompile(`^[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}$`)
	seen := map[string]bool{}
	for range 50 {
		code := must[string](t)(b.NewCode(t.Context(), "o", noon))
		if !form.MatchString(code) || seen[code] {
			t.Fatalf("got %q", code)
		}
		seen[code] = true
	}
}

func TestACodePairsHoweverItIsTyped(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]func(string) string{
		"as shown":       func(c string) string { return c },
		"lower case":     strings.ToLower,
		"without dashes": func(c string) string { return strings.ReplaceAll(c, "-", "") },
		"spaced":         func(c string) string { return "  " + strings.ReplaceAll(c, "-", " ") + "\n" },
		"long dashes":    func(c string) string { return strings.ReplaceAll(c, "-", "–") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			ada := add(t, b, "Ada", noon)
			code := must[string](t)(b.NewCode(t.Context(), ada.ID, noon))
			if err := redeem(t, b, typed(code), "7", noon); err != nil {
				t.Fatal(err)
			}
			who := must[*owner.Identity](t)(b.Identify(t.Context(), bot, "7"))
			if who == nil || who.Owner != ada.ID || who.Thread != ada.Thread {
				t.Errorf("the identity is %+v", who)
			}
		})
	}
}

func TestACodeIsGoodOnce(t *testing.T) {
	t.Parallel()
	b := newBook()
	ada := add(t, b, "Ada", noon)
	code := must[string](t)(b.NewCode(t.Context(), ada.ID, noon))
	if err := redeem(t, b, code, "7", noon); err != nil {
		t.Fatal(err)
	}
	if err := redeem(t, b, code, "8", noon); !errors.Is(err, owner.ErrNoCode) {
		t.Errorf("the second use: %v, want ErrNoCode", err)
	}
	if who := must[*owner.Identity](t)(b.Identify(t.Context(), bot, "8")); who != nil {
		t.Errorf("the second user is %+v", who)
	}
}

func TestOfTwoWhoRedeemACodeAtOnceOneIsPaired(t *testing.T) {
	t.Parallel()
	b := newBook()
	ada := add(t, b, "Ada", noon)
	code := must[string](t)(b.NewCode(t.Context(), ada.ID, noon))
	var writes []table.Write
	for _, external := range []string{"7", "8"} {
		_, ops, err := b.Redeem(t.Context(), code, bot, external, noon)
		if err != nil {
			t.Fatal(err)
		}
		writes = append(writes, table.Write{ID: external, Ops: ops})
	}
	first, second := b.Table.Write(t.Context(), writes[0]), b.Table.Write(t.Context(), writes[1])
	if _, lost := errors.AsType[*table.ConditionError](second); first != nil || !lost {
		t.Errorf("got %v and %v, want one success and one lost race", first, second)
	}
}

func TestACodeEndsAfterAnHourEvenIfItsRecordIsStillThere(t *testing.T) {
	t.Parallel()
	b := newBook()
	ada := add(t, b, "Ada", noon)
	code := must[string](t)(b.NewCode(t.Context(), ada.ID, noon))
	if err := redeem(t, b, code, "7", noon.Add(owner.CodeTerm)); !errors.Is(err, owner.ErrNoCode) {
		t.Errorf("at its end: %v, want ErrNoCode", err)
	}
	if err := redeem(t, b, code, "7", noon.Add(owner.CodeTerm-time.Millisecond)); err != nil {
		t.Errorf("just before: %v", err)
	}
}

func TestAWrongCodeIsNone(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"", "2222-2222-2222", "☺", strings.Repeat("x", 10_000)} {
		if err := redeem(t, newBook(), code, "7", noon); !errors.Is(err, owner.ErrNoCode) {
			t.Errorf("%.20q: %v, want ErrNoCode", code, err)
		}
	}
}

func TestTheCodeItselfIsNotStored(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	b := &owner.Book{Table: store, IDs: new(id.Source)}
	code := must[string](t)(b.NewCode(t.Context(), "o", noon))
	for _, item := range store.Items() {
		for _, form := range []string{code, strings.ReplaceAll(code, "-", "")} {
			if strings.Contains(item.Key.String()+string(item.Value), form) {
				t.Errorf("%s holds the code", item.Key)
			}
		}
	}
}

func TestACodeTakesNoIdentityAwayFromAnotherOwner(t *testing.T) {
	t.Parallel()
	b := newBook()
	ada, bea := add(t, b, "Ada", noon), add(t, b, "Bea", noon)
	if err := b.Link(t.Context(), ada, bot, "7", noon); err != nil {
		t.Fatal(err)
	}
	code := must[string](t)(b.NewCode(t.Context(), bea.ID, noon))
	if err := redeem(t, b, code, "7", noon); !errors.Is(err, owner.ErrPaired) {
		t.Errorf("got %v, want ErrPaired", err)
	}
	if err := redeem(t, b, code, "8", noon); err != nil {
		t.Errorf("the code is used up: %v", err)
	}
	if who := must[*owner.Identity](t)(b.Identify(t.Context(), bot, "7")); who.Owner != ada.ID {
		t.Errorf("the identity is %+v, want it to be Ada's still", who)
	}
}

func TestAnOwnersIdentityTakesAnotherCodeOfTheSameOwner(t *testing.T) {
	t.Parallel()
	b := newBook()
	ada := add(t, b, "Ada", noon)
	if err := b.Link(t.Context(), ada, bot, "7", noon); err != nil {
		t.Fatal(err)
	}
	before := must[*owner.Identity](t)(b.Identify(t.Context(), bot, "7"))
	code := must[string](t)(b.NewCode(t.Context(), ada.ID, noon))
	if err := redeem(t, b, code, "7", noon); err != nil {
		t.Fatal(err)
	}
	err := b.Table.Write(t.Context(), table.Write{ID: "check", Ops: []table.Op{before.Unchanged(bot, "7")}})
	if _, changed := errors.AsType[*table.ConditionError](err); !changed {
		t.Errorf("what was read before still counts: %v", err)
	}
}

func TestLinkLeavesAPairedIdentityAsItIs(t *testing.T) {
	t.Parallel()
	b := newBook()
	ada, bea := add(t, b, "Ada", noon), add(t, b, "Bea", noon)
	for _, o := range []owner.Owner{ada, bea} {
		if err := b.Link(t.Context(), o, bot, "7", noon); err != nil {
			t.Fatal(err)
		}
	}
	if who := must[*owner.Identity](t)(b.Identify(t.Context(), bot, "7")); who.Owner != ada.ID {
		t.Errorf("got %+v, want the first owner's", who)
	}
}

func TestConnectionsKeepTheirPeopleApart(t *testing.T) {
	t.Parallel()
	b := newBook()
	ada := add(t, b, "Ada", noon)
	if err := b.Link(t.Context(), ada, bot, "7", noon); err != nil {
		t.Fatal(err)
	}
	for _, other := range [][2]string{{"telegram-2", "7"}, {bot, "8"}, {"telegram", "1#7"}} {
		if who := must[*owner.Identity](t)(b.Identify(t.Context(), other[0], other[1])); who != nil {
			t.Errorf("%v is %+v", other, who)
		}
	}
}
