package table

import "testing"

func TestRangeHoldsWhatTheQueryAsksFor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		q        Query
		from, to string
	}{
		"everything":                    {Query{}, "", ""},
		"a prefix":                      {Query{Prefix: "m#"}, "m#", "m$"},
		"a prefix of the highest byte":  {Query{Prefix: "a\xff\xff"}, "a\xff\xff", "b"},
		"nothing but the highest byte":  {Query{Prefix: "\xff"}, "\xff", ""},
		"after a key":                   {Query{After: "k"}, "k\x00", ""},
		"after a key below the prefix":  {Query{Prefix: "m", After: "a"}, "m", "n"},
		"after a key above the prefix":  {Query{Prefix: "m", After: "z"}, "z\x00", "n"},
		"until a key":                   {Query{Until: "k"}, "", "k"},
		"until a key past the prefix":   {Query{Prefix: "m", Until: "z"}, "m", "n"},
		"until a key within the prefix": {Query{Prefix: "m", Until: "m5"}, "m", "m5"},
		"down from a key":               {Query{Desc: true, After: "k"}, "", "k"},
		"down from above the prefix":    {Query{Desc: true, Prefix: "m", After: "z"}, "m", "n"},
		"down without an end":           {Query{Desc: true, Until: "k"}, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if from, to := tt.q.Range(); from != tt.from || to != tt.to {
				t.Errorf("Range() = %q, %q, want %q, %q", from, to, tt.from, tt.to)
			}
		})
	}
}
