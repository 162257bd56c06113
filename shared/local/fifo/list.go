package fifo

// list is a first-in, first-out list. The zero list is empty.
type list[T any] struct {
	head, tail *node[T]
	size       int
}

type node[T any] struct {
	value T
	next  *node[T]
}

func (l *list[T]) push(v T) {
	n := &node[T]{value: v}
	if l.size == 0 {
		l.head = n
	} else {
		l.tail.next = n
	}
	l.tail = n
	l.size++
}

// first is the value at the front, to be read or changed in place; the list must not be empty.
func (l *list[T]) first() *T { return &l.head.value }

// pop takes the value at the front; the list must not be empty.
func (l *list[T]) pop() T {
	v := l.head.value
	l.head = l.head.next
	l.size--
	if l.size == 0 {
		l.tail = nil
	}
	return v
}
