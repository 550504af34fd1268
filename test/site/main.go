// Site prepares the documents for the generator of the web site: one page for
// each rule and each command, links out of docs led to the repository, the README as the first
// page.
//
//	go run ./test/site OUT
//
// It must not know how the pages will look.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// source is where links out of the documents go.
const source = "https://github.com/clusterctl-repo/clusterctl-repo"

// moved are pages outside docs, by what they are called on the site.
var moved = map[string]string{
	"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "examples/README.md": "examples.md",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: site OUT")
		os.Exit(2)
	}
	if err := run(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run writes the pages of the project at root below out.
func run(root, out string) error {
	pages, err := collect(root)
	if err != nil {
		return err
	}
	s := site{root: os.DirFS(root), pages: map[string]string{}, parts: map[string]string{}}
	for from := range pages {
		s.pages[from] = address(from)
	}
	for from, text := range pages {
		for _, one := range s.partsOf(from, text) {
			s.parts[one.anchor()] = one.address
		}
	}
	for from, text := range pages {
		for to, page := range s.split(from, text) {
			if path.Ext(from) == ".md" {
				page = s.rewrite(from, to, page)
			}
			file := filepath.Join(out, filepath.FromSlash(to))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(page), 0o644)); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect reads the pages, by their path in the project.
func collect(root string) (map[string]string, error) {
	pages := map[string]string{}
	read := func(name string) error {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		pages[name] = string(data)
		return err
	}
	for name := range moved {
		if err := read(name); err != nil {
			return nil, err
		}
	}
	kinds := []string{".md", ".png", ".css", ".js"} // all but pages are copied as they are
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains(kinds, path.Ext(name)) {
			err = read(name)
		}
		return err
	})
	return pages, err
}

// address is the path of a page on the site.
func address(from string) string {
	if to, ok := moved[from]; ok {
		return to
	}
	return strings.TrimPrefix(from, "docs/")
}

type site struct {
	root  fs.FS
	pages map[string]string // address by path in the project
	parts map[string]string // address by anchor
}

// part is a section of a document that has a page of its own.
type part struct {
	name, body, address string
	start, end          int // in the document
}

// anchor leads to the section in the document.
func (p part) anchor() string { return strings.ReplaceAll(strings.ToLower(p.name), " ", "-") }

var (
	section = regexp.MustCompile(`(?m)^## (.*)$`)
	rule    = regexp.MustCompile(`^[A-Z]+\d{3}$`)
	bold    = regexp.MustCompile(`^\*\*.*?\*\*`)
	// sentence is the first one of a text.
	sentence = regexp.MustCompile(`(?s)^.*?\.\s`)
)

const (
	commands = "docs/commands.md"
	program  = "clusterctl-repo "
)

// partsOf returns the rules of a family, or the commands.
func (s *site) partsOf(from, text string) []part {
	var out []part
	at := section.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		p := part{name: text[m[2]:m[3]], start: m[0], end: len(text)}
		if i+1 < len(at) {
			p.end = at[i+1][0]
		}
		p.body = strings.TrimSpace(text[m[1]:p.end])
		switch {
		case strings.HasPrefix(from, "docs/rules/") && rule.MatchString(p.name):
			p.address = "rules/" + p.name + ".md"
		case from == commands && strings.HasPrefix(p.name, program):
			p.address = "commands/" + strings.ReplaceAll(p.name[len(program):], " ", "-") + ".md"
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}

// split gives each part a page, and leaves a list of them in the place of the parts,
// which follow each other.
func (s *site) split(from, text string) map[string]string {
	parts := s.partsOf(from, text)
	if len(parts) == 0 {
		return map[string]string{address(from): text}
	}
	pages := map[string]string{}
	list := text[:parts[0].start]
	family, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	for _, p := range parts {
		title, heading, body := strings.Trim(bold.FindString(p.body), "*"), p.name, p.body
		if title != "" { // a rule: its title is the heading of the page
			heading += ": " + title
			body = strings.TrimSpace(bold.ReplaceAllString(body, ""))
		} else {
			title = strings.ReplaceAll(sentence.FindString(body), "\n", " ")
		}
		pages[p.address] = fmt.Sprintf("# %s\n\n%s\n\nSee [%s](%s).\n", heading, body, family, path.Base(from))
		list += fmt.Sprintf("- [%s](%s#%s): %s\n", p.name, path.Base(from), p.anchor(), strings.TrimSpace(title))
	}
	pages[address(from)] = list + "\n" + text[parts[len(parts)-1].end:]
	return pages
}

var (
	fenced = regexp.MustCompile("(?ms)^( *)```([^\n]*)\n.*?^ *```$")
	inline = regexp.MustCompile(`(\]\()([^)\s]+)(\))`)
)

// rewrite leads the links of a page to their new places and takes the options
// of code blocks away.
func (s *site) rewrite(from, to, text string) string {
	var b strings.Builder
	last := 0
	for _, m := range fenced.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(s.links(from, to, text[last:m[0]]))
		language, _, _ := strings.Cut(text[m[4]:m[5]], " ")
		b.WriteString(text[m[0]:m[4]] + language + text[m[5]:m[1]])
		last = m[1]
	}
	b.WriteString(s.links(from, to, text[last:]))
	return b.String()
}

func (s *site) links(from, to, text string) string {
	return inline.ReplaceAllStringFunc(text, func(link string) string {
		m := inline.FindStringSubmatch(link)
		return m[1] + s.target(from, to, m[2]) + m[3]
	})
}

// target is where a link of a page leads on the site.
func (s *site) target(from, to, link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") || strings.HasPrefix(link, "mailto:") {
		return link
	}
	file, anchor, _ := strings.Cut(link, "#")
	name := path.Join(path.Dir(from), file)
	page, ok := s.pages[name]
	if own := s.parts[anchor]; own != "" && (name == commands || name == "docs/rules.md" || strings.HasPrefix(name, "docs/rules/")) {
		page, ok, anchor = own, true, ""
	}
	if !ok {
		kind := "blob"
		if info, err := fs.Stat(s.root, name); err == nil && info.IsDir() {
			kind = "tree"
		}
		return source + "/" + kind + "/main/" + name
	}
	rel, err := filepath.Rel(filepath.FromSlash(path.Dir(to)), filepath.FromSlash(page))
	if err != nil {
		return link
	}
	if anchor != "" {
		anchor = "#" + anchor
	}
	return filepath.ToSlash(rel) + anchor
}
