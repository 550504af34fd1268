package transport

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// maxQuote is how much of what a server says is repeated, in characters.
const maxQuote = 300

// Printable removes what a terminal obeys instead of showing it: all control
// characters but tabs and line ends, and those that change the direction of
// text. Bytes that are not UTF-8 become question marks.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == unicode.ReplacementChar:
			return '?'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, text)
}

// Quote makes one line of printable text of what a server says, and cuts off
// what is too long.
func Quote(text string) string {
	if len(text) > 8*maxQuote {
		text = strings.ToValidUTF8(text[:8*maxQuote], "")
	}
	return phrase.Cut(strings.Join(strings.Fields(Printable(text)), " "), maxQuote)
}

// Line is a text of a server that is shown. It is quoted when it is decoded
// from JSON.
type Line string

func (l *Line) UnmarshalJSON(data []byte) error {
	var text string
	err := json.Unmarshal(data, &text)
	*l = Line(Quote(text))
	return err
}

// Optional is a text for a request that leaves out the empty one.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Secrets are texts that must not be shown. The zero value has none. It is safe
// for concurrent use.
type Secrets struct {
	mu  sync.Mutex
	all []string
}

// Add keeps secrets out of texts. Very short ones cannot be told from other
// text.
func (s *Secrets) Add(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		if len(secret) >= 6 && !slices.Contains(s.all, secret) {
			s.all = append(s.all, secret)
		}
	}
}

// Redact replaces the secrets in a text by stars.
func (s *Secrets) Redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.all {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// Quote is the function Quote without the secrets.
func (s *Secrets) Quote(text string) string {
	// First the characters: a secret with some in between would come together.
	return s.Redact(Quote(text))
}
