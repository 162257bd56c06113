package table_test

import (
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/table"
)

type sample struct {
	Text string `json:"text"`
}

func TestARecordIsDecodedAsItWasEncoded(t *testing.T) {
	t.Parallel()
	want := sample{"<b> & ünï \u2028 \x00"}
	var got sample
	revision, err := table.Decode(&table.Item{Value: table.Encode(want), Revision: "r"}, &got)
	if err != nil || revision != "r" || got != want {
		t.Errorf("got %+v, %q, %v", got, revision, err)
	}
}

func TestAnAbsentRecordLeavesTheValueAndDemandsAbsence(t *testing.T) {
	t.Parallel()
	got := sample{"as it was"}
	revision, err := table.Decode(nil, &got)
	if err != nil || got.Text != "as it was" || !table.AtOrAbsent(revision).WantsAbsent() {
		t.Errorf("got %+v, %q, %v", got, revision, err)
	}
}

func TestADamagedRecordIsNamed(t *testing.T) {
	t.Parallel()
	_, err := table.Decode(&table.Item{Key: table.Key{Partition: "p", Sort: "s"}, Value: []byte("{")}, new(sample))
	if err == nil || !strings.Contains(err.Error(), "p/s") {
		t.Errorf("got %v, want an error that names the record", err)
	}
}

// HTML and programs are full of angle brackets; a record that spells each with six bytes meets its limit far too early.
func TestEncodingDoesNotBlowUpMarkup(t *testing.T) {
	t.Parallel()
	if got := string(table.Encode(sample{"<&>"})); got != `{"text":"<&>"}` {
		t.Errorf("got %s", got)
	}
}
