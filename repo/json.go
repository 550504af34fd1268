package repo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// UnambiguousJSON refuses a JSON document that readers understand differently:
// one with two keys in an object that are equal, or equal where case does not
// count, or with bytes that are not UTF-8. Some readers take the first of such
// keys, others the last, and Go takes keys of either case. The error does not say
// in which file; it is also one of the syntax.
func UnambiguousJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("is not UTF-8")
	}
	// One for each object or list that is open; a list has no keys.
	type level struct {
		keys map[string]string
		key  bool // the next text is a key
	}
	var open []level
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if name, ok := token.(string); ok && len(open) > 0 && open[len(open)-1].key {
			top := &open[len(open)-1]
			folded := fold(name)
			if other, again := top.keys[folded]; again {
				return fmt.Errorf("has both the keys %q and %q in one object, and readers differ in which one they use",
					other, name)
			}
			top.keys[folded], top.key = name, false
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{map[string]string{}, true})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > 0 { // a value has ended
			top := &open[len(open)-1]
			top.key = top.keys != nil
		}
	}
}

// fold gives names that encoding/json treats as one field the same form.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}
