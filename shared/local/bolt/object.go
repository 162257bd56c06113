package bolt

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

// inline is the largest body that is stored in the bbolt file: it shares the sync of whatever else is committed.
const inline = 64 << 10

// A stored object begins with its kind. An inline one goes on with its body, one in a file with its size as a uvarint
// and the file's name.
const (
	kindInline = iota
	kindFile
)

// object is a stored object taken apart; body points into the stored one.
type object struct {
	body []byte // if file is ""
	file string
	size int64
}

func inlineObject(body []byte) []byte {
	return append(append(make([]byte, 0, 1+len(body)), kindInline), body...)
}

func fileObject(file string, size int) []byte {
	return append(binary.AppendUvarint([]byte{kindFile}, uint64(size)), file...) //nolint:gosec // a length
}

func parseObject(raw []byte) (object, error) {
	switch {
	case len(raw) > 0 && raw[0] == kindInline:
		return object{body: raw[1:], size: int64(len(raw) - 1)}, nil
	case len(raw) > 0 && raw[0] == kindFile:
		size, n := binary.Uvarint(raw[1:])
		if n > 0 && len(raw) > 1+n {
			return object{file: string(raw[1+n:]), size: int64(size)}, nil //nolint:gosec // was a length
		}
	}
	return object{}, errDamaged
}

// part is what there is of length bytes from offset.
func (o object) part(offset, length int64) (from, to int64) {
	from = min(offset, o.size)
	return from, from + min(length, o.size-from)
}

// putObject stores an object if there is none of its name. If it has a file, that is no longer pending then.
type putObject struct {
	name   string
	stored []byte
	file   string // "" for an inline one
}

func (p *putObject) apply(s *state) error {
	key := []byte(p.name)
	if s.objects.Get(key) != nil {
		return fmt.Errorf("%w: %s", blob.ErrExists, p.name)
	}
	s.put(s.objects, key, p.stored)
	if p.file != "" {
		s.delete(s.pending, []byte(p.file))
	}
	return nil
}

// announce notes a file that is about to be written for an object, unless there is an object of that name.
type announce struct{ name, file string }

func (a announce) apply(s *state) error {
	if s.objects.Get([]byte(a.name)) != nil {
		return fmt.Errorf("%w: %s", blob.ErrExists, a.name)
	}
	s.put(s.pending, []byte(a.file), nil)
	return nil
}

// deleteObject removes an object. Its file, if it has one, is pending then.
type deleteObject struct {
	name string
	file string // set by apply
}

func (d *deleteObject) apply(s *state) error {
	key := []byte(d.name)
	raw := s.objects.Get(key)
	if raw == nil {
		return nil
	}
	if o, err := parseObject(raw); err == nil {
		d.file = o.file
	}
	s.delete(s.objects, key)
	if d.file != "" {
		s.put(s.pending, []byte(d.file), nil)
	}
	return nil
}

// forget ends the wait of files that are gone.
type forget struct{ files []string }

func (f forget) apply(s *state) error {
	for file := range slices.Values(f.files) {
		s.delete(s.pending, []byte(file))
	}
	return nil
}
