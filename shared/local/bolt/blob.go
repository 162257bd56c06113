package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

// pageObjects is how many objects one page of a listing holds.
const pageObjects = 1000

// objects is the object store of a Store.
type objects struct{ *Store }

// Put stores the object if there is none of that name, durably before it returns nil.
func (o objects) Put(ctx context.Context, name string, body []byte) error {
	if err := blob.CheckName(name); err != nil {
		return err
	}
	if len(body) <= inline {
		return refusal(o.commit.submit(ctx, &putObject{name: name, stored: inlineObject(body)}))
	}
	return o.putFile(ctx, name, body)
}

// putFile stores a body as a file. The file is announced first, so that a crash at any point leaves either the object
// or a pending file, which the next Open removes.
func (o objects) putFile(ctx context.Context, name string, body []byte) error {
	file := o.ids.New(time.Now())
	if err := o.commit.submit(ctx, announce{name, file}); err != nil {
		return refusal(err)
	}
	err := o.writeFile(file, body)
	if err == nil {
		err = o.commit.submit(ctx, &putObject{name: name, stored: fileObject(file, len(body)), file: file})
	}
	if err != nil && !errors.Is(err, errUnsettled) {
		o.dropFile(ctx, file) // lost the race for the name, or the disk is full
	}
	return refusal(err)
}

// writeFile makes a new file durable, its name included.
func (o objects) writeFile(file string, body []byte) error {
	f, err := os.OpenFile(o.path(file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", errRejected, err)
	}
	_, err = f.Write(body)
	if err := errors.Join(err, f.Sync(), f.Close(), syncFolder(o.folder)); err != nil {
		return fmt.Errorf("%w: %w", errRejected, err)
	}
	return nil
}

// dropFile removes a pending file. What fails here is done by the next Open.
func (o objects) dropFile(ctx context.Context, file string) {
	if err := os.Remove(o.path(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	_ = o.commit.submit(context.WithoutCancel(ctx), forget{[]string{file}})
}

func (s *Store) path(file string) string { return filepath.Join(s.folder, file) }

// dropLeftovers removes the files that a crash left without an object.
func (s *Store) dropLeftovers() error {
	var files []string
	err := s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketPending).ForEach(func(file, _ []byte) error {
			files = append(files, string(file))
			return nil
		})
	})
	if err != nil || files == nil {
		return err
	}
	for _, file := range files {
		if err := os.Remove(s.path(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.commit.submit(context.Background(), forget{files})
}

// Get reads the whole object.
func (o objects) Get(ctx context.Context, name string) ([]byte, error) {
	return o.read(ctx, name, func(found object) (int64, int64) { return 0, found.size })
}

// GetRange reads up to length bytes from offset.
func (o objects) GetRange(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 {
		return nil, fmt.Errorf("%w: %d bytes from %d", blob.ErrInvalid, length, offset)
	}
	return o.read(ctx, name, func(found object) (int64, int64) { return found.part(offset, length) })
}

// read returns the bytes of an object between the two offsets that part chooses.
func (o objects) read(ctx context.Context, name string, part func(object) (from, to int64)) ([]byte, error) {
	if err := blob.CheckName(name); err != nil {
		return nil, err
	}
	var found object
	var body []byte
	err := o.view(ctx, func(tx *bbolt.Tx) (err error) {
		raw := tx.Bucket(bucketObjects).Get([]byte(name))
		if raw == nil {
			return fmt.Errorf("%w: %s", blob.ErrNotFound, name)
		}
		if found, err = parseObject(raw); err == nil && found.file == "" {
			from, to := part(found)
			body = bytes.Clone(found.body[from:to])
		}
		return err
	})
	if err != nil || found.file == "" {
		return body, err
	}
	from, to := part(found)
	return o.readFile(name, found.file, from, to)
}

func (o objects) readFile(name, file string, from, to int64) ([]byte, error) {
	f, err := os.Open(o.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", blob.ErrNotFound, name) // deleted meanwhile
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", blob.ErrRefused, err)
	}
	body := make([]byte, to-from)
	_, err = io.ReadFull(io.NewSectionReader(f, from, to-from), body)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%w: reading %s: %w", blob.ErrRefused, name, err)
	}
	return body, nil
}

// view reads the index at one moment.
func (o objects) view(ctx context.Context, read func(*bbolt.Tx) error) error {
	err := ctx.Err()
	if err == nil {
		err = o.db.View(read)
	}
	return refusal(err)
}

// List names up to 1,000 objects.
func (o objects) List(ctx context.Context, prefix, after string) (blob.Page, error) {
	from := prefix
	if after != "" {
		from = max(prefix, after+"\x00") // the next name
	}
	var page blob.Page
	err := o.view(ctx, func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketObjects).Cursor()
		for key, raw := c.Seek([]byte(from)); key != nil; key, raw = c.Next() {
			name := string(key)
			if !strings.HasPrefix(name, prefix) {
				break
			}
			if len(page.Objects) == pageObjects {
				page.Next = page.Objects[pageObjects-1].Name
				break
			}
			found, err := parseObject(raw)
			if err != nil {
				return err
			}
			page.Objects = append(page.Objects, blob.Info{Name: name, Size: found.size})
		}
		return nil
	})
	return page, err
}

// Delete removes the object. A crash after the commit leaves a pending file, which the next Open removes.
func (o objects) Delete(ctx context.Context, name string) error {
	if err := blob.CheckName(name); err != nil {
		return err
	}
	d := &deleteObject{name: name}
	if err := o.commit.submit(ctx, d); err != nil {
		return refusal(err)
	}
	if d.file != "" {
		o.dropFile(ctx, d.file)
	}
	return nil
}

// refusal makes of an error what the seam calls it: whatever is not an answer is a refusal.
func refusal(err error) error {
	if err == nil || errors.Is(err, blob.ErrExists) || errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%w: %w", blob.ErrRefused, err)
}
