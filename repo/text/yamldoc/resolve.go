package yamldoc

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// words are the plain scalars that YAML 1.1 does not read as strings.
var words = map[string]any{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true,
	"true": true, "True": true, "TRUE": true,
	"on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false,
	"false": false, "False": false, "FALSE": false,
	"off": false, "Off": false, "OFF": false,
	"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil,
	".nan": math.NaN(), ".NaN": math.NaN(), ".NAN": math.NaN(),
	".inf": math.Inf(1), ".Inf": math.Inf(1), ".INF": math.Inf(1),
	"+.inf": math.Inf(1), "+.Inf": math.Inf(1), "+.INF": math.Inf(1),
	"-.inf": math.Inf(-1), "-.Inf": math.Inf(-1), "-.INF": math.Inf(-1),
}

const longestWord = len("false")

// isDate recognises dates, which stay strings although they begin like
// numbers. It may let through impossible ones such as 2001-99-99: those are no
// numbers either.
func isDate(s string) bool {
	return len(s) > 4 && s[4] == '-' && strings.Trim(s[:4], "0123456789") == ""
}

// resolve gives a plain scalar its type by the rules of YAML 1.1 as
// sigs.k8s.io/yaml applies them. The value is nil, bool, int64, uint64,
// float64 or string.
func resolve(text string) any {
	if v, ok := guess(text); ok {
		return v
	}
	return text
}

// PlainKind returns the kind of a text that is a scalar without quotes, if nothing
// but letters, digits and a few signs in it leave no doubt: most are.
func PlainKind(text string) (kind Kind, ok bool) {
	if text == "" || len(text) > 100 || !isWord(text[0]) {
		return Null, false
	}
	for i := range len(text) {
		if c := text[i]; !isWord(c) && c != '.' && c != '/' && c != '_' && c != '-' && (c != ' ' || i == len(text)-1) {
			return Null, false
		}
	}
	return kindOf(text)
}

// kindOf returns the kind of a plain scalar; ok is false if JSON has no such value.
func kindOf(text string) (kind Kind, ok bool) {
	v, other := guess(text)
	if !other {
		return String, true
	}
	switch x := v.(type) {
	case bool:
		return Bool, true
	case int64, uint64:
		return Int, true
	case float64:
		return Float, !math.IsInf(x, 0) && !math.IsNaN(x)
	}
	return Null, true
}

func isWord(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// guess is resolve for the scalars that are no strings.
func guess(text string) (v any, ok bool) {
	if len(text) > 0 {
		switch c := text[0]; {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.':
			// possibly a number
		case strings.IndexByte("yYnNtTfFoO~", c) < 0:
			return nil, false
		}
	}
	if len(text) <= longestWord {
		if v, ok := words[text]; ok {
			return v, true
		}
	}
	switch c := text[0]; {
	case c == '.':
		// ParseFloat also reads underscores and hex here; so does the original.
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, true
		}
	case c >= '0' && c <= '9', c == '+', c == '-':
		return number(text)
	}
	return nil, false
}

func number(text string) (v any, ok bool) {
	if isDate(text) {
		return nil, false
	}
	plain := strings.ReplaceAll(text, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i, true
	}
	if u, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return u, true
	}
	if isFloat(plain) {
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return f, true
		}
	}
	// A sign may also stand behind the prefix of a binary number, but not behind
	// those of others.
	if digits, ok := strings.CutPrefix(plain, "0b"); ok {
		if i, err := strconv.ParseInt(digits, 2, 64); err == nil {
			return i, true
		}
	}
	return nil, false
}

// isFloat matches [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func isFloat(s string) bool {
	digits := func() bool {
		before := len(s)
		s = strings.TrimLeft(s, "0123456789")
		return len(s) < before
	}
	sign := func() {
		if s != "" && (s[0] == '-' || s[0] == '+') {
			s = s[1:]
		}
	}
	sign()
	whole := digits()
	if s != "" && s[0] == '.' {
		s = s[1:]
		if !digits() && !whole {
			return false
		}
	} else if !whole {
		return false
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		sign()
		if !digits() {
			return false
		}
	}
	return s == ""
}

// tagged resolves a scalar with an explicit tag.
func tagged(tag, text string) (any, error) {
	switch tag {
	case "!!str":
		return text, nil
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("!!binary value contains invalid base64 data")
		}
		return string(data), nil
	case "!!bool", "!!int", "!!float", "!!null", "!!timestamp":
	default:
		return text, nil // an application's own tag
	}
	v := resolve(text)
	ok := false
	switch x := v.(type) {
	case nil:
		ok = tag == "!!null"
	case bool:
		ok = tag == "!!bool"
	case int64:
		ok = tag == "!!int" || tag == "!!float"
		if tag == "!!float" {
			v = float64(x)
		}
	case uint64:
		ok = tag == "!!int"
	case float64:
		ok = tag == "!!float"
	case string:
		ok = tag == "!!timestamp" && isDate(x)
	}
	if !ok {
		return nil, fmt.Errorf("cannot decode %q as a %s", text, tag)
	}
	return v, nil
}

// keyName converts a mapping key to the string that JSON has.
func keyName(v any) (string, bool) {
	switch k := v.(type) {
	case string:
		return k, true
	case bool:
		return strconv.FormatBool(k), true
	case int64:
		return strconv.FormatInt(k, 10), true
	case float64:
		switch {
		case math.IsInf(k, 1):
			return ".inf", true
		case math.IsInf(k, -1):
			return "-.inf", true
		case math.IsNaN(k):
			return ".nan", true
		}
		return strconv.FormatFloat(k, 'g', -1, 32), true
	}
	return "", false
}
