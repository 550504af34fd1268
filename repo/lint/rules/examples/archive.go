package examples

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

//go:embed *.txtar base/*.txtar
var archives embed.FS

// Example shows a rule: a small repository that breaks it and the same one in
// order.
type Example struct {
	ID, Prose string
	// Bases are the names of the repositories that the example starts from.
	Bases []string
	// Source is set if the files are not a repository: a source tree, or with Last the
	// next release in out, and the last one in last/VERSION.
	Source, Last bool
	Bad, Good    Files
	Wants        []Want
	// Env are the variables that clusterctl is run with, as NAME=VALUE; GoodEnv
	// are set in addition for the good repository.
	Env, GoodEnv []string
	// Oracle is empty for a rule that neither clusterctl nor the API server
	// proves.
	Oracle oracle
}

// Want is an expected finding.
type Want struct {
	// Path is the file, or the folder for something that is not there.
	Path string
	// Line is 0 for a finding about the file as a whole.
	Line    int
	Rule    string
	Message *regexp.Regexp
}

// said are the places of a finding: where it is, and where else its fault shows.
func said(f *lint.Finding) []lint.Place {
	out := []lint.Place{{File: f.File, Pos: f.Pos, Rule: f.Rule, Message: f.Message}}
	for _, p := range f.Also {
		if p.Rule == nil {
			p.Rule, p.Message = f.Rule, f.Message
		}
		out = append(out, p)
	}
	return out
}

// Compare returns what of the expected findings is missing, those that were not expected,
// and the worst severity of the others.
func (e *Example) Compare(findings []lint.Finding) (missing []Want, rest []lint.Finding, worst lint.Severity) {
	type place struct{ finding, nth int }
	met, expected := map[place]bool{}, map[int]bool{}
	meets := func(w Want) bool {
		for i := range findings {
			for n, p := range said(&findings[i]) {
				if at := (place{i, n}); !met[at] && p.File == w.Path && p.Pos.Line == w.Line && p.Rule.ID == w.Rule && w.Message.MatchString(p.Message) {
					met[at], expected[i] = true, true
					worst = max(worst, findings[i].Severity)
					return true
				}
			}
		}
		return false
	}
	for _, w := range e.Wants {
		if !meets(w) {
			missing = append(missing, w)
		}
	}
	for i := range findings {
		if !expected[i] {
			rest = append(rest, findings[i])
		}
	}
	return missing, rest, worst
}

// IDs returns the rules that have an example, sorted.
func IDs() []string { return names(".") }

// bases returns the names of the repositories that examples start from, sorted.
func bases() []string { return names("base") }

func names(folder string) []string {
	entries, err := archives.ReadDir(folder)
	if err != nil {
		panic(err) // the folder is part of the program
	}
	var out []string
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ".txtar"); ok {
			out = append(out, name)
		}
	}
	return out
}

// Load returns the example of a rule. The error says what cannot be read, or which
// part of the example does not fit its base.
func Load(id string) (*Example, error) {
	data, err := archives.ReadFile(id + ".txtar")
	if err != nil {
		return nil, fmt.Errorf("rule %s has no example: %w", id, err)
	}
	e, err := parse(id, data, embedded)
	if err != nil {
		return nil, fmt.Errorf("example of rule %s: %w", id, err)
	}
	return e, nil
}

// embedded reads a base.
func embedded(name string) ([]byte, error) { return archives.ReadFile("base/" + name + ".txtar") }

// parse reads an example. Bases are read by name.
func parse(id string, data []byte, read func(base string) ([]byte, error)) (*Example, error) {
	a := txtar.Parse(data)
	e := &Example{ID: id, Bad: newFiles(), Good: newFiles()}
	asShown, err := e.comment(string(a.Comment))
	if err != nil {
		return nil, err
	}
	base, err := join(e.Bases, read)
	if err != nil {
		return nil, err
	}
	maps.Copy(e.Bad.Text, base)
	maps.Copy(e.Good.Text, base)
	for i, f := range a.Files {
		if slices.ContainsFunc(a.Files[:i], func(other txtar.File) bool { return other.Name == f.Name }) {
			return nil, fmt.Errorf("%s: the archive has this file twice", f.Name)
		}
		if path, ok := strings.CutSuffix(f.Name, ".diff"); ok {
			err = e.diff(path, base, string(f.Data))
		} else {
			err = e.file(f.Name, string(f.Data))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	compare(&e.Bad, &e.Good)
	if !asShown {
		e.Bad.complete()
		e.Good.complete()
	}
	return e, nil
}

// join returns the files of bases. A file that several have holds the objects of
// all, each once.
func join(names []string, read func(base string) ([]byte, error)) (map[string]string, error) {
	objects := map[string][]string{} // by path
	for _, name := range names {
		data, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("base %s: %w", name, err)
		}
		for _, f := range txtar.Parse(data).Files {
			for object := range strings.SplitSeq(strings.TrimSuffix(string(f.Data), "\n"), separator) {
				if !slices.Contains(objects[f.Name], object) {
					objects[f.Name] = append(objects[f.Name], object)
				}
			}
		}
	}
	out := map[string]string{}
	for path, texts := range objects {
		out[path] = strings.Join(texts, separator) + "\n"
	}
	return out, nil
}

// separator is between the objects of a file.
const separator = "\n---\n"

const quotedText = "(\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)"

var (
	wantComment = phrase.Pattern(`[ \t]*# want ([A-Z]+[0-9]+) ` + quotedText + `[ \t]*$`)
	wantLine    = phrase.Pattern(`^want (\S+?)(?::([0-9]+))? ([A-Z]+[0-9]+) ` + quotedText + `$`)
	oracleLine  = phrase.Pattern(`^oracle (\S+) ` + quotedText + `$`)
)

// comment separates the prose from the instructions.
func (e *Example) comment(text string) (asShown bool, err error) {
	var prose []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "as shown":
			asShown = true
		case line == "source tree":
			asShown, e.Source = true, true
		case line == "last release":
			asShown, e.Source, e.Last = true, true, true
		case word == "base":
			e.Bases = strings.Fields(rest)
		case word == "env":
			e.Env = append(e.Env, rest)
		case strings.HasPrefix(line, "good env "):
			e.GoodEnv = append(e.GoodEnv, strings.TrimPrefix(line, "good env "))
		case word == "want":
			m := wantLine().FindStringSubmatch(line)
			if m == nil {
				return false, fmt.Errorf("cannot read %q", line)
			}
			n, _ := strconv.Atoi(m[2])
			w, err := newWant(m[3], m[4])
			if err != nil {
				return false, err
			}
			w.Path, w.Line = m[1], n
			e.Wants = append(e.Wants, *w)
		case word == "oracle":
			m := oracleLine().FindStringSubmatch(line)
			if m == nil {
				return false, fmt.Errorf("cannot read %q", line)
			}
			pattern, err := strconv.Unquote(m[2])
			if err != nil {
				return false, err
			}
			e.Oracle = oracle{Verdict(m[1]), pattern}
		default:
			prose = append(prose, line)
		}
	}
	e.Prose = strings.TrimSpace(strings.Join(prose, "\n"))
	return asShown, nil
}

// newWant reads an expected finding without its place.
func newWant(rule, quoted string) (*Want, error) {
	pattern, err := strconv.Unquote(quoted)
	if err != nil {
		return nil, fmt.Errorf("cannot read the pattern %s: %w", quoted, err)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &Want{Rule: rule, Message: re}, nil
}

// lines adds the sides of a file that have lines of the archive.
func (e *Example) lines(path string, side mark, lines []line) {
	w := writer{path: path, side: side}
	w.show("", lines)
	e.add(side, &w)
}

// add adds what was written.
func (e *Example) add(side mark, w *writer) {
	files := e.files(side)
	files.Text[w.path] = w.String()
	files.Shown = append(files.Shown, w.shown...)
	e.Wants = append(e.Wants, w.wants...)
}

func (e *Example) files(side mark) *Files {
	if side == badOnly {
		return &e.Bad
	}
	return &e.Good
}

// diff adds a file of both sides. If it is in the base, the data are changes.
func (e *Example) diff(path string, base map[string]string, data string) error {
	text, ok := base[path]
	if !ok {
		lines, err := newLines(data, " -+")
		if err != nil {
			return err
		}
		e.lines(path, badOnly, lines)
		e.lines(path, goodOnly, lines)
		return nil
	}
	d := newDocument(text)
	if err := d.change(data); err != nil {
		return err
	}
	for _, side := range []mark{badOnly, goodOnly} {
		w := writer{path: path, side: side}
		w.document(d)
		e.add(side, &w)
	}
	return nil
}

// file adds a file as it is. Its name in the archive tells which sides have it, and
// as what.
func (e *Example) file(name, data string) error {
	if path, ok := strings.CutPrefix(name, "bad without "); ok {
		delete(e.Bad.Text, path)
		return nil
	}
	paths := map[mark]string{badOnly: name, goodOnly: name}
	if rest, ok := strings.CutPrefix(name, "good/"); ok {
		paths = map[mark]string{goodOnly: rest}
	} else if rest, ok := strings.CutPrefix(name, "bad/"); ok {
		bad, good, renamed := strings.Cut(rest, " good/")
		paths = map[mark]string{badOnly: bad}
		if renamed {
			paths[goodOnly] = good
		}
	}
	for side, name := range paths {
		ending := path.Ext(name)
		name := strings.TrimSuffix(name, ending)
		switch ending {
		case ".link":
			target := strings.TrimSpace(data)
			e.files(side).Links[name] = target
			e.files(side).Shown = append(e.files(side).Shown, fragment{Path: name, Link: target})
		case ".absent":
			delete(e.files(side).Text, name)
		case ".quoted":
			text, err := strconv.Unquote(strings.TrimSpace(data))
			if err != nil {
				return err
			}
			e.files(side).Text[name] = text
			e.files(side).Shown = append(e.files(side).Shown, fragment{Path: name, Line: 1, Text: text})
		default:
			var lines []line
			for text := range strings.Lines(data) {
				l, err := newLine(badOnly, text)
				if err != nil {
					return err
				}
				if l.mark = both; l.want != nil && paths[badOnly] == "" {
					return fmt.Errorf("a finding is expected in a file that bad does not have: %q", text)
				}
				lines = append(lines, l)
			}
			e.lines(paths[side], side, lines)
		}
	}
	return nil
}
