package blobtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

// pageObjects is how many objects one page of a listing holds.
const pageObjects = 1000

// Fake is an object store in memory. The zero Fake is empty. It must not be copied.
type Fake struct {
	// Fault, if set, says what goes wrong with a call. It is asked before the call does anything, without a lock held,
	// and may block: a simulation decides here whose turn it is.
	Fault func(Call) Fault

	mu      sync.Mutex
	objects map[string][]byte // never changed in place
	counts  Counts
}

// Put stores the object if there is none of that name.
func (f *Fake) Put(ctx context.Context, name string, body []byte) error {
	fault := f.begin(Call{Method: MethodPut, Name: name, Size: len(body)})
	if err := blob.CheckName(name); err != nil {
		return err
	}
	body = slices.Clone(body)
	return fault.change(ctx, func() error { return f.put(name, body) })
}

func (f *Fake) put(name string, body []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, taken := f.objects[name]; taken {
		return fmt.Errorf("%w: %s", blob.ErrExists, name)
	}
	if f.objects == nil {
		f.objects = map[string][]byte{}
	}
	f.objects[name] = body
	f.counts.Bytes += int64(len(body))
	return nil
}

// Get reads the whole object.
func (f *Fake) Get(ctx context.Context, name string) ([]byte, error) {
	body, err := f.read(ctx, Call{Method: MethodGet, Name: name})
	return slices.Clone(body), err
}

// GetRange reads up to length bytes from offset.
func (f *Fake) GetRange(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	body, err := f.read(ctx, Call{Method: MethodGetRange, Name: name})
	if err != nil {
		return nil, err
	}
	if offset < 0 || length < 0 {
		return nil, fmt.Errorf("%w: %d bytes from %d", blob.ErrInvalid, length, offset)
	}
	rest := body[min(offset, int64(len(body))):]
	return slices.Clone(rest[:min(length, int64(len(rest)))]), nil
}

func (f *Fake) read(ctx context.Context, c Call) ([]byte, error) {
	fault := f.begin(c)
	if err := blob.CheckName(c.Name); err != nil {
		return nil, err
	}
	if err := fault.read(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	body, ok := f.objects[c.Name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", blob.ErrNotFound, c.Name)
	}
	return body, nil
}

// List names up to 1,000 objects.
func (f *Fake) List(ctx context.Context, prefix, after string) (blob.Page, error) {
	fault := f.begin(Call{Method: MethodList, Name: prefix})
	if err := fault.read(ctx); err != nil {
		return blob.Page{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var page blob.Page
	for _, name := range slices.Sorted(maps.Keys(f.objects)) {
		if !strings.HasPrefix(name, prefix) || name <= after {
			continue
		}
		if len(page.Objects) == pageObjects {
			page.Next = page.Objects[pageObjects-1].Name
			break
		}
		page.Objects = append(page.Objects, blob.Info{Name: name, Size: int64(len(f.objects[name]))})
	}
	return page, nil
}

// Delete removes the object.
func (f *Fake) Delete(ctx context.Context, name string) error {
	fault := f.begin(Call{Method: MethodDelete, Name: name})
	if err := blob.CheckName(name); err != nil {
		return err
	}
	return fault.change(ctx, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.objects, name)
		return nil
	})
}
