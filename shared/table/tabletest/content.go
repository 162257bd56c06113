package tabletest

import (
	"fmt"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
)

var contents = []property{
	{"what is written is read at once", readsOwnWrites},
	{"a value holds any bytes", anyBytes},
	{"an expiry is kept to the second", expiryIsKept},
	{"a put replaces the whole record", putReplaces},
	{"an add keeps value and expiry", addKeeps},
	{"a counter follows its adds", counterFollows},
	{"nothing is shared with the caller", nothingIsShared},
}

func readsOwnWrites(b *bench) {
	key := b.key("k")
	if got := b.get(key); got != nil {
		b.Fatalf("an unknown key reads %v, want nil", got)
	}
	r := table.Revision("")
	for i := range b.size.Rounds {
		v := fmt.Appendf(nil, "value %d", i)
		r = b.apply(table.Put(key, v, table.AtOrAbsent(r)))
		want := table.Item{Key: key, Value: v, Revision: r}
		b.same("get", b.get(key), &want)
		b.same("scan", b.all(table.Query{Partition: b.partition}), []table.Item{want})
	}
	b.apply(table.Delete(key, table.At(r)))
	if got := b.get(key); got != nil {
		b.Errorf("a deleted key reads %v, want nil", got)
	}
}

func anyBytes(b *bench) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, v := range map[string][]byte{"nil": nil, "empty": {}, "zero": {0}, "every": every, "text": []byte("žlutý 🐎")} {
		b.apply(table.Put(b.key(name), v, table.Absent()))
		b.same(name, b.get(b.key(name)).Value, v)
	}
}

func expiryIsKept(b *bench) {
	expires := time.Now().Add(time.Hour)
	b.apply(
		table.PutExpiring(b.key("a"), value, table.Absent(), expires),
		table.Put(b.key("b"), value, table.Absent()),
	)
	items := b.all(table.Query{Partition: b.partition})
	for _, got := range []time.Time{b.get(b.key("a")).Expires, items[0].Expires} {
		if !got.Equal(seconds(expires)) {
			b.Errorf("expires = %v, want %v", got, seconds(expires))
		}
	}
	for _, got := range []time.Time{b.get(b.key("b")).Expires, items[1].Expires} {
		if !got.IsZero() {
			b.Errorf("expires = %v, want never", got)
		}
	}
}

func putReplaces(b *bench) {
	key := b.key("k")
	b.apply(table.PutExpiring(key, []byte("long since"), table.Absent(), time.Now().Add(time.Hour)))
	r := b.apply(table.Add(key, 5))
	r = b.apply(table.Put(key, []byte("v"), table.At(r)))
	b.same("the record", b.get(key), &table.Item{Key: key, Value: []byte("v"), Revision: r})
}

func addKeeps(b *bench) {
	key, expires := b.key("k"), seconds(time.Now().Add(time.Hour))
	b.apply(table.PutExpiring(key, []byte("kept"), table.Absent(), expires))
	r := b.apply(table.Add(key, 5))
	b.same("the record", b.get(key), &table.Item{Key: key, Value: []byte("kept"), Counter: 5, Revision: r, Expires: expires})
}

func counterFollows(b *bench) {
	key := b.key("k")
	var sum int64
	for _, delta := range []int64{1, 10, -4, 0, 1 << 40, -(1 << 41)} {
		r := b.apply(table.Add(key, delta))
		sum += delta
		b.same("the record", b.get(key), &table.Item{Key: key, Counter: sum, Revision: r})
	}
	b.apply(table.DeleteBlind(key))
	b.apply(table.AddUpTo(key, -7, -7))
	b.fails(table.AddUpTo(key, 1, -7))
	b.apply(table.AddUpTo(key, 7, 0), table.AddUpTo(b.key("other"), 2, 3))
	if got := b.get(key).Counter; got != 0 {
		b.Errorf("counter = %d, want 0: a record that was deleted counts anew", got)
	}
}

// nothingIsShared spoils everything that was given to the store and came from it, and finds the record as it was.
func nothingIsShared(b *bench) {
	key := b.key("k")
	given := []byte("precious")
	ops := []table.Op{table.Put(key, given, table.Absent())}
	w := table.Write{ID: newID(), Ops: ops}
	if err := b.send(w); err != nil {
		b.Fatal(err)
	}
	spoil(given)
	ops[0] = table.DeleteBlind(key)
	spoil(b.get(key).Value)
	for _, item := range b.all(table.Query{Partition: b.partition}) {
		spoil(item.Value)
	}
	spoil(b.fails(table.Put(key, value, table.Absent()))[0].Item.Value)
	if got := b.get(key).Value; string(got) != "precious" {
		b.Errorf("value = %q after the caller changed its copies, want %q", got, "precious")
	}
}

func spoil(v []byte) {
	for i := range v {
		v[i] = '!'
	}
}
