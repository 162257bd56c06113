// Package bolt keeps records and objects on one machine: a bbolt file and a folder of large objects, both durable.
//
// A Store is opened on a folder, which one process at a time may use:
//
//	bobbin.db       records, objects up to 64 KiB, and the index of larger ones
//	objects/<id>    the body of one larger object
//
// All changes go through one committer, which puts those that wait into one bbolt transaction and answers them after
// its sync: a lone write costs one sync of the file and its metadata, a thousand at once cost the same. The buckets of
// the file, whose layouts never change:
//
//	records    partition length (2 bytes, big endian), partition, sort key → record.go
//	expiry     second (8 bytes, sorted by time), key as in records → empty
//	objects    name → object.go
//	pending    id of a body in objects/ that no object names (yet, or any more) → empty
//	applied-0, applied-1    number of a transaction → marks of the writes that it applied; memory.go
package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// ErrLocked means that another process has the folder open.
var ErrLocked = errors.New("the data folder is in use by another process")

const (
	fileName   = "bobbin.db"
	folderName = "objects"

	lockPatience = 250 * time.Millisecond // a predecessor that is just ending gets this long
	mapped       = 64 << 20               // bytes of address space, not of memory: spares remapping while the file is small
	growth       = 1 << 20                // bytes by which the file grows
)

var (
	bucketRecords = []byte("records")
	bucketExpiry  = []byte("expiry")
	bucketObjects = []byte("objects")
	bucketPending = []byte("pending")
	bucketApplied = [2][]byte{[]byte("applied-0"), []byte("applied-1")}

	buckets = [][]byte{bucketRecords, bucketExpiry, bucketObjects, bucketPending, bucketApplied[0], bucketApplied[1]}
)

// Store is an open folder. All methods are safe for concurrent use.
type Store struct {
	db     *bbolt.DB
	folder string // of large objects
	commit *committer
	ids    id.Source // of large objects

	closing chan struct{}
	swept   sync.WaitGroup
	close   func() error
}

// Open opens the folder, creating it if need be. It fails with ErrLocked if another process has it open, with ErrDamaged if
// its file is not whole, and otherwise with what the file system has against it.
func Open(dir string) (*Store, error) {
	s := &Store{folder: filepath.Join(dir, folderName), closing: make(chan struct{})}
	if err := s.open(dir); err != nil {
		return nil, fmt.Errorf("opening data folder %s: %w", dir, err)
	}
	s.close = sync.OnceValue(s.shut)
	s.swept.Go(s.sweepNowAndThen)
	return s, nil
}

func (s *Store) open(dir string) error {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, fileName)
	if err := intact(path); err != nil {
		return fmt.Errorf("%s %w", fileName, err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout:         lockPatience,
		FreelistType:    bbolt.FreelistMapType,
		NoFreelistSync:  true, // written when the store closes; after a crash it is found by reading the file
		InitialMmapSize: mapped,
		NoStatistics:    true,
	})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return ErrLocked
	}
	if err != nil {
		return fmt.Errorf("%s %w", fileName, notWhole(err))
	}
	db.AllocSize = growth
	s.db = db
	if err := s.prepare(dir); err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// prepare makes what a new file needs, reads what the committer remembers and removes what a crash left.
func (s *Store) prepare(dir string) error {
	if err := s.create(dir); err != nil {
		return err
	}
	commit, err := startCommitter(s.db)
	if err != nil {
		return err
	}
	s.commit = commit
	if err := s.dropLeftovers(); err != nil {
		commit.stop()
		return err
	}
	return nil
}

// create makes the names of a new file and its folder durable, then its buckets. A crash in between leaves a file
// without buckets, with which the next Open begins again.
func (s *Store) create(dir string) error {
	complete, err := hasBuckets(s.db)
	if err != nil || complete {
		return err
	}
	if err := errors.Join(syncFolder(dir), syncFolder(filepath.Dir(dir))); err != nil {
		return err
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

func hasBuckets(db *bbolt.DB) (complete bool, err error) {
	complete = true
	err = db.View(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			complete = complete && tx.Bucket(name) != nil
		}
		return nil
	})
	return complete, err
}

// Table is the record store in the folder.
func (s *Store) Table() table.Table { return records{s} }

// Blob is the object store in the folder.
func (s *Store) Blob() blob.Blob { return objects{s} }

// Close answers what waits, then closes the folder. Calls after it are refused.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut() error {
	close(s.closing)
	s.swept.Wait()
	var err error
	if s.commit.stop() {
		s.db.NoFreelistSync = false
		err = s.db.Update(func(*bbolt.Tx) error { return nil })
	}
	return errors.Join(err, s.db.Close())
}

func syncFolder(dir string) error {
	f, err := os.Open(dir) //nolint:gosec // the folder that the caller named
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
