package table

import (
	"encoding/json"
	"fmt"
)

// Encode returns the JSON of a record's value. It panics on what JSON can't hold, which no record is made of.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("encoding a record: " + err.Error())
	}
	return b
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
