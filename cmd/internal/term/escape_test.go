package term_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// written returns a text as a Writer writes it in pieces of a size.
func written(t testing.TB, form term.Form, text string, size int) string {
	t.Helper()
	var out bytes.Buffer
	w := term.NewWriter(&out, form)
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		given.Value(io.WriteString(w, rest[:n]))(t)
		rest = rest[n:]
	}
	given.NoError(t, w.Flush())
	return out.String()
}

func TestWriter(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ünï 漢\n\tin lines\r\n": "plain text, ünï 漢\n\tin lines\r\n",
		"a\x1b[31mb\x07\x00\x7f":            `a\x1b[31mb\x07\x00\x7f`,
		"a\u009b31mb":                       `a\x9b31mb`,
		"a\u202eb\u2028c\ufeff":             `a\u202eb\u2028c\ufeff`,
		"\U000e0041":                        `\U000e0041`,
		"a\rb":                              `a\x0db`,
		"end\r":                             `end\x0d`,
		"bad \xff\xc3":                      `bad \xff\xc3`,
		"::stop-commands::x\n":              `\x3a:stop-commands::x` + "\n",
		"a\n \t::error::x":                  "a\n \t" + `\x3a:error::x`,
		"a ::error::x":                      "a ::error::x",
		":":                                 ":",
		"a ##[error]x":                      `a #\x23[error]x`,
		"##vso[task.x]":                     `#\x23vso[task.x]`,
		"## Heading [x]":                    "## Heading [x]",
		"###[x]":                            `##\x23[x]`,
		"#":                                 "#",
		"##":                                "##",
	} {
		for _, size := range []int{1, 2, 3, 1000} {
			if got := written(t, term.Text, in, size); got != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", in, size, got, want)
			}
		}
	}
}

func TestWriterCutsLongTexts(t *testing.T) {
	// Of every length, so that each part of it stands at a cut.
	for n := range 12 {
		in := strings.Repeat("x", 1<<16-n) + "\n::é##[x]\x1b" + strings.Repeat("y", 1<<16)
		if got, want := written(t, term.Text, in, len(in)), written(t, term.Text, in, 7); got != want {
			t.Errorf("%d before the cut: the text differs from that in small pieces", n)
		}
	}
}

func TestWriterPaints(t *testing.T) {
	var out bytes.Buffer
	w := term.NewWriter(&out, term.Text)
	style := given.Value(term.StyleFor(w, "always", nil))(t)
	text := style.Red("error:") + " \x1b[0m\x1b[1;31mforged"
	if got, want := written(t, term.Text, text, 5), "\x1b[1;31merror:\x1b[0m "+`\x1b[0m\x1b[1;31mforged`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// dangerous returns what a terminal or a CI system could take for a command.
func dangerous(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
			return line
		}
		for _, r := range strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") {
			if r != '\t' && !unicode.IsPrint(r) {
				return line
			}
		}
	}
	return ""
}

func FuzzWriter(f *testing.F) {
	for _, s := range []string{"::error::\n##[x]", "\u009b\u202e", "\xff\x1b]0;x\a", "###[", " \u00a0::x"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, size%64)
		if bad := dangerous(written(t, term.Text, text, size)); bad != "" {
			t.Errorf("text: %q", bad)
		}
		doc := given.Value(json.Marshal(map[string]string{"k": text}))(t)
		var before, after any
		got := written(t, term.JSON, string(doc), size)
		given.NoError(t, json.Unmarshal(doc, &before))
		if err := json.Unmarshal([]byte(got), &after); err != nil {
			t.Fatalf("%v: %q", err, got)
		}
		if before.(map[string]any)["k"] != after.(map[string]any)["k"] || dangerous(got) != "" {
			t.Errorf("json: %q became %q", doc, got)
		}
		var x bytes.Buffer
		x.WriteString("<k>")
		given.NoError(t, xml.EscapeText(&x, []byte(text)))
		x.WriteString("</k>")
		got = written(t, term.XML, x.String(), size)
		var one, other struct {
			Text string `xml:",chardata"`
		}
		if xml.Unmarshal(x.Bytes(), &one) != nil {
			return // XML has no such characters
		}
		if err := xml.Unmarshal([]byte(got), &other); err != nil || one.Text != other.Text || dangerous(got) != "" {
			t.Errorf("xml: %q became %q, %v", x.String(), got, err)
		}
	})
}
