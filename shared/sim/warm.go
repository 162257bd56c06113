package sim

import (
	"context"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/transcript"
)

// warmUp makes what the engine makes once, at first use, and keeps: made inside a bubble, it could not be used in
// another.
var warmUp = sync.OnceFunc(func() {
	ctx, blobs := context.Background(), &blobtest.Fake{}
	log, err := transcript.Load(ctx, blobs, "warm", transcript.Manifest{})
	if err != nil {
		panic("loading an empty transcript: " + err.Error())
	}
	log.Append(transcript.Entry{Kind: transcript.Note})
	m, err := log.Checkpoint(ctx, blobs, 1)
	if err != nil {
		panic("saving a transcript: " + err.Error())
	}
	if _, err := transcript.Load(ctx, blobs, "warm", m); err != nil {
		panic("loading a transcript: " + err.Error())
	}
})
