package telegram

import "encoding/json"

// object is a JSON object whose values are decoded one at a time, when asked for: an odd value costs itself alone.
type object map[string]json.RawMessage

// field decodes one value; a missing one, a null and one of another type are all T's zero value.
func field[T any](o object, key string) T {
	var value, zero T
	raw, ok := o[key]
	if !ok || json.Unmarshal(raw, &value) != nil {
		return zero
	}
	return value
}

// has says whether any of the keys holds a value, whatever its type.
func (o object) has(keys ...string) bool {
	for _, key := range keys {
		if raw, ok := o[key]; ok && string(raw) != "null" {
			return true
		}
	}
	return false
}
