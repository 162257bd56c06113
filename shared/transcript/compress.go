package transcript

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The coders are made at first use, once: they hold buffers, and start-up should cost nothing.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
			zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true))
		if err != nil {
			panic("making a zstd encoder: " + err.Error()) // the options above are valid
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(4*maxChunkBytes))
		if err != nil {
			panic("making a zstd decoder: " + err.Error())
		}
		return d
	})
)

func compress(raw []byte) []byte { return encoder().EncodeAll(raw, nil) }

func decompress(body []byte) ([]byte, error) { return decoder().DecodeAll(body, nil) }
