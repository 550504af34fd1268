// Site prepares the documents for the generator of the web site: one page for
// each rule, links out of docs led to the repository, the README as the first
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
	s := site{root: os.DirFS(root), pages: map[string]string{}, rules: map[string]string{}}
	for from := range pages {
		s.pages[from] = address(from)
	}
	for from, text := range pages {
		if strings.HasPrefix(from, "docs/rules/") {
			for _, id := range heading.FindAllStringSubmatch(text, -1) {
				s.rules[strings.ToLower(id[1])] = "rules/" + id[1] + ".md"
			}
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
	kinds := []string{".md", ".png", ".css"} // all but pages are copied as they are
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
	rules map[string]string // address by anchor
}

var (
	heading = regexp.MustCompile(`(?m)^## ([A-Z]+\d{3})$`)
	bold    = regexp.MustCompile(`^\*\*.*?\*\*`)
)

// split makes a page for each rule of a family, and leaves a list of them.
func (s *site) split(from, text string) map[string]string {
	to := address(from)
	at := heading.FindAllStringSubmatchIndex(text, -1)
	if !strings.HasPrefix(from, "docs/rules/") || len(at) == 0 {
		return map[string]string{to: text}
	}
	pages := map[string]string{}
	list := strings.TrimSpace(text[:at[0][0]]) + "\n\n"
	family, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		id, body := text[m[2]:m[3]], strings.TrimSpace(text[m[1]:end])
		title := strings.Trim(bold.FindString(body), "*")
		body = strings.TrimSpace(bold.ReplaceAllString(body, "")) // it is the heading of the page
		pages["rules/"+id+".md"] = fmt.Sprintf("# %s: %s\n\n%s\n\nFamily [%s](%s)\n", id, title, body, family, from[strings.LastIndexByte(from, '/')+1:])
		list += fmt.Sprintf("- [%s](%s#%s): %s\n", id, path.Base(from), strings.ToLower(id), title)
	}
	pages[to] = list
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
	if rule, isRule := s.rules[anchor]; isRule && (name == "docs/rules.md" || strings.HasPrefix(name, "docs/rules/")) {
		page, ok, anchor = rule, true, ""
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
