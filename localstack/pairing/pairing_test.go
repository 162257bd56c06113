package pairing

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

func TestAnOrderIsReadOrRefusedInOneLine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]Order{
		"":                     {Count: 1},
		"-count 3":             {Count: 3},
		"-owner Ann -count=20": {Owner: "Ann", Count: 20},
	} {
		if got, err := Parse(strings.Fields(args)); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", args, got, err, want)
		}
	}
	for _, args := range []string{"-count x", "-nosuch", "Ann", "-count 1 Ann"} {
		if _, err := Parse(strings.Fields(args)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want an error of one line", args, err)
		}
	}
	if _, err := Parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v, want flag.ErrHelp", err)
	}
}

func TestEachCodePairsWithTheOwnerThatWasAskedFor(t *testing.T) {
	t.Parallel()
	book := &owner.Book{Table: &tabletest.Fake{}, IDs: &id.Source{}}
	own, err := Make(t.Context(), book, Order{Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	others, err := Make(t.Context(), book, Order{Owner: "Ann", Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	owners := map[id.Owner]int{}
	for i, code := range append(own, others...) {
		who, _, err := book.Redeem(t.Context(), code, "telegram-1", string(rune('a'+i)), time.Now())
		if err != nil {
			t.Fatalf("code %q: %v", code, err)
		}
		owners[who.Owner]++
	}
	first, _, err := book.First(t.Context())
	if err != nil || owners[first.ID] != 2 || len(owners) != 4 {
		t.Errorf("the codes belong to %v, the first owner is %s (%v); want two of hers and three owners more", owners, first.ID, err)
	}
}

func TestTheNumberOfCodesIsBounded(t *testing.T) {
	t.Parallel()
	book := &owner.Book{Table: &tabletest.Fake{}, IDs: &id.Source{}}
	for _, n := range []int{0, -1, maxCodes + 1} {
		if _, err := Make(t.Context(), book, Order{Count: n}); err == nil || !strings.Contains(err.Error(), "-count") {
			t.Errorf("%d codes: %v, want an error that names -count", n, err)
		}
	}
}
