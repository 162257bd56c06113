package transcript

import "github.com/klauspost/compress/zstd"

// maxPartBytes bounds what a damaged part can make us unpack. A chunk's bound does not do: one entry can be larger.
const maxPartBytes = 1 << 30

// The coders are made when the program starts, which takes about 0.1 ms and half a megabyte: they wait for one another on
// channels inside, and channels made at first use would belong to whatever test's bubble happened to be the first.
var (
	encoder = newEncoder()
	decoder = newDecoder()
)

func newEncoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
		zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true))
	if err != nil {
		panic("making a zstd encoder: " + err.Error()) // the options above are valid
	}
	e.EncodeAll(nil, nil) // makes what is otherwise made at first use
	return e
}

func newDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxPartBytes))
	if err != nil {
		panic("making a zstd decoder: " + err.Error())
	}
	return d
}

func compress(raw []byte) []byte { return encoder.EncodeAll(raw, nil) }

func decompress(body []byte) ([]byte, error) { return decoder.DecodeAll(body, nil) }
