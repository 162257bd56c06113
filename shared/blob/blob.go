// Package blob is the seam to the object store: immutable objects, written once, read whole or in part.
//
// Nothing mutable lives here; what points at an object is a record in shared/table. Implementations: shared/local/bolt
// on one machine, shared/aws/s3 on AWS, blobtest in memory with faults; blobtest.Run holds all of them to the
// guarantees below.
package blob

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotFound means that there is no such object.
	ErrNotFound = errors.New("no such object")
	// ErrExists means that an object of that name is there already, whatever its content.
	ErrExists = errors.New("the object exists")
	// ErrRefused means that the store did not do what was asked; the same call may succeed later. After a Put the object
	// may be there all the same: putting it again answers ErrExists then.
	ErrRefused = errors.New("the store refused the request")
	// ErrInvalid means that the request can never succeed.
	ErrInvalid = errors.New("invalid request")
)

// MaxNameBytes bounds a name, as S3 does.
const MaxNameBytes = 1024

// Info describes one object.
type Info struct {
	Name string
	Size int64 // bytes
}

// Page is one answer to List.
type Page struct {
	Objects []Info // ordered by name
	Next    string // the after of the next page; "" when there is no more
}

// Blob is the object store. Names are slash-separated, made of ASCII letters, digits and "-_.=", never from a model's
// text. All methods are safe for concurrent use.
type Blob interface {
	// Put stores the object if there is none of that name, durably before it returns nil. Errors wrap ErrExists,
	// ErrRefused or ErrInvalid.
	Put(ctx context.Context, name string, body []byte) error
	// Get reads the whole object. Errors wrap ErrNotFound, ErrRefused or ErrInvalid.
	Get(ctx context.Context, name string) ([]byte, error)
	// GetRange reads up to length bytes from offset; fewer, possibly none, where the object ends. Errors as Get.
	GetRange(ctx context.Context, name string, offset, length int64) ([]byte, error)
	// List names up to 1,000 objects whose name begins with prefix and comes after the given one.
	List(ctx context.Context, prefix, after string) (Page, error)
	// Delete removes the object; success if there is none.
	Delete(ctx context.Context, name string) error
}

// CheckName reports, wrapped in ErrInvalid, why the name can't be used. Every implementation calls it first.
func CheckName(name string) error {
	if name == "" || len(name) > MaxNameBytes {
		return fmt.Errorf("%w: a name has 1 to %d bytes, got %d", ErrInvalid, MaxNameBytes, len(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%w: %q has an empty or relative part", ErrInvalid, name)
		}
	}
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-_.=/", r):
		default:
			return fmt.Errorf("%w: %q may not be in a name", ErrInvalid, r)
		}
	}
	return nil
}
