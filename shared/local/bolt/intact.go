package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	bbolterrors "go.etcd.io/bbolt/errors"
)

// ErrDamaged means that the file is not what was written: cut short, or not bbolt's at all.
var ErrDamaged = errors.New("is cut short or damaged: bring back a copy of it, or move the folder away to begin anew")

// Where bbolt's two meta pages say what is looked at here; bytes from the beginning of the page, little or big end first
// as the machine has it.
const (
	metaPageSize = 16 + 8
	metaPages    = 16 + 40 // how many pages are in use
	metaTxID     = 16 + 48
	metaEnd      = metaTxID + 8
)

// intact refuses a file that is shorter than its own meta pages say: bbolt maps it into memory and would end the process
// when it reads what is not there. What else may be wrong with it bbolt finds by itself.
func intact(path string) error {
	f, err := os.Open(path) //nolint:gosec // the operator's own folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	var first [metaEnd]byte
	if _, err := f.ReadAt(first[:], 0); err != nil {
		return notWhole(err)
	}
	pageSize := int64(binary.NativeEndian.Uint32(first[metaPageSize:]))
	second := first
	if _, err := f.ReadAt(second[:], pageSize); err != nil {
		return notWhole(err)
	}
	newest := first
	if binary.NativeEndian.Uint64(second[metaTxID:]) > binary.NativeEndian.Uint64(first[metaTxID:]) {
		newest = second
	}
	if pages := binary.NativeEndian.Uint64(newest[metaPages:]); pages > uint64(info.Size()/pageSize) { //nolint:gosec // sizes are positive
		return ErrDamaged
	}
	return nil
}

func notWhole(err error) error {
	for _, wrong := range []error{io.EOF, bbolterrors.ErrInvalid, bbolterrors.ErrChecksum, bbolterrors.ErrVersionMismatch} {
		if errors.Is(err, wrong) {
			return fmt.Errorf("%w (%w)", ErrDamaged, err)
		}
	}
	return err
}
