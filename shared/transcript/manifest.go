package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-agent/bobbin/shared/id"
)

// Bounds of a manifest. With 64 parts and merges of eight, a manifest of 10,000 entries takes about 1.7 KB.
const (
	maxParts      = 64      // single checkpoints; one more and they become a chunk
	mergeFan      = 8       // so many neighbouring chunks of a size become one
	maxChunkBytes = 8 << 20 // of a chunk before compression
)

// Ref names one stored part or chunk.
type Ref struct {
	Epoch   int64  // of the turn that wrote it
	Hash    string // 11 characters of URL-safe base64: 64 bits of the content's SHA-256
	Entries int
	Bytes   int // before compression
}

// Manifest lists the parts of a session's transcript in order. The zero Manifest is an empty transcript.
type Manifest struct {
	Chunks []Ref `json:"c,omitempty"` // the older entries, merged
	Parts  []Ref `json:"p,omitempty"` // the newer ones, a checkpoint each
}

// Entries counts the entries that the manifest lists.
func (m Manifest) Entries() int {
	n := 0
	for _, r := range m.refs() {
		n += r.Entries
	}
	return n
}

func (m Manifest) refs() []Ref {
	return append(slices.Clip(m.Chunks), m.Parts...)
}

func (r Ref) name(session id.Session) string {
	return fmt.Sprintf("session/%s/%d-%s", session, r.Epoch, r.Hash)
}

// MarshalJSON writes the reference as a short string, because the manifest is written at every checkpoint.
func (r Ref) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 40)
	b = append(b, '"')
	b = strconv.AppendInt(b, r.Epoch, 36)
	b = append(b, '.')
	b = append(b, r.Hash...)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(r.Entries), 36)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(r.Bytes), 36)
	return append(b, '"'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Ref) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	field := strings.Split(s, ".")
	if len(field) != 4 {
		return fmt.Errorf("a part's reference has 4 fields, got %q", s)
	}
	var n [3]int64
	for i, text := range []string{field[0], field[2], field[3]} {
		v, err := strconv.ParseInt(text, 36, 64)
		if err != nil {
			return fmt.Errorf("a part's reference %q: %w", s, err)
		}
		n[i] = v
	}
	*r = Ref{Epoch: n[0], Hash: field[1], Entries: int(n[1]), Bytes: int(n[2])}
	return nil
}

// fold says how many of the manifest's last chunks the next upload should absorb, if it absorbs all parts: none unless
// there are enough neighbours of a size. Each entry is rewritten a few times in its life, whatever the length of the
// transcript.
func fold(chunks []Ref, bytes int) int {
	folded := 0
	for {
		run, sum := 0, 0
		for i := len(chunks) - folded - 1; i >= 0 && chunks[i].Bytes <= 2*bytes && run < mergeFan-1; i-- {
			run++
			sum += chunks[i].Bytes
		}
		if run < mergeFan-1 || bytes+sum > maxChunkBytes {
			return folded
		}
		folded += run
		bytes += sum
	}
}
