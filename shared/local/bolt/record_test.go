package bolt

import (
	"bytes"
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestARecordIsParsedAsItWasStored(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]record{
		"plain":        {revision: []byte("r"), value: []byte("value")},
		"empty":        {revision: []byte("r"), value: []byte{}},
		"counter":      {revision: []byte("0193a000-0000-7000-8000-000000000001"), counter: math.MinInt64, value: []byte{0}},
		"expiry at 0":  {revision: []byte("r"), expiry: expiry{set: true}, value: []byte{}},
		"all together": {revision: []byte("r"), expiry: expiry{1 << 40, true}, counter: -1, value: []byte("v")},
	} {
		stored := r.appendTo(nil)
		if len(stored) > maxHeader+len(r.value) {
			t.Errorf("%s takes %d bytes besides its value, more than the %d reckoned", name, len(stored)-len(r.value), maxHeader)
		}
		got, err := parse(stored)
		if diff := gocmp.Diff(r, got, gocmp.AllowUnexported(record{}, expiry{})); diff != "" || err != nil {
			t.Errorf("%s (-stored +parsed): %v\n%s", name, err, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{0, 1, 'r', 'v'})
	f.Add([]byte{flagExpires | flagCounter, 1, 'r', 2, 4, 'v'})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parse(raw)
		if err != nil || !r.present() {
			return
		}
		again, err := parse(r.appendTo(nil))
		if err != nil || !bytes.Equal(again.value, r.value) || again.counter != r.counter || again.expiry != r.expiry {
			t.Errorf("%v parsed again = %v, %v", r, again, err)
		}
	})
}

func FuzzParseObject(f *testing.F) {
	f.Add(inlineObject([]byte("body")))
	f.Add(fileObject("file", 1<<20))
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := parseObject(raw)
		if err != nil {
			return
		}
		if from, to := o.part(1, 10); o.file == "" && (from > to || to > int64(len(o.body))) {
			t.Errorf("part of %d bytes is %d to %d", len(o.body), from, to)
		}
	})
}
