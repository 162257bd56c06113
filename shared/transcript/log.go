package transcript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/id"
)

// loadWidth is how many parts are fetched at once.
const loadWidth = 32

// ErrCorrupt means that a saved part is missing or not what was written.
var ErrCorrupt = errors.New("the saved transcript is damaged")

// Log is a session's transcript in the memory of the one turn that holds it. It is not safe for concurrent use.
type Log struct {
	session  id.Session
	entries  []Entry
	manifest Manifest // what is saved: the first manifest.Entries() entries
	saved    int
}

// Load reads the entries that the manifest lists, its parts side by side. Errors wrap ErrCorrupt or the store's.
func Load(ctx context.Context, b blob.Blob, session id.Session, m Manifest) (*Log, error) {
	refs := m.refs()
	parts := make([][]Entry, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loadWidth)
	for i, ref := range refs {
		group.Go(func() (err error) {
			parts[i], err = fetch(ctx, b, ref.name(session), ref.Entries)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	log := &Log{session: session, manifest: m, saved: m.Entries()}
	log.entries = make([]Entry, 0, log.saved+8)
	for _, p := range parts {
		log.entries = append(log.entries, p...)
	}
	return log, nil
}

// Entries are all entries, oldest first; read-only.
func (l *Log) Entries() []Entry { return l.entries }

// Append adds entries that the next checkpoint will save.
func (l *Log) Append(e ...Entry) { l.entries = append(l.entries, e...) }

// Truncate takes back what was appended beyond the first n entries, none of which has been saved.
func (l *Log) Truncate(n int) { l.entries = l.entries[:max(n, l.saved)] }

// Unsaved reports whether there are entries that no checkpoint has saved.
func (l *Log) Unsaved() bool { return len(l.entries) > l.saved }

// Checkpoint uploads the unsaved entries as one part, unless they are very large, and returns the manifest that lists
// it, for the caller to commit in its fenced write, and to confirm with Saved. With nothing unsaved it returns the
// manifest as it is. When the parts are many, the same upload absorbs them too.
func (l *Log) Checkpoint(ctx context.Context, b blob.Blob, epoch int64) (Manifest, error) {
	if !l.Unsaved() {
		return l.manifest, nil
	}
	next, from := l.manifest, l.saved
	merged := len(next.Parts) >= maxParts
	if merged {
		from, next = l.merge()
	}
	refs, err := upload(ctx, b, l.session, epoch, l.entries[from:])
	// A crash here leaves parts that no manifest lists.
	if err != nil {
		return Manifest{}, err
	}
	if merged {
		next.Chunks = append(slices.Clip(next.Chunks), refs...)
		return next, nil
	}
	next.Parts = append(slices.Clip(next.Parts), refs...)
	return next, nil
}

// merge returns the index of the first entry that the next chunk holds and the manifest without what it absorbs.
func (l *Log) merge() (int, Manifest) {
	size, entries := 0, 0
	for _, r := range l.manifest.Parts {
		size += r.Bytes
		entries += r.Entries
	}
	keep := len(l.manifest.Chunks) - fold(l.manifest.Chunks, size)
	for _, r := range l.manifest.Chunks[keep:] {
		entries += r.Entries
	}
	return l.saved - entries, Manifest{Chunks: l.manifest.Chunks[:keep]}
}

// Saved confirms that the manifest from Checkpoint has been committed.
func (l *Log) Saved(m Manifest) {
	l.manifest = m
	l.saved = m.Entries()
}

// Manifest is the last one that was committed.
func (l *Log) Manifest() Manifest { return l.manifest }

// upload saves the entries as one part, or as several where one would be too large.
func upload(ctx context.Context, b blob.Blob, session id.Session, epoch int64, entries []Entry) ([]Ref, error) {
	var refs []Ref
	for len(entries) > 0 {
		raw, n, err := encode(entries)
		if err != nil {
			return nil, err
		}
		ref, err := put(ctx, b, session, epoch, raw)
		if err != nil {
			return nil, err
		}
		ref.Entries = n
		refs, entries = append(refs, ref), entries[n:]
	}
	return refs, nil
}

// encode writes entries until one more would be more than a chunk takes, at least one, and says how many.
func encode(entries []Entry) ([]byte, int, error) {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	for i := range entries {
		size := raw.Len()
		if err := enc.Encode(&entries[i]); err != nil {
			return nil, 0, fmt.Errorf("encoding a transcript part: %w", err)
		}
		if i > 0 && raw.Len() > maxChunkBytes {
			return raw.Bytes()[:size], i, nil
		}
	}
	return raw.Bytes(), len(entries), nil
}

func put(ctx context.Context, b blob.Blob, session id.Session, epoch int64, raw []byte) (Ref, error) {
	sum := sha256.Sum256(raw)
	ref := Ref{Epoch: epoch, Hash: base64.RawURLEncoding.EncodeToString(sum[:8]), Bytes: len(raw)}
	if err := blob.Ensure(ctx, b, ref.name(session), compress(raw)); err != nil {
		return Ref{}, fmt.Errorf("saving a transcript part: %w", err)
	}
	return ref, nil
}

func fetch(ctx context.Context, b blob.Blob, name string, count int) ([]Entry, error) {
	body, err := blob.Fetch(ctx, b, name)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%w: part %s is missing", ErrCorrupt, name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading transcript part %s: %w", name, err)
	}
	raw, err := decompress(body)
	if err != nil {
		return nil, fmt.Errorf("%w: part %s: %w", ErrCorrupt, name, err)
	}
	entries := make([]Entry, 0, count)
	for line := range bytes.Lines(raw) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%w: part %s: %w", ErrCorrupt, name, err)
		}
		entries = append(entries, e)
	}
	if len(entries) != count {
		return nil, fmt.Errorf("%w: part %s holds %d entries instead of %d", ErrCorrupt, name, len(entries), count)
	}
	return entries, nil
}
