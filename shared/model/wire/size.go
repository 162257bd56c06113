package wire

import (
	"fmt"

	"github.com/bobbin-agent/bobbin/shared/model"
)

// maxAnswer bounds what is collected of one answer, in bytes: its text, thinking and arguments. It is many times what
// any model can say at once; a server out of hand must not fill the memory that all sessions share.
const maxAnswer = 8 << 20

// BlockSize is what a block or a call counts beside its content, in bytes, so that empty ones are bounded too.
const BlockSize = 256

// Size counts what has been collected of one answer.
type Size struct {
	client *Client
	bytes  int
}

// Size returns the count for a new answer.
func (c *Client) Size() *Size { return &Size{client: c} }

// Add counts n bytes more. Beyond 8 MiB it returns an error, with which the answer is to be broken off; asking again
// would bring no shorter one, so that it is permanent.
func (s *Size) Add(n int) error {
	s.bytes += n
	if s.bytes > maxAnswer {
		return s.client.tooLong()
	}
	return nil
}

func (c *Client) tooLong() error {
	return c.fail(model.ErrorOther, 0, fmt.Sprintf("the answer was longer than %d MiB", maxAnswer>>20))
}
