package tree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// roots are the folders of real manifests, if they are there.
func corpus(t *testing.T) []string {
	dir := os.Getenv("CORPUS")
	if dir == "" {
		dir = "../../../../shared/corpus"
	}
	var out []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")) {
			out = append(out, path)
		}
		return nil
	})
	if len(out) == 0 {
		t.Skip("no corpus; set CORPUS to its folder")
	}
	return out
}

func TestTextStaysTheSame(t *testing.T) {
	for name, text := range map[string]string{
		"empty":    "",
		"comments": "# a\n\n# b\n",
		"mapping":  "# head\na: 1 # one\n\n# two\nb:\n  c: 'x: y' # q\n  # tail of b\n# before d\nd: {e: f, g: [1, 2]}\n",
		"lists":    "a:\n- b: 1\n  c: 2\n- # note\n  d: 3\n-\n  e: 4\nf:\n  - - 1\n    - 2\n  - g\n",
		"blocks":   "a: |\n  x: 1\n\n    # no comment\n  y\n\nb: >-\n  text\nc: |+\n  kept\n\n\n",
		"last":     "a: |\n  x",
		"vars":     "a: ${A:=1}\nb: \"${B}\"\n${C:-}\nd:\n  ${D}\n  e: ${E:='x: y'}\n",
		"goes on":  "a: one\n  two\n  three # c\nb: \"x\n  y\" # d\nc: {a: 1,\n  b: 2}\nd: 1\n",
		"below":    "a:\n  # c\n  text\nb:\n  {a: 1}\n",
		"props":    "a: &x\n  b: 1\nc: *x\nd: !!str 1\n",
		"json":     "{\"a\": [1, {\"b\": null}]}\n",
		"go":       "a:\n  {{- if .x }}\n  b: {{ .y }}\n  {{- end }}\n",
		"null":     "a:\nb: ~\nc:\n  - \n  -\n",
		"windows":  "---\na: 1\n...\n",
	} {
		d, err := Parse(text, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d.Root.Walk(func(e *Entry) bool { e.Value.IsMap(); return true })
		if got := d.String(); got != text {
			t.Errorf("%s:\n%q, want\n%q", name, got, text)
		}
	}
}

// The text of every real file comes out as it went in.
func TestCorpusStaysTheSame(t *testing.T) {
	read, refused := 0, 0
	for _, name := range corpus(t) {
		data, err := os.ReadFile(name)
		if err != nil || len(data) > 1<<20 || strings.Contains(string(data), "\r") {
			continue
		}
		for _, text := range Split(string(data)) {
			d, err := Parse(text, 0)
			if err != nil {
				refused++
				t.Logf("%s: %v", name, err)
				continue
			}
			read++
			d.Root.Walk(func(e *Entry) bool { e.Value.IsMap(); return true })
			if d.String() != text {
				t.Errorf("%s changes", name)
				break
			}
		}
	}
	t.Logf("%d documents read, %d refused", read, refused)
	if refused*50 > read {
		t.Errorf("%d of %d documents are refused", refused, read)
	}
}
