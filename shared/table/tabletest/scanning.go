package tabletest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/table"
)

var scans = []property{
	{"a scan returns its range in order", scanRanges},
	{"a scan sees one partition", scanStays},
	{"a scan pages through more records than a page holds", scanManyRecords},
	{"a scan pages through more bytes than a page holds", scanManyBytes},
}

// oddKeys are in the order of their bytes, which is neither that of words nor that of UTF-16.
var oddKeys = []string{
	"\x00", "\x00\x00", "\x01", " ", "#", "/", "0", "A", "Z", "a", "a\x00", "a\x00b", "a ", "a#1", "a#10", "a#2", "aa", "b",
	"m", "m#", "m#0", "m#\x7f", "m$", "~", "\x7f", "\u0080", "é", "鹿", "\uffff", "😀", "😀😀", "\U0010ffff",
}

var queries = []table.Query{
	{},
	{Prefix: "a"},
	{Prefix: "a#"},
	{Prefix: "m#"},
	{Prefix: "\x00"},
	{Prefix: "😀"},
	{Prefix: "\U0010ffff"},
	{Prefix: "nothing"},
	{After: "a"},
	{After: "\U0010ffff"},
	{After: "between"},
	{Prefix: "a", After: "a#1"},
	{Prefix: "m", After: "b"},
	{Prefix: "m", After: "m"},
	{Prefix: "b", After: "m"},
	{Until: "b"},
	{Until: "\x00"},
	{After: "a", Until: "aa"},
	{After: "m", Until: "b"},
	{Prefix: "a", Until: "a#2"},
	{Prefix: "a", After: "a\x00", Until: "a#2"},
	{Prefix: "m", After: "a", Until: "z"},
	{Prefix: "m", Until: "a"},
}

func scanRanges(b *bench) {
	b.fill(oddKeys)
	for _, q := range queries {
		for _, desc := range []bool{false, true} {
			if desc && q.Until != "" {
				continue // an end of ascending scans
			}
			for _, limit := range []int{0, 1, 3, table.MaxScan} {
				if limit == 1 && q.Prefix == "" && q.After == "" {
					continue // as many calls as records, for nothing new
				}
				q.Partition, q.Desc, q.Limit = b.partition, desc, limit
				b.same(fmt.Sprintf("%+q", fmt.Sprintf("%+v", q)), sorts(b.all(q)), expected(q))
			}
		}
	}
}

func (b *bench) fill(keys []string) {
	for chunk := range slices.Chunk(keys, table.MaxOps) {
		var ops []table.Op
		for _, k := range chunk {
			ops = append(ops, table.Put(b.key(k), []byte(k), table.Absent()))
		}
		b.apply(ops...)
	}
}

// expected picks from oddKeys by the words of Query, one key at a time.
func expected(q table.Query) []string {
	var keys []string
	for _, k := range oddKeys {
		switch {
		case !strings.HasPrefix(k, q.Prefix):
		case q.After != "" && !q.Desc && k <= q.After, q.After != "" && q.Desc && k >= q.After:
		case q.Until != "" && k >= q.Until:
		default:
			keys = append(keys, k)
		}
	}
	if q.Desc {
		slices.Reverse(keys)
	}
	return keys
}

// scanStays scans a partition among others whose names are close to its own.
func scanStays(b *bench) {
	name := b.partition
	for _, p := range []string{name, name + "#", name + "\x00", name + "a", name[:len(name)-1]} {
		b.apply(table.Put(table.Key{Partition: p, Sort: "k"}, []byte(p), table.Absent()))
	}
	b.apply(table.Put(table.Key{Partition: name, Sort: "#k"}, []byte(name), table.Absent()))
	for _, desc := range []bool{false, true} {
		items := b.all(table.Query{Partition: name, Desc: desc})
		if len(items) != 2 || string(items[0].Value) != name || string(items[1].Value) != name {
			b.Errorf("scanning %q read %v, want its two records", name, items)
		}
	}
	if items := b.all(table.Query{Partition: name + "##"}); len(items) != 0 {
		b.Errorf("scanning a partition without records read %v", items)
	}
}

func scanManyRecords(b *bench) {
	var keys []string
	for i := range table.MaxScan + 5 {
		keys = append(keys, fmt.Sprintf("k%05d", i))
	}
	b.fill(keys)
	for _, limit := range []int{0, 400} {
		b.same("ascending", sorts(b.all(table.Query{Partition: b.partition, Limit: limit})), keys)
		down := sorts(b.all(table.Query{Partition: b.partition, Limit: limit, Desc: true}))
		slices.Reverse(down)
		b.same("descending", down, keys)
	}
}

func scanManyBytes(b *bench) {
	var keys []string
	for i := range 8 {
		keys = append(keys, fmt.Sprintf("k%d", i))
		b.apply(table.Put(b.key(keys[i]), bytes.Repeat([]byte{byte(i)}, 300<<10), table.Absent()))
	}
	for _, desc := range []bool{false, true} {
		items := b.all(table.Query{Partition: b.partition, Desc: desc})
		if desc {
			slices.Reverse(items)
		}
		b.same("keys", sorts(items), keys)
		for i := range items {
			if v := items[i].Value; len(v) != 300<<10 || v[0] != byte(i) || v[len(v)-1] != byte(i) {
				b.Errorf("record %d was read with another value, %d bytes", i, len(v))
			}
		}
	}
}
