package examples

import (
	"embed"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
)

//go:embed *.txtar
var archives embed.FS

// Example shows a rule: a small repository that breaks it and the same one in
// order.
//
// It is read from an archive whose comment is the prose, followed by lines with
// instructions:
//
//	want PATH[:LINE] RULE "PATTERN"   a finding that is expected in bad
//	env NAME=VALUE                    a variable for clusterctl
//	good env NAME=VALUE               a variable for clusterctl with good only
//	oracle VERDICT "PATTERN"          how the real thing shows that the rule is right
//	as shown                          files are complete, nothing is filled in
//	source tree                       the files are source trees, as they are
//
// Instead of the first a line of a bad file may end with `# want RULE "PATTERN"`,
// which is not part of the file. A file with the ending .quoted holds a Go string
// literal, one with the ending .link the target of a symbolic link, and one with
// the ending .padded begins with a size in bytes and a text, which is repeated at
// the end on indented lines until the file has that size.
//
// A release that shows no metadata.yaml or no components gets ordinary ones, and
// so does a repository without a release.
type Example struct {
	ID, Prose string
	// Shown are the names of the files in the archive; the others were filled in.
	Shown []string
	// Source is set if the files are no repository but a source tree.
	Source bool
	// Bad and Good are the files by path, LABEL/VERSION/FILE or a file in the
	// root.
	Bad, Good Files
	Wants     []Want
	// Env are the variables that clusterctl is run with, as NAME=VALUE; GoodEnv
	// are set in addition for the good repository.
	Env, GoodEnv []string
	// Oracle is empty for a rule that neither clusterctl nor the API server
	// proves.
	Oracle Oracle
}

// Files are the files of a repository.
type Files struct {
	// Text is the content by path.
	Text map[string]string
	// Links are the targets of symbolic links by path.
	Links map[string]string
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

// Verdict says how clusterctl or the API server shows that a rule is right.
type Verdict string

// The verdicts. A refusal is an error of the command in the bad repository only,
// whose message matches the pattern; damage is output that matches it there and
// not in the good repository.
const (
	// ProviderRefuses and ProviderDamage use `generate provider` with the version
	// that the first expected finding is in.
	ProviderRefuses Verdict = "provider-refuses"
	ProviderDamage  Verdict = "provider-damage"
	// TargetDamage uses `generate provider` with another target namespace.
	TargetDamage Verdict = "target-damage"
	// RawRefuses uses `generate provider --raw`, which leaves variables alone.
	RawRefuses Verdict = "raw-refuses"
	// TemplateRefuses and TemplateDamage use `generate cluster`, and ListDamage
	// that with --list-variables.
	TemplateRefuses Verdict = "template-refuses"
	TemplateDamage  Verdict = "template-damage"
	ListDamage      Verdict = "list-damage"
	// LatestRefuses and LatestDamage use `generate provider` with a URL that says
	// latest.
	LatestRefuses Verdict = "latest-refuses"
	LatestDamage  Verdict = "latest-damage"
	// ConfigRefuses uses the clusterctl.yaml of the repository.
	ConfigRefuses Verdict = "config-refuses"
	// InitRefuses and UpgradeRefuses need a management cluster: `init`, and
	// `upgrade plan`.
	InitRefuses    Verdict = "init-refuses"
	UpgradeRefuses Verdict = "upgrade-refuses"
	// APIServerRefuses sends the objects of `generate provider` to a real API
	// server, and APIServerTemplateRefuses those of `generate cluster`, as
	// clusterctl and kubectl do: one of them is refused.
	APIServerRefuses         Verdict = "apiserver-refuses"
	APIServerTemplateRefuses Verdict = "apiserver-template-refuses"
	// MoveLeaves and MoveRefuses use `move` with the objects of the release's
	// template and components in a management cluster that is made up, with the
	// owners that controllers set. The output says of each object whether it moves.
	MoveLeaves  Verdict = "move-leaves"
	MoveRefuses Verdict = "move-refuses"
	// AdmissionRefuses creates the objects as an API server does that has the
	// definitions of Cluster API and its webhooks: one of them is refused.
	AdmissionRefuses Verdict = "admission-refuses"
	// Unproved says that no command on a folder can show it; the pattern is the
	// reason.
	Unproved Verdict = "none"
)

// Oracle is a verdict of clusterctl or the API server.
type Oracle struct {
	Verdict Verdict
	Pattern string
}

const quotedText = "(\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)"

var (
	wantComment = pattern(`[ \t]*# want ([A-Z]+[0-9]+) ` + quotedText + `[ \t]*$`)
	wantLine    = pattern(`^want (\S+?)(?::([0-9]+))? ([A-Z]+[0-9]+) ` + quotedText + `$`)
	oracleLine  = pattern(`^oracle (\S+) ` + quotedText + `$`)
)

// pattern is compiled when it is first used, which only explain does.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// IDs returns the rules that have an example, sorted.
func IDs() []string {
	entries, err := archives.ReadDir(".")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	ids := make([]string, len(entries))
	for i, entry := range entries {
		ids[i] = strings.TrimSuffix(entry.Name(), ".txtar")
	}
	return ids
}

// Load returns the example of a rule.
func Load(id string) (*Example, error) {
	data, err := archives.ReadFile(id + ".txtar")
	if err != nil {
		return nil, fmt.Errorf("rule %s has no example: %w", id, err)
	}
	e, err := parseExample(id, txtar.Parse(data))
	if err != nil {
		return nil, fmt.Errorf("example of rule %s: %w", id, err)
	}
	return e, nil
}

func parseExample(id string, a *txtar.Archive) (*Example, error) {
	e := &Example{
		ID:   id,
		Bad:  Files{map[string]string{}, map[string]string{}},
		Good: Files{map[string]string{}, map[string]string{}},
	}
	asShown, err := e.comment(string(a.Comment))
	if err != nil {
		return nil, err
	}
	for _, f := range a.Files {
		side, name, ok := strings.Cut(f.Name, "/")
		if !ok || side != "bad" && side != "good" {
			return nil, fmt.Errorf("%s: files lie in bad or good", f.Name)
		}
		if err := e.file(side, name, string(f.Data)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if !asShown {
		e.Bad.complete()
		e.Good.complete()
	}
	return e, nil
}

// comment takes the prose and the instructions apart.
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
			if err := e.want(m[1], n, m[3], m[4]); err != nil {
				return false, err
			}
		case word == "oracle":
			m := oracleLine().FindStringSubmatch(line)
			if m == nil {
				return false, fmt.Errorf("cannot read %q", line)
			}
			pattern, err := strconv.Unquote(m[2])
			if err != nil {
				return false, err
			}
			e.Oracle = Oracle{Verdict(m[1]), pattern}
		default:
			prose = append(prose, line)
		}
	}
	e.Prose = strings.TrimSpace(strings.Join(prose, "\n"))
	return asShown, nil
}

func (e *Example) want(path string, line int, rule, quoted string) error {
	pattern, err := strconv.Unquote(quoted)
	if err != nil {
		return err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	e.Wants = append(e.Wants, Want{path, line, rule, re})
	return nil
}

func (e *Example) file(side, name, data string) error {
	files := e.Good
	if side == "bad" {
		files = e.Bad
	}
	switch path.Ext(name) {
	case ".quoted":
		name = strings.TrimSuffix(name, ".quoted")
		text, err := strconv.Unquote(strings.TrimSpace(data))
		if err != nil {
			return err
		}
		data = text
	case ".padded":
		name = strings.TrimSuffix(name, ".padded")
		text, err := padded(data)
		if err != nil {
			return err
		}
		data = text
	case ".link":
		name = strings.TrimSuffix(name, ".link")
		files.Links[name] = strings.TrimSpace(data)
		e.Shown = append(e.Shown, side+"/"+name)
		return nil
	default:
		var out strings.Builder
		n := 0
		for line := range strings.Lines(data) {
			n++
			line = strings.TrimSuffix(line, "\n")
			if m := wantComment().FindStringSubmatchIndex(line); m != nil && side == "bad" {
				if err := e.want(name, n, line[m[2]:m[3]], line[m[4]:m[5]]); err != nil {
					return err
				}
				line = line[:m[0]]
			}
			out.WriteString(line + "\n")
		}
		data = out.String()
	}
	files.Text[name] = data
	e.Shown = append(e.Shown, side+"/"+name)
	return nil
}

// padded makes a file of a given size.
func padded(data string) (string, error) {
	head, text, _ := strings.Cut(data, "\n")
	var size int
	var pad string
	if _, err := fmt.Sscanf(head, "%d %q", &size, &pad); err != nil || pad == "" {
		return "", fmt.Errorf("cannot read the size in %q", head)
	}
	line := "    " + strings.Repeat(pad, 1000/len(pad)) + "\n"
	return text + strings.Repeat(line, max(0, size-len(text))/len(line)), nil
}

// complete adds what an example does not show.
func (f Files) complete() {
	releases := map[string]layouts.Provider{} // by folder
	for name := range f.Text {
		parts := strings.Split(name, "/")
		if len(parts) < 3 {
			continue
		}
		if p, err := layouts.ParseLabel(parts[0]); err == nil {
			releases[parts[0]+"/"+parts[1]] = p
		}
	}
	if len(releases) == 0 {
		releases["infrastructure-foo/v1.0.0"] = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
	}
	series := map[string][]layouts.Version{} // by label
	for dir := range releases {
		if v, err := layouts.ParseVersion(path.Base(dir)); err == nil {
			series[path.Dir(dir)] = append(series[path.Dir(dir)], v)
		}
	}
	for dir, p := range releases {
		if _, ok := f.Text[dir+"/"+layouts.MetadataFile]; !ok {
			f.Text[dir+"/"+layouts.MetadataFile] = ordinaryMetadata(series[path.Dir(dir)])
		}
		has := slices.ContainsFunc(slices.Collect(maps.Keys(f.Text)), func(name string) bool {
			return path.Dir(name) == dir && layouts.KindOfFile(path.Base(name)) == layouts.Components
		})
		if info, ok := p.Type.Info(); ok && !has {
			f.Text[dir+"/"+info.ComponentsFile] = ordinaryComponents(p.Name)
		}
	}
}

func ordinaryMetadata(versions []layouts.Version) string {
	slices.SortFunc(versions, layouts.Version.Compare)
	text := "apiVersion: " + metadata.APIVersion + "\nkind: " + metadata.Kind + "\nreleaseSeries:\n"
	before := ""
	for _, v := range versions {
		if v.Series() != before {
			text += fmt.Sprintf("- major: %d\n  minor: %d\n  contract: %s\n", v.Major(), v.Minor(), metadata.Contract)
		}
		before = v.Series()
	}
	return text
}

func ordinaryComponents(provider string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s-system\n", provider)
}

// Write puts the files into a folder.
func (f Files) Write(dir string) error {
	put := func(name string, write func(file string) error) error {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return write(file)
	}
	for name, text := range f.Text {
		if err := put(name, func(file string) error { return os.WriteFile(file, []byte(text), 0o644) }); err != nil {
			return err
		}
	}
	for name, target := range f.Links {
		if err := put(name, func(file string) error { return os.Symlink(target, file) }); err != nil {
			return err
		}
	}
	return nil
}
