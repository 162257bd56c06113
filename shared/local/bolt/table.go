package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// pageBytes is where a page of a scan ends early, so that no answer is large.
const pageBytes = 1 << 20

// records is the table of a Store.
type records struct{ *Store }

// Get reads one record.
func (t records) Get(ctx context.Context, key table.Key) (*table.Item, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	stored := appendKey(make([]byte, 0, keyBytes(key)), key)
	var item *table.Item
	err := t.view(ctx, func(tx *bbolt.Tx) error {
		r, err := parse(tx.Bucket(bucketRecords).Get(stored))
		if err != nil {
			return damaged(key, err)
		}
		if r.present() {
			copied := r.item(key)
			item = &copied
		}
		return nil
	})
	return item, err
}

// view reads at one moment.
func (t records) view(ctx context.Context, read func(*bbolt.Tx) error) error {
	err := ctx.Err()
	if err == nil {
		err = t.db.View(read)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", table.ErrRefused, err)
	}
	return nil
}

// Write applies all operations or none, and returns once that is durable. When the context ends while it waits for
// that, the outcome is unknown: the write may be applied nevertheless.
func (t records) Write(ctx context.Context, w table.Write) error {
	if err := w.Validate(); err != nil {
		return err
	}
	err := t.commit.submit(ctx, ready(w))
	switch {
	case errors.Is(err, errUnsettled):
		return fmt.Errorf("%w: %w", table.ErrUnknown, err)
	case errors.Is(err, errRejected):
		return fmt.Errorf("%w: %w", table.ErrRefused, err)
	}
	return err
}

// Scan reads part of one partition; unlike the seam's promise, a page here is a snapshot.
func (t records) Scan(ctx context.Context, q table.Query) (table.Page, error) {
	if err := q.Validate(); err != nil {
		return table.Page{}, err
	}
	var page table.Page
	err := t.view(ctx, func(tx *bbolt.Tx) error {
		var err error
		page, err = readPage(tx.Bucket(bucketRecords).Cursor(), q)
		return err
	})
	return page, err
}

func readPage(c *bbolt.Cursor, q table.Query) (table.Page, error) {
	var page table.Page
	limit, size := q.Limit, 0
	if limit == 0 {
		limit = table.MaxScan
	}
	skip := 2 + len(q.Partition)
	span := spanOf(c, q)
	for key, raw := span.first(); key != nil; key, raw = span.next() {
		if len(page.Items) == limit || size > pageBytes {
			page.Next = page.Items[len(page.Items)-1].Key.Sort
			break
		}
		at := table.Key{Partition: q.Partition, Sort: string(key[skip:])}
		r, err := parse(raw)
		if err != nil {
			return table.Page{}, damaged(at, err)
		}
		page.Items = append(page.Items, r.item(at))
		size += len(key) + len(raw)
	}
	return page, nil
}

// span walks the stored keys at or above from and below to, upwards or downwards.
type span struct {
	cursor   *bbolt.Cursor
	from, to []byte
	desc     bool
}

func spanOf(c *bbolt.Cursor, q table.Query) span {
	from, to := q.Range()
	partition := appendPartition(nil, q.Partition)
	s := span{cursor: c, from: append(bytes.Clone(partition), from...), to: append(bytes.Clone(partition), to...), desc: q.Desc}
	if to == "" {
		s.to = successor(partition)
	}
	return s
}

// successor is the first key above all that begin with prefix, which is not all of the highest byte.
func successor(prefix []byte) []byte {
	for i := len(prefix) - 1; ; i-- {
		if prefix[i] != 0xff {
			prefix[i]++
			return prefix[:i+1]
		}
	}
}

func (s span) first() (key, value []byte) {
	if !s.desc {
		return s.within(s.cursor.Seek(s.from))
	}
	if key, _ := s.cursor.Seek(s.to); key == nil {
		return s.within(s.cursor.Last())
	}
	return s.within(s.cursor.Prev())
}

func (s span) next() (key, value []byte) {
	if s.desc {
		return s.within(s.cursor.Prev())
	}
	return s.within(s.cursor.Next())
}

func (s span) within(key, value []byte) (k, v []byte) {
	if bytes.Compare(key, s.from) < 0 || bytes.Compare(key, s.to) >= 0 {
		return nil, nil
	}
	return key, value
}
