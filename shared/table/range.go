package table

// Range says which sort keys the query asks for: those at or above from and below to, both by their bytes. An empty to
// means that there is no upper end. In descending order the range is read from its upper end.
func (q Query) Range() (from, to string) {
	from, to = q.Prefix, prefixEnd(q.Prefix)
	switch {
	case q.Desc:
		return from, lower(to, q.After)
	case q.After != "":
		from = max(from, q.After+"\x00") // the next key by bytes
	}
	return from, lower(to, q.Until)
}

// prefixEnd is the first key above all that begin with prefix; "" if there is none.
func prefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

// lower is the lesser of two upper ends, of which an empty one means none.
func lower(a, b string) string {
	if a == "" || (b != "" && b < a) {
		return b
	}
	return a
}
