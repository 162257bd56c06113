package table

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns the JSON of a record's value. It panics on what JSON can't hold, which no record is made of.
func Encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // nobody puts a record into a page as it is, and markup would take six bytes for each bracket
	if err := enc.Encode(v); err != nil {
		panic("encoding a record: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Decode reads the JSON of a record into v and returns the record's revision. A nil item leaves v as it is and returns
// "", which AtOrAbsent turns into the right condition.
func Decode(item *Item, v any) (Revision, error) {
	if item == nil {
		return "", nil
	}
	if err := json.Unmarshal(item.Value, v); err != nil {
		return "", fmt.Errorf("decoding %s: %w", item.Key, err)
	}
	return item.Revision, nil
}
