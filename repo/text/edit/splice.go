// Package edit is the one editor of YAML, and changes no byte that it need not.
// Scalars are replaced, and lines inserted, in the text itself, by position. The text is
// then read again, and every value must be the one that it was, or that it was set to.
//
// It must not know what the values mean.
package edit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Splice puts a text in the place of the bytes from Start to End: of a whole scalar,
// or of an expression ${ A } that is written without its spaces.
type Splice struct {
	Start, End int
	Text       string
}

// Replace makes splices in a file, in their order and without overlap, at once. The
// error says what they would change besides: through an anchor, for example, one line
// is the value of several places.
func Replace(text string, splices []Splice) (string, error) {
	var out strings.Builder
	at := 0
	for _, s := range splices {
		out.WriteString(text[at:s.Start] + s.Text)
		at = s.End
	}
	out.WriteString(text[at:])
	before, after := yamldoc.Parse(yamldoc.NewFile("", mask(text))), yamldoc.Parse(yamldoc.NewFile("", mask(out.String())))
	switch {
	case before.Err != nil || after.Err != nil:
		return "", errors.New("the file cannot be split into documents")
	case len(before.Docs) != len(after.Docs):
		return "", errors.New("the file would have a different number of documents")
	}
	uses := make([]int, len(splices))
	for i, d := range before.Docs {
		if d.Err != nil {
			if err := respelled(text, d, splices); err != nil {
				return "", err
			}
			continue
		}
		if after.Docs[i].Err != nil {
			return "", fmt.Errorf("the file would no longer be valid YAML: %w", after.Docs[i].Err.Err)
		}
		err := same(nil, d.Root, after.Docs[i].Root, func(want, got *yamldoc.Node) bool {
			start, end := d.Offsets(want)
			for i, s := range splices {
				if s.Start < start || s.End > end {
					continue
				}
				uses[i]++
				v := Scalar(s.Text)
				return spelling(text[s.Start:s.End], s.Text) ||
					s.Start == start && s.End == end && v != nil && v.Kind == got.Kind && v.Text() == got.Text()
			}
			return false
		})
		if err != nil {
			return "", err
		}
	}
	for _, n := range uses {
		if n > 1 {
			return "", fmt.Errorf("the value is used in %d places, through an alias or a merge key; change it by hand", n)
		}
	}
	return out.String(), nil
}

// spaced is an expression that means the same without its spaces.
var spaced = phrase.Pattern(`^\$\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}$`)

// spelling reports whether two texts are the same expression.
func spelling(a, b string) bool {
	x, y := spaced().FindStringSubmatch(a), spaced().FindStringSubmatch(b)
	return x != nil && y != nil && x[1] == y[1]
}

// respelled fails unless the splices in a document leave every expression what it is:
// before variables have values, the document is not YAML.
func respelled(text string, d *yamldoc.Document, splices []Splice) error {
	from, to := d.Range()
	for _, s := range splices {
		if s.End >= from && s.Start <= to && !spelling(text[s.Start:s.End], s.Text) {
			return fmt.Errorf("the document cannot be read without its variables: %w", d.Err.Err)
		}
	}
	return nil
}

// Insert puts lines into a text at the beginning of the line at an offset, or at its
// end. Lines end as those of the text. The first document that holds something must
// then mean what want says, or the error says what else would change.
func Insert(text string, at int, lines []string, want *yamldoc.Node) (string, error) {
	ending := "\n"
	if n := strings.Count(text, "\r\n"); n > 0 {
		if ending = "\r\n"; n != strings.Count(text, "\n") {
			return "", errors.New("the file mixes line endings")
		}
	}
	block := strings.Join(lines, ending)
	if at == len(text) && !strings.HasSuffix(text, "\n") {
		block = ending + block
	} else {
		block += ending
	}
	out := text[:at] + block + text[at:]
	s := yamldoc.Parse(yamldoc.NewFile("", out))
	if s.Err != nil || len(s.Docs) == 0 || s.Docs[0].Err != nil {
		return "", errors.New("the file would no longer be valid YAML")
	}
	return out, same(nil, want, s.Docs[0].Root, nil)
}
