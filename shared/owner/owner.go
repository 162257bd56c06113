// Package owner knows who is served: owners, their active threads, the channel identities that are theirs, and the
// one-time codes by which an identity becomes theirs.
//
// Records:
//
//	owner#<id> / profile                        JSON of Profile
//	owner#<id> / thread                         JSON: the active thread
//	dir / owner#<id>                            empty; lists all owners
//	dir / first                                 JSON: the owner who was founded; put once
//	ident#<connection>#<external ID> / -        JSON: owner and thread of a paired identity
//	pair#<hash of the code> / -                 JSON: owner and end of a one-time code; gone once used
package owner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

var (
	// ErrNoCode means that there is no such pairing code, or not any more.
	ErrNoCode = errors.New("the pairing code is not valid (any more)")
	// ErrPaired means that the identity is another owner's.
	ErrPaired = errors.New("the identity is paired with another owner")
)

// Profile is who an owner is.
type Profile struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

// Owner is one owner with the active thread.
type Owner struct {
	ID     id.Owner
	Name   string
	Thread id.Thread
}

// Identity is a channel identity that is paired.
type Identity struct {
	Owner  id.Owner  `json:"owner"`
	Thread id.Thread `json:"thread"`

	Revision table.Revision `json:"-"`
}

// Book looks owners up and adds them. It is safe for concurrent use.
type Book struct {
	Table table.Table
	IDs   *id.Source
}

type activeThread struct {
	Thread id.Thread `json:"thread"`
}

const dirPartition = "dir"

var firstKey = table.Key{Partition: dirPartition, Sort: "first"}

type founded struct {
	Owner id.Owner `json:"owner"`
}

func ownerKey(owner id.Owner, sort string) table.Key {
	return table.Key{Partition: "owner#" + string(owner), Sort: sort}
}

// IdentityKey addresses the identity of a person on a connection.
func IdentityKey(connection, external string) table.Key {
	return table.Key{Partition: "ident#" + connection + "#" + external, Sort: "-"}
}

// Add makes an owner with an active thread, in one write.
func (b *Book) Add(ctx context.Context, name string, now time.Time) (Owner, error) {
	o := b.draft(name, now)
	if err := table.Apply(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: o.add(now)}); err != nil {
		return Owner{}, fmt.Errorf("adding owner %q: %w", name, err)
	}
	return o, nil
}

// Found returns the first owner, and adds one of that name if there is none. However many do so at once, one is added.
func (b *Book) Found(ctx context.Context, name string, now time.Time) (Owner, error) {
	first, ok, err := b.First(ctx)
	if err != nil || ok {
		return first, err
	}
	o := b.draft(name, now)
	ops := append(o.add(now), table.Put(firstKey, table.Encode(founded{o.ID}), table.Absent()))
	err = table.Apply(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: ops})
	if _, lost := errors.AsType[*table.ConditionError](err); lost { // someone was quicker
		if first, ok, err = b.First(ctx); ok || err != nil {
			return first, err
		}
	}
	if err != nil {
		return Owner{}, fmt.Errorf("adding owner %q: %w", name, err)
	}
	return o, nil
}

func (b *Book) draft(name string, now time.Time) Owner {
	return Owner{ID: id.Owner(b.IDs.New(now)), Name: name, Thread: id.Thread(b.IDs.New(now))}
}

// add lists the operations that add the owner.
func (o Owner) add(now time.Time) []table.Op {
	return []table.Op{
		table.Put(ownerKey(o.ID, "profile"), table.Encode(Profile{Name: o.Name, Created: now}), table.Absent()),
		table.Put(ownerKey(o.ID, "thread"), table.Encode(activeThread{o.Thread}), table.Absent()),
		table.Put(table.Key{Partition: dirPartition, Sort: "owner#" + string(o.ID)}, []byte("{}"), table.Absent()),
		thread.Head{ID: o.Thread, Owner: o.ID, Status: thread.Active}.Put(),
	}
}

// First returns the owner who was founded or, where nobody was, who was added first; false if there is none.
func (b *Book) First(ctx context.Context) (Owner, bool, error) {
	page, err := b.Table.Scan(ctx, table.Query{Partition: dirPartition, Limit: 1})
	if err != nil {
		return Owner{}, false, fmt.Errorf("finding the first owner: %w", err)
	}
	if len(page.Items) == 0 {
		return Owner{}, false, nil
	}
	first := founded{id.Owner(strings.TrimPrefix(page.Items[0].Key.Sort, "owner#"))}
	if page.Items[0].Key == firstKey { // it sorts before all owners
		if _, err := table.Decode(&page.Items[0], &first); err != nil {
			return Owner{}, false, err
		}
	}
	o, err := b.Get(ctx, first.Owner)
	return o, err == nil, err
}

// Get reads one owner.
func (b *Book) Get(ctx context.Context, owner id.Owner) (Owner, error) {
	item, err := b.Table.Get(ctx, ownerKey(owner, "profile"))
	if err != nil {
		return Owner{}, fmt.Errorf("reading owner %s: %w", owner, err)
	}
	var p Profile
	if _, err := table.Decode(item, &p); err != nil {
		return Owner{}, err
	}
	active, err := b.ActiveThread(ctx, owner)
	return Owner{ID: owner, Name: p.Name, Thread: active}, err
}

// ActiveThread reads which thread of the owner is active.
func (b *Book) ActiveThread(ctx context.Context, owner id.Owner) (id.Thread, error) {
	item, err := b.active(ctx, owner)
	if err != nil {
		return "", err
	}
	var a activeThread
	_, err = table.Decode(item, &a)
	return a.Thread, err
}

// active reads the record that names the owner's active thread; without one the error is thread.ErrNotFound.
func (b *Book) active(ctx context.Context, owner id.Owner) (*table.Item, error) {
	item, err := b.Table.Get(ctx, ownerKey(owner, "thread"))
	if err == nil && item == nil {
		err = thread.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading the thread of owner %s: %w", owner, err)
	}
	return item, nil
}

// Begin lists the operations that give the owner a new active thread in place of the present one. They fail if that has
// changed since. The error is thread.ErrNotFound, for an owner without a thread, or the table's.
func (b *Book) Begin(ctx context.Context, owner id.Owner, next id.Thread) ([]table.Op, error) {
	item, err := b.active(ctx, owner)
	if err != nil {
		return nil, err
	}
	return []table.Op{
		table.Put(ownerKey(owner, "thread"), table.Encode(activeThread{next}), table.At(item.Revision)),
		thread.Head{ID: next, Owner: owner, Status: thread.Active}.Put(),
	}, nil
}

// Identify reads whose an identity is; nil if it is nobody's.
func (b *Book) Identify(ctx context.Context, connection, external string) (*Identity, error) {
	item, err := b.Table.Get(ctx, IdentityKey(connection, external))
	if err != nil {
		return nil, fmt.Errorf("reading an identity on %s: %w", connection, err)
	}
	if item == nil {
		return nil, nil
	}
	var i Identity
	i.Revision, err = table.Decode(item, &i)
	return &i, err
}

// Unchanged demands that the identity is as it was read.
func (i Identity) Unchanged(connection, external string) table.Op {
	return table.Check(IdentityKey(connection, external), table.At(i.Revision))
}

func codeKey(code string) table.Key {
	sum := sha256.Sum256([]byte(normalize(code)))
	return table.Key{Partition: "pair#" + hex.EncodeToString(sum[:]), Sort: "-"}
}
