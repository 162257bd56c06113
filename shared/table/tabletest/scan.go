package tabletest

import (
	"context"
	"slices"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// Scan reads part of one partition. A call that takes time reads half of its page before and half after: it shows half
// of a write that lands meanwhile.
func (f *Fake) Scan(ctx context.Context, q table.Query) (table.Page, error) {
	fault := f.begin(Call{Method: MethodScan, Query: q})
	if err := q.Validate(); err != nil {
		return table.Page{}, err
	}
	if !fault.lasting() {
		if err := fault.read(ctx); err != nil {
			return table.Page{}, err
		}
		return f.page(q), nil
	}
	early := f.page(q)
	if err := fault.read(ctx); err != nil {
		return table.Page{}, err
	}
	return f.torn(q, early.Items[:len(early.Items)/2]), nil
}

// torn continues a page that was read in part.
func (f *Fake) torn(q table.Query, first []table.Item) table.Page {
	if len(first) == 0 {
		return f.page(q)
	}
	q.After = first[len(first)-1].Key.Sort
	q.Limit = limit(q) - len(first)
	rest := f.page(q)
	rest.Items = append(first, rest.Items...)
	return rest
}

// page reads one page at one moment.
func (f *Fake) page(q table.Query) table.Page {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.partitions[q.Partition]
	if p == nil {
		return table.Page{}
	}
	var page table.Page
	size := 0
	for _, key := range p.selected(q) {
		if len(page.Items) == limit(q) || size > pageBytes {
			page.Next = page.Items[len(page.Items)-1].Key.Sort
			break
		}
		item := clone(p.items[key])
		page.Items = append(page.Items, *item)
		size += len(key) + len(item.Value)
	}
	return page
}

// selected lists the keys of the query's range in its order, one more than a page holds at most.
func (p *partition) selected(q table.Query) []string {
	from, to := q.Range()
	low, _ := slices.BinarySearch(p.keys, from)
	high := len(p.keys)
	if to != "" {
		high, _ = slices.BinarySearch(p.keys, to)
	}
	keys := p.keys[low:max(low, high)]
	most := min(len(keys), limit(q)+1)
	if !q.Desc {
		return keys[:most]
	}
	keys = slices.Clone(keys[len(keys)-most:])
	slices.Reverse(keys)
	return keys
}

func limit(q table.Query) int {
	if q.Limit == 0 {
		return table.MaxScan
	}
	return q.Limit
}
