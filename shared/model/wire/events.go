package wire

import (
	"bufio"
	"bytes"
	"io"
	"iter"
)

// maxLine bounds one line of an event stream, in bytes; a model's longest arguments stay far below.
const maxLine = 32 << 20

// Events reads a stream of server-sent events and yields the data of each, whose bytes are good until the next one. An
// error, of reading or of a line beyond 32 MiB, is yielded last. What the server left unfinished at a proper end of the
// body is yielded too, since loose servers leave out the last empty line.
func Events(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		var data []byte
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 {
				if len(data) > 0 && !yield(data, nil) {
					return
				}
				data = data[:0]
				continue
			}
			if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		} else if len(data) > 0 {
			yield(data, nil)
		}
	}
}
