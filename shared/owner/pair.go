package owner

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// CodeTerm is how long a pairing code can be used, once.
const CodeTerm = time.Hour

// alphabet has 32 characters that nobody takes for one another.
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// codeLength gives 60 bits: not to be guessed within an hour through a channel that takes a message a second.
const codeLength = 12

type storedCode struct {
	Owner   id.Owner  `json:"owner"`
	Expires time.Time `json:"expires"`
}

// NewCode makes and stores a one-time code that pairs whoever sends it with the owner. It is written in groups of four.
func (b *Book) NewCode(ctx context.Context, owner id.Owner, now time.Time) (string, error) {
	var raw [codeLength]byte
	_, _ = rand.Read(raw[:]) // never fails: it ends the program instead
	var code strings.Builder
	for i, v := range raw {
		if i > 0 && i%4 == 0 {
			code.WriteByte('-')
		}
		code.WriteByte(alphabet[int(v)%len(alphabet)])
	}
	expires := now.Add(CodeTerm)
	err := table.Apply(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: []table.Op{
		table.PutExpiring(codeKey(code.String()), table.Encode(storedCode{owner, expires}), table.Absent(), expires),
	}})
	if err != nil {
		return "", fmt.Errorf("storing a pairing code: %w", err)
	}
	return code.String(), nil
}

// Redeem reads a code and returns the operations that use it up and make the identity the owner's, for the caller to
// commit with its answer. ErrNoCode if the code is unknown, used or too old; ErrPaired if it is good and the identity is
// another owner's, who keeps it: whoever holds a code must not be able to take a chat away.
func (b *Book) Redeem(ctx context.Context, code, connection, external string, now time.Time) (Identity, []table.Op, error) {
	item, err := b.Table.Get(ctx, codeKey(code))
	if err != nil {
		return Identity{}, nil, fmt.Errorf("reading a pairing code: %w", err)
	}
	var s storedCode
	revision, err := table.Decode(item, &s)
	if err != nil {
		return Identity{}, nil, err
	}
	if item == nil || !now.Before(s.Expires) {
		return Identity{}, nil, ErrNoCode
	}
	before, err := b.Identify(ctx, connection, external)
	if err != nil {
		return Identity{}, nil, err
	}
	if before != nil && before.Owner != s.Owner {
		return Identity{}, nil, ErrPaired
	}
	active, err := b.ActiveThread(ctx, s.Owner)
	if err != nil {
		return Identity{}, nil, err
	}
	who := Identity{Owner: s.Owner, Thread: active}
	cond := table.Absent()
	if before != nil {
		cond = table.At(before.Revision)
	}
	return who, []table.Op{
		table.Put(IdentityKey(connection, external), table.Encode(who), cond),
		table.Delete(codeKey(code), table.At(revision)),
	}, nil
}

// normalize forgives what people do to a code when they type it.
func normalize(code string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', ' ', '–', '—':
			return -1
		default:
			return r
		}
	}, strings.ToUpper(strings.TrimSpace(code)))
}

// Link makes an identity the owner's without a code, for whoever has shown otherwise that it is. An identity that is
// paired already stays as it is.
func (b *Book) Link(ctx context.Context, o Owner, connection, external string, now time.Time) error {
	before, err := b.Identify(ctx, connection, external)
	if err != nil || before != nil {
		return err
	}
	who := Identity{Owner: o.ID, Thread: o.Thread}
	err = table.Apply(ctx, b.Table, table.Write{ID: b.IDs.New(now), Ops: []table.Op{
		table.Put(IdentityKey(connection, external), table.Encode(who), table.Absent()),
	}})
	if err != nil {
		return fmt.Errorf("linking an identity on %s: %w", connection, err)
	}
	return nil
}
