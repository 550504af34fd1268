package inventory

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// References returns what Images does, and in addition, as a guess, the images
// that a release names without running them itself: in flags and variables of
// containers whose name speaks of an image, such as --rbac-proxy-image and
// RELATED_IMAGE_PROXY, and in the text that templates and ConfigMaps carry to
// machines and clusters, such as static pods. A guess names its tag or digest.
// CustomResourceDefinitions are not read, and so what is wrong in them is not an error.
func References(ctx context.Context, r *repo.Release) ([]Image, error) {
	return images(ctx, r, withoutDefinitions(ctx, r), func(s *source, found []Image, d *yamldoc.Document, root *yamldoc.Node, top bool) []Image {
		found = s.images(found, d, root, top)
		found = s.mentions(found, d, root)
		return s.texts(found, d)
	})
}

// mentions appends the images in the flags and variables of containers.
func (s *source) mentions(found []Image, d *yamldoc.Document, object *yamldoc.Node) []Image {
	eachContainer(object, true, func(object, c *yamldoc.Node, _ string, _ bool) {
		add := func(n *yamldoc.Node, value, field string) {
			img := s.image(d, n)
			img.Ref, img.Guess = value, true
			img.Repository, img.Name, img.Tag, img.Digest, img.Canonical = "", "", "", "", false
			if img.Variable == "" {
				if img.parse(); !img.plausible() {
					return
				}
			}
			img.Container, img.Field, img.Object = s.show(d, c.Get("name")), field, s.object(d, object)
			found = append(found, img)
		}
		for _, list := range [...]string{"command", "args"} {
			flag := ""
			for _, n := range c.Get(list).List() {
				if n.Kind == yamldoc.Map || n.Kind == yamldoc.List {
					continue
				}
				name, value, inline := strings.Cut(s.show(d, n), "=")
				before := flag
				flag = ""
				switch speaks := strings.HasPrefix(name, "-") && speaksOfImage(name); {
				case before != "" && !strings.HasPrefix(name, "-"):
					add(n, s.show(d, n), list+" "+before)
				case inline && speaks:
					add(n, value, list+" "+name)
				case speaks:
					flag = name
				}
			}
		}
		for _, e := range c.Get("env").List() {
			name, n := s.show(d, e.Get("name")), e.Get("value")
			if speaksOfImage(name) && n != nil && n.Kind != yamldoc.Map && n.Kind != yamldoc.List {
				add(n, s.show(d, n), "env "+name)
			}
		}
	})
	return found
}

func speaksOfImage(name string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		if word == "image" || word == "images" {
			return true
		}
	}
	return false
}

// plausible reports whether a text is more likely an image than anything else,
// such as the address of a server.
func (img *Image) plausible() bool {
	return img.Digest != "" || img.Tag != "" && strings.Contains(img.Ref, "/")
}

// texts appends the images that lines of text name: in YAML, JSON or TOML inside
// of YAML, block style or not, in scripts and in commands. A value of the object
// itself is not a text. Nor are the descriptions in a definition.
func (s *source) texts(found []Image, d *yamldoc.Document) []Image {
	if d.Root.Get("kind").Str() == "CustomResourceDefinition" {
		return found
	}
	_, runs := podTemplate(d.Root.Get("kind").Str()) // mentions knows its flags
	d.Root.Walk(func(path yamldoc.Path, n *yamldoc.Node) bool {
		if runs && !strings.Contains(n.Text(), "\n") || !strings.Contains(n.Text(), "image") && !strings.Contains(n.Text(), "/") {
			return true
		}
		if all := words(n.Text()); len(all) == 1 && all[0].text == n.Text() {
			return true // a value, not a text
		}
		start, end := s.span(d, n)
		for start < end {
			stop := end
			if i := strings.IndexByte(s.content[start:end], '\n'); i >= 0 {
				stop = start + i + 1
			}
			for _, w := range namedImages(s.content[start:stop]) {
				if img, ok := s.inText(start+w.at, w.text); ok {
					img.Field, img.Object = path.String(), s.object(d, d.Root)
					found = append(found, img)
				}
			}
			start = stop
		}
		return true
	})
	return found
}

// word is a part of a line and where it begins.
type word struct {
	at   int
	text string
}

// parts are the characters between words.
var parts = func() (set [256]bool) {
	for _, c := range []byte(" \t\r\n\"'\\,;|&=()[]{}<>`") {
		set[c] = true
	}
	return set
}()

// words takes a line apart as YAML, JSON, TOML and shells do, without comments.
// Variables stay whole.
func words(line string) (out []word) {
	from := -1
	flush := func(to int) {
		if from >= 0 && line[from:to] != ":" {
			out = append(out, word{from, line[from:to]})
		}
		from = -1
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == '$' && strings.HasPrefix(line[i:], "${") {
			if end := strings.IndexByte(line[i:], '}'); end > 0 {
				if from < 0 {
					from = i
				}
				i += end
				continue
			}
		}
		if c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			flush(i)
			return out
		}
		if parts[c] {
			flush(i)
			continue
		}
		if from < 0 {
			from = i
		}
	}
	flush(len(line))
	return out
}

// namedImages returns the words of a line that come after a word that speaks of
// an image, as in "image: nginx:1.29", and those that name an image with its
// registry, as in "ctr pull quay.io/a/b:v1".
func namedImages(line string) (out []word) {
	if !speaks(line) {
		return nil
	}
	key := ""
	for _, w := range words(line) {
		if key != "" && speaksOfImage(key) || withRegistry(w.text) {
			out = append(out, w)
		}
		key = strings.TrimSuffix(w.text, ":")
	}
	return out
}

// speaks reports whether a line can name an image at all: most cannot, and need
// not be taken apart.
func speaks(line string) bool {
	const word = "image"
	for i := range len(line) {
		switch c := line[i]; {
		case c == '/', c >= utf8.RuneSelf: // which may be a letter of the word in another case
			return true
		case c|0x20 == word[0] && i+len(word) <= len(line) && strings.EqualFold(line[i:i+len(word)], word):
			return true
		}
	}
	return false
}

// withRegistry reports whether a word is HOST/PATH:TAG or HOST/PATH@DIGEST, where
// the host has a dot or a port, and is no URL.
func withRegistry(text string) bool {
	host, path, ok := strings.Cut(text, "/")
	if !ok || strings.HasPrefix(path, "/") || !strings.ContainsAny(host, ".:") || strings.ContainsAny(host, "$@") || strings.HasPrefix(host, ".") {
		return false
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	return strings.Contains(last, ":")
}

// inText makes an image of a value in the raw file.
func (s *source) inText(at int, raw string) (Image, bool) {
	p := s.raw.Pos(at)
	img := Image{Ref: raw, Guess: true, File: s.name, Line: p.Line, Column: p.Column}
	if name, open := s.openIn(at, at+len(raw)); open {
		img.Variable = name
		return img, true
	}
	if strings.Contains(raw, "$") {
		t, err := vars.Parse([]byte(raw))
		if err != nil {
			return Image{}, false
		}
		text, err := t.Execute(func(string) (string, bool) { return "", false })
		if err != nil {
			return Image{}, false
		}
		img.Ref, img.Expression = string(text.Data), raw
	}
	if _, err := strconv.Atoi(img.Ref); err == nil {
		return Image{}, false
	}
	img.parse()
	return img, img.plausible()
}
