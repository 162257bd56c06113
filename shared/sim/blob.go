package sim

import (
	"context"
	"fmt"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

// blobSeam is the object store as one process sees it.
type blobSeam struct{ *process }

var errNoBlob = fmt.Errorf("%w: simulated", blob.ErrRefused)

// Put stores an object.
func (s blobSeam) Put(ctx context.Context, name string, body []byte) error {
	var err error
	answer, _ := s.perform(ctx, putPart, name, func() { err = s.world.blobs.Put(context.WithoutCancel(ctx), name, body) })
	if answer != answered {
		return errNoBlob
	}
	return err
}

// Get reads an object.
func (s blobSeam) Get(ctx context.Context, name string) ([]byte, error) {
	if _, ok := s.look(ctx, getPart, name); !ok {
		return nil, errNoBlob
	}
	return s.world.blobs.Get(context.WithoutCancel(ctx), name)
}

// GetRange reads a piece of an object.
func (s blobSeam) GetRange(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if _, ok := s.look(ctx, getPart, name); !ok {
		return nil, errNoBlob
	}
	return s.world.blobs.GetRange(context.WithoutCancel(ctx), name, offset, length)
}

// List names objects.
func (s blobSeam) List(ctx context.Context, prefix, after string) (blob.Page, error) {
	if _, ok := s.look(ctx, getPart, prefix); !ok {
		return blob.Page{}, errNoBlob
	}
	return s.world.blobs.List(context.WithoutCancel(ctx), prefix, after)
}

// Delete removes an object.
func (s blobSeam) Delete(ctx context.Context, name string) error {
	var err error
	answer, _ := s.perform(ctx, putPart, name, func() { err = s.world.blobs.Delete(context.WithoutCancel(ctx), name) })
	if answer != answered {
		return errNoBlob
	}
	return err
}
