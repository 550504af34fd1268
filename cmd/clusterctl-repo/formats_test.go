package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/root"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/diff"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// kindOf is a kind of document that people or machines read, in its formats.
type kindOf struct {
	formats []string
	// write writes it with texts from outside, the nth of which texts(n) returns.
	write func(w io.Writer, format string, texts func() string) error
}

// fill sets what a value can hold: texts to those from outside, lists to two
// entries, numbers and truths to something. Words of closed sets are those of the
// program; it leaves other named types alone.
func fill(v reflect.Value, texts func() string) {
	switch v.Kind() {
	case reflect.String:
		if set, ok := v.Interface().(interface{ Words() []string }); ok {
			v.SetString(set.Words()[0])
		} else if v.Type().PkgPath() == "" {
			v.SetString(texts())
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		if v.Type().PkgPath() == "" {
			v.SetInt(3)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(texts()))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), texts)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), texts)
	case reflect.Struct:
		for i := range v.NumField() {
			if words := v.Type().Field(i).Tag.Get("enum"); words != "" {
				v.Field(i).SetString(strings.Split(words, ",")[0])
			} else if v.Field(i).CanSet() {
				fill(v.Field(i), texts)
			}
		}
	}
}

func filled[T any](texts func() string) T {
	var out T
	fill(reflect.ValueOf(&out).Elem(), texts)
	return out
}

func release(texts func() string) *repo.Release {
	return &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: texts()}, Version: texts()}
}

var paths = []string{"%s", "/%s/%s", "https://%s/%s", "repo/infrastructure-acme/v1.0.0/%s", "../%s"}

func lintReport(texts func() string) *lint.Report {
	r := &lint.Report{Files: 3, Releases: 2, Providers: 1, Failures: []error{errors.New(texts()), errors.New(texts() + "\n" + texts())}}
	for i, path := range paths {
		// What rules say is ours; the rest is not.
		rule := &lint.Rule{ID: "TEST00" + strconv.Itoa(i), Name: "test", Title: "title", Severity: lint.Severity(1 + i%3), Proof: lint.Practice, Source: "source", Why: "why", Fix: "fix"}
		f := lint.Finding{
			Rule: rule, Severity: rule.Severity, File: strings.ReplaceAll(path, "%s", texts()), Object: texts(), Message: texts(), Way: texts(), Fix: texts(), Evidence: []string{texts(), texts()},
			Source: "  a: " + texts(), Pos: yamldoc.Pos{Line: 1 + i, Column: 4}, End: yamldoc.Pos{Line: 1 + i, Column: 9}, Fingerprint: fmt.Sprintf("%032x", i),
			Also: []lint.Place{{File: texts(), Pos: yamldoc.Pos{Line: 1, Column: 1}, Fingerprint: "f"}},
		}
		if i == 3 {
			f.Pos, f.End = yamldoc.Pos{}, yamldoc.Pos{}
		}
		r.Findings = append(r.Findings, f)
	}
	r.Suppressed = []lint.Suppressed{{Finding: r.Findings[0], Reason: texts()}}
	return r
}

func movePlan(texts func() string) report.MovePlan {
	ns := "ns-" + texts()
	object := func(kind, name string, owner *move.Object) move.Object {
		o := move.Object{Group: "cluster.x-k8s.io", Version: texts(), Kind: kind, Namespace: ns, Name: name + texts(), UID: name}
		if owner != nil {
			o.Owners = []move.OwnerReference{{Ref: move.Ref{Group: owner.Group, Kind: owner.Kind, Name: owner.Name}, UID: owner.UID}}
		}
		return o
	}
	c := object("Cluster", "c", nil)
	gone := object("Foo", "gone", nil)
	blocked := object("Machine", "m", &c)
	blocked.Labels, blocked.Annotations = map[string]string{move.MoveLabel: ""}, map[string]string{move.BlockMoveAnnotation: ""}
	d := &move.Dump{Objects: []move.Object{c, blocked, object("Machine", "lost", &gone), object("Kind"+texts(), "odd", &c)}}
	p := move.FromDump(d, move.Options{Namespace: ns, Installed: func(string, string) (move.Type, bool) { return move.Type{}, true }})
	move.Check([]*move.Plan{p}, d)
	return report.MovePlan{Title: texts(), File: texts(), Plan: p}
}

func kinds() map[string]kindOf {
	plain := term.Style{}
	return map[string]kindOf{
		"lint": {report.FindingsFormats, func(w io.Writer, format string, texts func() string) error {
			r := lintReport(texts)
			return report.WriteFindings(w, format, r, report.Options{Paint: plain, Version: "v1.0.0", Below: "sub"})
		}},
		"extension check": {report.FindingsFormats, func(w io.Writer, format string, texts func() string) error {
			r := lintReport(texts)
			r.Subject = texts()
			return report.WriteFindings(w, format, r, report.Options{Paint: plain})
		}},
		"images": {report.InventoryFormats, func(w io.Writer, format string, texts func() string) error {
			all := []report.Inventory[inventory.Image]{{Release: release(texts), Items: filled[[]inventory.Image](texts)}}
			return report.WriteImages(w, format, all)
		}},
		"image-checks": {report.InventoryFormats, func(w io.Writer, format string, texts func() string) error {
			return report.WriteImageChecks(w, format, filled[[]report.ImageCheck](texts))
		}},
		"move-plan": {report.InventoryFormats, func(w io.Writer, format string, texts func() string) error {
			return report.WriteMovePlans(w, format, []report.MovePlan{movePlan(texts), movePlan(texts)}, true, errors.New(texts()))
		}},
		"diff": {report.InventoryFormats, func(w io.Writer, format string, texts func() string) error {
			changes := filled[[]diff.Change](texts)
			for i := range changes {
				changes[i].Area, changes[i].Kind, changes[i].Impact = diff.Areas[i], diff.Changed, diff.Breaking
			}
			return report.WriteDiff(w, format, []report.Comparison{{Old: release(texts), New: release(texts), Changes: changes}, {New: release(texts)}})
		}},
	}
}

// pieces are what makes names and values hostile, besides any character.
var pieces = []string{
	"::error::x", "\n::stop-commands::x", "\r::add-mask::x", "\n \t::set-output name=a::b", "##[error]x", "\n##[group]x", "##vso[task.setvariable variable=a]b", "##teamcity[x]",
	"\x1b[31m", "\x1b]0;x\a", "\u009b31m", "\u0085", "\u0090", "\x00", "\x08", "\x7f", "\u202e", "\u2066", "\u2069", "\u200b", "\ufeff", "\u2028", "\u00ad", "\U000e0041",
	"\xff", "\xc3", "\xed\xa0\x80", "\uffff", "\ufffd",
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</noscript>", "</article>", "<!--", "-->", "]]>", "<![CDATA[", "&amp;", "&#0;", "\" onclick=\"x", "' x='", "</style>", "javascript:x",
	"|", "\\|", "`", "``` ", "\n```\n", "*x*", "__x__", "[a](https://example.org)", "![a](b)", "\n# heading", "\n- item", "\n> quote", "\n1. item", "\n\n    code", "\n---\n", "~~x~~", "$x$", "$$x$$", "@someone", "#12", "!3", "www.example.org", "https://example.org", "<https://example.org>", ":100:", "[x]: y", "\n|---|\n",
	"\n  end\n", "click a href \"x\"", "\"]", "\"; x [", "-->|x|", "#quot;", ":::bad", "\n---\ntitle: x\n---\n",
	"%0A::error::x", "%25", "%0D", "file=x,line=1", "{0}", "${A:=b}", "\t", " ", "\r\n", "\n", "\\", "\\n", "\\u0000", "é漢🙂",
}

// hostileTexts returns a source of texts; each has something that can be seen, and no
// two are the same, as equal names are shown once.
func hostileTexts(seed int64) func() string {
	r := rand.New(rand.NewSource(seed))
	seen := map[string]bool{}
	text := func() string {
		var b strings.Builder
		b.WriteByte("xX_"[r.Intn(3)])
		for range 1 + r.Intn(4) {
			switch r.Intn(8) {
			case 0:
				b.WriteRune(rune(r.Intn(0x250)))
			case 1:
				b.WriteByte(byte(r.Intn(256)))
			case 2:
				b.WriteRune(rune(r.Intn(unicode.MaxRune)))
			default:
				b.WriteString(pieces[r.Intn(len(pieces))])
			}
		}
		return b.String()
	}
	return func() string {
		for {
			if s := text(); !seen[s] {
				seen[s] = true
				return s
			}
		}
	}
}

// written returns a document as the program prints it.
func written(t *testing.T, d kindOf, format string, texts func() string) string {
	t.Helper()
	var out bytes.Buffer
	env := cli.NewEnv(cli.IO{Out: &out, Err: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }})
	to := cli.Outputs{All: []cli.Output{{Format: format}}}
	given.NoError(t, env.Write(&to, func(w io.Writer, format string, _ term.Style) error { return d.write(w, format, texts) }))
	given.NoError(t, env.Text.Flush())
	return out.String()
}

// obeyed returns a part of an output that a terminal or a CI system could take for a
// command. In annotations the commands are ours.
func obeyed(text string, annotations bool) string {
	if !utf8.ValidString(text) {
		return "not UTF-8"
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if annotations {
			if m := command.FindStringSubmatch(line); m != nil {
				line = m[1] + " " + m[2]
			}
		}
		if strings.HasPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::") || hashes.MatchString(line) {
			return line
		}
		for _, r := range line {
			if r != '\t' && !unicode.IsPrint(r) {
				return line
			}
		}
	}
	return ""
}

var (
	// command is one of ours (actions/runner: ActionCommand.TryParseV2).
	command = regexp.MustCompile(`^::(?:error|warning|notice)(?: ((?:(?:file|title|line|endLine|col|endColumn)=[^:,]*,?)+))?::(.*)$`)
	hashes  = regexp.MustCompile(`##[a-z]*\[`)
)

// structure is what a reader makes of a document apart from its texts. It is the
// same whatever the texts are.
func structure(t *testing.T, format, text string) []string {
	t.Helper()
	var out []string
	switch format {
	case "json", "sarif":
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v in %.3000q", format, err, text)
		}
		return keys(nil, "", v)
	case "junit", "html":
		d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>\n")))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v in %.3000q", format, err, text)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local != "code" { // advice has backticks
				names := e.Name.Local
				for _, a := range e.Attr {
					names += " " + a.Name.Local
					if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
						t.Fatalf("%s: %s=%q", format, a.Name.Local, a.Value)
					}
				}
				out = append(out, names)
			}
		}
	case "markdown":
		for line := range strings.Lines(text) {
			out = append(out, marks(line))
		}
	default:
		return []string{strconv.Itoa(strings.Count(text, "\n")) + " lines"}
	}
	return out
}

var (
	escapes  = regexp.MustCompile("<code>[^<`]*</code>|<span>[$]</span>|[@#!.:]&#8203;|&#[0-9]+;")
	codeSpan = regexp.MustCompile("`+")
)

// keys are the names in a JSON value, with the kinds of their values.
func keys(out []string, at string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			out = keys(out, at+"."+k, x)
		}
	case []any:
		for _, x := range v {
			out = keys(out, at+"[]", x)
		}
	default:
		if !strings.HasSuffix(at, ".uriBaseId") { // which absolute paths do not have
			out = append(out, fmt.Sprintf("%s %T", at, v))
		}
	}
	slices.Sort(out)
	return out
}

// marks are the characters of a line that Markdown may take for markup: not those in
// code spans or written as entities.
func marks(line string) string {
	var b strings.Builder
	for rest := line; ; {
		at := codeSpan.FindStringIndex(rest)
		if at == nil {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:at[0]])
		fence := rest[at[0]:at[1]]
		rest = rest[at[1]:]
		end := regexp.MustCompile("(?:^|[^`])" + fence + "(?:[^`]|$)").FindStringIndex(rest + "\n")
		if end == nil { // no code span
			b.WriteString(fence + rest)
			break
		}
		b.WriteString(strings.Repeat("|", strings.Count(rest[:end[0]], "|")-strings.Count(rest[:end[0]], `\|`)))
		rest = rest[end[0]:]
		rest = rest[strings.Index(rest, fence)+len(fence):]
	}
	text := escapes.ReplaceAllString(b.String(), "")
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	return indent + strings.Map(func(r rune) rune {
		if strings.ContainsRune("`*_[]<>&|~^$@#!", r) {
			return r
		}
		return -1
	}, text)
}

// TestFormats lets hostile texts through every format of every kind of document:
// none has a control character or a workflow command, and none changes its structure.
func TestFormats(t *testing.T) {
	inputs := share.Of(6, 200)
	for name, d := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := schemaNamed(t, name)
			for _, format := range d.formats {
				n := 0
				want := structure(t, format, written(t, d, format, func() string {
					n++
					return "x" + strconv.Itoa(n)
				}))
				for seed := range inputs {
					text := written(t, d, format, hostileTexts(int64(seed)))
					if problem := spoilt(t, format, text, want, schema); problem != "" {
						t.Errorf("%s, input %d: %s\n%.3000s", format, seed, problem, text)
						break
					}
				}
			}
			t.Logf("%d inputs in %d formats", inputs, len(d.formats))
		})
	}
}

// spoilt says what a text from outside did to a document.
func spoilt(t *testing.T, format, text string, want []string, schema *jsonschema.Schema) string {
	if bad := obeyed(text, format == "github"); bad != "" {
		return fmt.Sprintf("a command or control character in %q", bad)
	}
	got := structure(t, format, text)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Sprintf("part %d is %q, want %q", i, got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
		}
	}
	if schema == nil || format != "json" {
		return ""
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// schemaNamed returns the schema of a kind of document, nil if it has none.
func schemaNamed(t *testing.T, kind string) *jsonschema.Schema {
	all := root.Documents()
	i := slices.IndexFunc(all, func(d report.Document) bool { return d.Kind == kind })
	if i < 0 {
		return nil
	}
	text, err := all[i].Schema()
	given.NoError(t, err)
	return compiled(t, text)
}
