package tree

import "strings"

// scanner follows the quotes and brackets of a flow value over its lines.
type scanner struct {
	quote  byte
	depth  int
	begun  bool
	closed bool // a quoted text or a flow collection has ended
	plain  bool
}

// open reports whether the value must continue on the next line.
func (s *scanner) open() bool { return s.quote != 0 || s.depth > 0 }

// line reads one line and returns where the value ends in it: before a comment.
func (s *scanner) line(text string) int {
	fresh := true // a token may begin here
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case s.quote == '"' && c == '\\':
			i++
		case s.quote == '\'' && c == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case s.quote != 0:
			if c == s.quote {
				s.quote = 0
				s.closed = s.depth == 0
			}
		case c == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t'):
			return i
		case s.plain && s.depth == 0:
		case (c == '"' || c == '\'') && fresh:
			s.quote, s.begun = c, true
		case (c == '{' || c == '[') && (fresh || s.depth > 0):
			s.depth++
			s.begun = true
		case (c == '}' || c == ']') && s.depth > 0:
			s.depth--
			s.closed = s.depth == 0
		case c != ' ' && c != '\t' && !s.begun && c != '&' && c != '!' && s.depth == 0:
			s.plain, s.begun = true, true
		}
		fresh = c == ' ' || c == '\t' || s.depth > 0 && strings.IndexByte("{[,:", c) >= 0 || !s.begun
	}
	return len(text)
}

// keyEnd returns the offset after the colon of a key that a line begins with; 0
// if it begins with something else.
func keyEnd(s string) int {
	if s == "" {
		return 0
	}
	i := 0
	switch s[0] {
	case '"', '\'':
		i = quotedEnd(s)
		if i < 0 {
			return 0
		}
		for i < len(s) && s[i] == ' ' {
			i++
		}
		if i < len(s) && s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\t') {
			return i + 1
		}
		return 0
	case '{', '[', '|', '>', '*', '&', '!', '%', '@', '`', '#', ',', ']', '}':
		return 0
	case '?', '-':
		if len(s) == 1 || s[1] == ' ' {
			return 0
		}
	}
	for ; i < len(s); i++ {
		switch {
		case s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\t'):
			return i + 1
		case s[i] == '#' && i > 0 && (s[i-1] == ' ' || s[i-1] == '\t'):
			return 0
		}
	}
	return 0
}

// quotedEnd returns the offset after the quoted text that s begins with; -1 if
// it does not end.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0] && s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return -1
}
