package recipes

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// call follows one command and returns what it prints.
func (s *shell) call(args []string, in stream, sc *scope, at Place) stream {
	program := programName(args[0])
	rest := args[1:]
	switch {
	case program == "kustomize" && len(rest) > 0 && rest[0] == "build":
		return s.kustomize(rest[1:], sc, at)
	case program == "kustomize" && len(rest) > 2 && rest[0] == "edit" && rest[1] == "set" && rest[2] == "image":
		s.setImages(rest[3:], sc, at)
		return stream{}
	case program == "go" && len(rest) > 1 && rest[0] == "tool", program == "go" && len(rest) > 1 && rest[0] == "run" && strings.Contains(rest[1], "kustomize"):
		return s.call(rest[1:], in, sc, at)
	case program == "gh" && len(rest) > 3 && rest[0] == "release" && (rest[1] == "create" || rest[1] == "upload"):
		if s.follower != nil {
			s.upload(at, operands(rest[3:])...)
		}
		return stream{}
	case strings.HasSuffix(program, ".sh"), (program == "bash" || program == "sh") && len(rest) > 0 && strings.HasSuffix(rest[0], ".sh"):
		if program == "bash" || program == "sh" {
			args = rest
		}
		s.runs(args, sc)
		return stream{}
	case (program == "kubectl" || program == "oc") && len(rest) > 0 && rest[0] == "kustomize":
		return s.kustomize(rest[1:], sc, at)
	}
	switch program {
	case "cd", "pushd":
		if dir := operands(rest); len(dir) == 1 {
			sc.dir = sc.path(dir[0])
		}
	case "cp", "mv", "install", "rsync":
		s.copies(operands(rest), sc, at, program == "mv")
	case "tee":
		for _, f := range operands(rest) {
			s.write(f, in, slices.Contains(rest, "-a"), sc, at)
		}
		return in
	case "cat":
		if files := operands(rest); len(files) > 0 {
			return stream{ok: true, from: s.paths(files, sc)}
		}
		return in
	case "make", "gmake":
		s.startMake(rest, sc)
	case "goreleaser":
		s.goreleaser()
	case "sed", "gsed":
		inPlace := slices.ContainsFunc(rest, func(a string) bool { return strings.HasPrefix(a, "-i") || a == "--in-place" })
		if s.sed(rest, sc, at, inPlace); !inPlace {
			return s.filter(program, rest, in, sc, at)
		}
	case "rm":
		s.removes(operands(rest), sc)
	case "mkdir":
		for _, dir := range operands(rest) {
			if s.follower != nil {
				s.folders[sc.path(dir)] = true
			}
		}
	case "echo", "printf":
		if strings.Contains(strings.Join(rest, " "), "kind:") { // an object, not a line between two
			return stream{ok: true, through: []string{program}}
		}
	case "chmod", "touch", "ls", "tar", "sha256sum", "docker", "git", "gsutil", "gcloud":
	case "xargs":
		command, each := repeated(rest)
		if each && s.follower != nil { // a release is made of files with names
			return s.filter(program, command, in, sc, at)
		}
		return s.call(command, in, sc, at)
	case "sudo", "env", "exec", "time", "command", "eval":
		if inner := operands(rest); len(inner) > 0 {
			return s.call(rest[slices.Index(rest, inner[0]):], in, sc, at)
		}
	default:
		return s.filter(program, rest, in, sc, at)
	}
	return stream{}
}

// repeated is the command that xargs runs, with % for the item of -I if each is set.
func repeated(args []string) (command []string, each bool) {
	item := ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := args[0]
		args = args[1:]
		if strings.HasPrefix(flag, "-I") {
			item = flag[2:]
		}
		if len(flag) == 2 && strings.Contains("IadELnPs", flag[1:]) && len(args) > 0 {
			if flag == "-I" {
				item = args[0]
			}
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return []string{"echo"}, false
	}
	command = slices.Clone(args)
	for i := range command {
		if item != "" {
			command[i] = strings.ReplaceAll(command[i], item, "%")
		}
	}
	return command, item != ""
}

// runs follows a script of the tree with its arguments.
func (s *shell) runs(args []string, sc *scope) {
	name := sc.path(args[0])
	text, ok := s.reader.file(name)
	if !ok || s.follower == nil || s.depth > maxExpansion {
		return
	}
	inner := newScope(sc.dir)
	maps.Copy(inner.vars, sc.vars)
	for i, a := range args {
		inner.vars[strconv.Itoa(i)] = a
	}
	s.depth++
	defer func() { s.depth-- }()
	s.script(name, 1, text, inner)
}

// removes forgets what was made and is removed.
func (s *shell) removes(names []string, sc *scope) {
	for _, name := range names {
		if s.follower == nil || !s.spend(Place{s.file, s.first}, 1+len(s.out.Products)/10) {
			break
		}
		name = sc.path(name)
		delete(s.folders, name)
		s.out.Products = slices.DeleteFunc(s.out.Products, func(p Product) bool { return p.To == name || strings.HasPrefix(p.To, name+"/") })
	}
}

var majorVersion = phrase.Pattern(`^v[0-9]+$`)

// programName is the program without its folder, version and mark.
func programName(arg string) string {
	if strings.HasSuffix(arg, string(markEnd)) { // $(KUSTOMIZE), whatever it is
		arg = strings.ToLower(arg[strings.LastIndex(arg, string(markStart)):])
	}
	arg, _, _ = strings.Cut(arg, "@") // go run MODULE/v5@VERSION
	if majorVersion().MatchString(path.Base(arg)) {
		arg = path.Dir(arg)
	}
	name := strings.Trim(path.Base(arg), string(markStart)+string(markEnd))
	if strings.HasPrefix(name, "kustomize") {
		return "kustomize"
	}
	return name
}

// operands are the arguments that are not flags. Flags of the programs here take
// no separate value, but for those of kustomize, which has its own function.
func operands(args []string) []string {
	var out []string
	for i, a := range args {
		if a == "--" {
			return append(out, args[i+1:]...)
		}
		if !strings.HasPrefix(a, "-") {
			out = append(out, a)
		}
	}
	return out
}

// valued are the flags of kustomize with a value, which may follow as an argument.
var valued = []string{"-o", "--output", "--load-restrictor", "--load_restrictor", "--reorder", "-e", "--env", "--helm-command", "--mount", "--network-name"}

func (s *shell) kustomize(args []string, sc *scope, at Place) stream {
	out := stream{ok: true}
	var dirs []string
	var file string
	for i := 0; i < len(args); i++ {
		flag, value, has := strings.Cut(args[i], "=")
		if !strings.HasPrefix(flag, "-") {
			dirs = append(dirs, args[i])
			continue
		}
		if !has && slices.Contains(valued, flag) && i+1 < len(args) {
			i++
			value = args[i]
		}
		switch flag {
		case "--load-restrictor", "--load_restrictor":
			out.unrestricted = strings.EqualFold(value, "LoadRestrictionsNone") || strings.EqualFold(value, "none")
		case "--reorder":
			out.unsorted = value == "none"
		case "-o", "--output":
			file = value
		}
	}
	dir := "."
	if len(dirs) > 0 {
		dir = dirs[0]
	}
	switch out.kustomize = s.real(sc.path(dir)); {
	case isUnknown(out.kustomize):
		out.bad = "the folder of the kustomization depends on " + unknownName(out.kustomize)
	case strings.HasPrefix(out.kustomize, ".."):
		out.bad = "the folder of the kustomization is outside the tree"
	}
	if file != "" {
		s.write(file, out, false, sc, at)
	}
	return out
}

func unknownName(text string) string {
	_, name, _ := strings.Cut(text, string(markStart))
	name, _, _ = strings.Cut(name, string(markEnd))
	return name
}

// setImages notes `kustomize edit set image OLD=NEW`, or NAME:TAG.
func (s *shell) setImages(args []string, sc *scope, at Place) {
	for _, a := range operands(args) {
		name, ref, ok := strings.Cut(a, "=")
		if !ok {
			name, _, _ = imageref.Split(a)
			ref = a
		}
		if !isUnknown(name) {
			s.image(Image{Place: at, Dir: s.real(sc.dir), Name: name}, ref)
		}
	}
}

// image notes an image that becomes ref.
func (s *shell) image(image Image, ref string) {
	name, tag, _ := imageref.Split(ref)
	image.Tag = tagOf(tag)
	if !isUnknown(name) && strings.Contains(name, "/") {
		image.NewName = name
	}
	s.out.Images = append(s.out.Images, image)
}

// tagged returns the name in a reference, and whether a tag follows, be it the empty one.
func tagged(ref string) (name string, ok bool) {
	name, _, _ = imageref.Split(ref)
	return name, strings.HasPrefix(ref[len(name):], ":")
}

// plainTag is a text that sed replaces and that may be the tag of an image.
var plainTag = phrase.Pattern(`^[\w.-]+$`)

// sed notes the images and pull policies that a call of sed writes, and the products
// that it changes otherwise.
func (s *shell) sed(args []string, sc *scope, at Place, inPlace bool) {
	var scripts, names []string
	for i, a := range args {
		switch {
		case i > 0 && (args[i-1] == "-e" || args[i-1] == "--expression"):
			scripts = append(scripts, a)
		case strings.HasPrefix(a, "-") || a == "":
		case len(scripts) == 0 && !slices.Contains(args, "-e"):
			scripts = append(scripts, a)
		default:
			names = append(names, s.real(sc.path(a)))
		}
	}
	for _, script := range scripts {
		if len(script) < 4 || script[0] != 's' {
			continue
		}
		parts := strings.Split(script[1:], script[1:2])
		if len(parts) < 3 {
			continue
		}
		old, new := strings.Trim(parts[1], " ^"), strings.Trim(parts[2], " ")
		if of, ok := strings.CutPrefix(old, "image: "); ok && strings.HasPrefix(new, "image:") {
			of = strings.Trim(of, ` "'`)
			if _, ok := tagged(of); ok && strings.Contains(of, "/") && !isUnknown(of) && !strings.ContainsAny(of, `*\[`) {
				old, new = of, strings.Trim(strings.TrimPrefix(new, "image:"), ` "'`)
			}
		}
		for _, file := range names {
			if !s.spend(at, 1+(len(s.out.Products)+len(s.out.Images))/10) {
				return
			}
			image := Image{Place: at, File: file}
			policy, isPolicy := strings.CutPrefix(new, "imagePullPolicy:")
			ref, isImage := strings.CutPrefix(new, "image:")
			oldName, hasTag := tagged(old)
			kind := layouts.KindOfFile(path.Base(file))
			known := kind != layouts.ClusterTemplate && kind != layouts.ClusterClass // whose images the build keeps
			switch {
			case isPolicy:
				if image.PullPolicy = strings.Trim(policy, ` "'`); !isUnknown(image.PullPolicy) {
					s.out.Images = append(s.out.Images, image)
				}
			case isImage:
				s.image(image, strings.Trim(ref, ` "'\`))
			case hasTag && strings.Contains(oldName, "/") && !strings.ContainsAny(oldName, `*\[ `):
				image.Name = oldName
				s.image(image, new)
			case plainTag().MatchString(old) && strings.Contains(tagOf(new), "{"):
				image.OldTag, image.Tag = old, tagOf(new)
				s.out.Images = append(s.out.Images, image)
			default:
				known = false
			}
			if i := slices.IndexFunc(s.out.Products, func(p Product) bool { return p.To == file }); i >= 0 &&
				!known && inPlace && s.follower != nil {
				p := &s.out.Products[i]
				if !slices.Contains(p.Through, "sed") {
					p.Through = append(slices.Clone(p.Through), "sed")
				}
				if kind != layouts.Components { // whose recipe is the place of the release
					p.Place = at
				}
			}
		}
	}
}

// copies notes what cp, mv and install copy.
func (s *shell) copies(args []string, sc *scope, at Place, move bool) {
	if len(args) < 2 {
		return
	}
	// The mode of `install -m 644` stays among the operands.
	if len(args) > 2 && strings.Trim(args[0], "01234567") == "" {
		args = args[1:]
	}
	sources, to := args[:len(args)-1], args[len(args)-1]
	dest := sc.path(to)
	info, err := fs.Stat(s.fsys, path.Clean(dest))
	for _, from := range sources {
		if from = s.real(sc.path(from)); s.follower != nil && len(s.alias) < maxNoted && s.isDir(from) {
			if s.alias[dest] = from; err == nil || strings.HasSuffix(to, "/") || len(sources) > 1 {
				delete(s.alias, dest)
				s.alias[path.Join(dest, path.Base(from))] = from
			}
			if !strings.Contains(dest, "/") || path.Base(dest) != path.Base(from) {
				s.alias[path.Join(dest, path.Base(from))] = from
			}
		}
	}
	into := err == nil && info.IsDir() || strings.HasSuffix(to, "/") || len(sources) > 1 || !strings.Contains(path.Base(to), ".") || isUnknown(path.Base(to))
	for _, from := range s.paths(sources, sc) {
		if from = s.real(from); s.follower != nil && s.isDir(from) {
			continue
		}
		target := dest
		if into && (err == nil || path.Base(from) != path.Base(dest)) {
			target = path.Join(dest, path.Base(from))
		}
		p := Product{Place: at, To: target, From: []string{from}}
		if move && s.follower != nil && s.spend(at, len(s.out.Products)/10) {
			if i := slices.IndexFunc(s.out.Products, func(q Product) bool { return q.To == from }); i >= 0 {
				p = s.out.Products[i]
				p.Place, p.To = at, target
				if j := slices.IndexFunc(s.out.Products, func(q Product) bool { return q.To == target }); j >= 0 && p.Kustomize == "" &&
					len(p.Through) > 0 && (p.From == nil || slices.Equal(p.From, []string{target})) {
					through := append(slices.Clone(s.out.Products[j].Through), p.Through...) // x > tmp; mv tmp x
					p, p.Place = s.out.Products[j], at
					p.Through = through
				}
				s.out.Products = slices.Delete(s.out.Products, i, i+1)
			}
		}
		s.product(p)
	}
}

// paths makes arguments paths of the tree. Patterns that no file of the tree
// matches are left out: they mean files that are made first, under the same name.
func (s *shell) paths(args []string, sc *scope) []string {
	var out []string
	for _, a := range args {
		if p := sc.path(a); !strings.ContainsAny(p, "*?[") {
			out = append(out, p)
		}
	}
	return out
}

// imageEntry is an entry for the images of a kustomization, as programs such as yq
// write it.
var imageEntry = phrase.Pattern(`"name": *"([^"]+)", *"newName": *"([^"]+)", *"newTag": *"([^"]+)"`)

// queries are the programs that edit the images of a kustomization as a tree.
var queries = []string{"yq", "gojq", "jq"}

// filter is any other program: what it prints comes from its input, or from the
// files of the tree among its arguments.
func (s *shell) filter(program string, args []string, in stream, sc *scope, at Place) stream {
	out := in
	for _, a := range args {
		if m := imageEntry().FindStringSubmatch(a); m != nil && slices.Contains(queries, program) && !isUnknown(m[1]) {
			s.image(Image{Place: at, Dir: s.real(sc.dir), Name: m[1]}, m[2]+":"+m[3])
		}
		if _, value, ok := strings.Cut(a, "="); ok {
			a = value
		}
		if s.follower != nil && len(s.opaque) < maxNoted && !strings.HasPrefix(a, "-") && program != "sed" &&
			program != "go" && program != "test" && program != "[" {
			s.opaque = append(s.opaque, opaque{at, program, sc.path(a)})
		}
	}
	out.through = append(slices.Clone(in.through), program)
	out.ok = true
	if in.ok {
		return out
	}
	for _, a := range operands(args) {
		if p := sc.path(a); !isUnknown(p) && fs.ValidPath(p) {
			if info, err := fs.Stat(s.fsys, p); err == nil && !info.IsDir() {
				out.from = append(out.from, p)
			}
		}
	}
	return out
}

// write notes that a stream goes to a file.
func (s *shell) write(file string, in stream, appended bool, sc *scope, at Place) {
	p := Product{Place: at, To: sc.path(file), Kustomize: in.kustomize, Unrestricted: in.unrestricted, Unsorted: in.unsorted, From: in.from, Through: in.through}
	open := slices.ContainsFunc(gap().FindAllString(p.Kustomize, -1), func(part string) bool { return !strings.Contains(p.To, part) })
	if in.bad != "" && (open || s.follower != nil) {
		s.unread(at, false, in.bad)
		return
	}
	if !appended {
		if in.ok {
			s.product(p)
		}
		return
	}
	if !in.ok || !s.spend(at, 1+len(s.out.Products)/10) {
		return
	}
	for i := range s.out.Products {
		q := &s.out.Products[i]
		if q.To != p.To {
			continue
		}
		switch {
		case q.Kustomize == "" && q.From == nil && q.Joined == nil: // text of the recipe
			p.Through = append(q.Through, p.Through...)
			q.Kustomize, q.Unrestricted, q.Unsorted, q.From, q.Through = p.Kustomize, p.Unrestricted, p.Unsorted, p.From, p.Through
		case p.Kustomize != "" || q.Kustomize != "":
			if q.Joined == nil {
				q.Joined = []Product{*q}
			}
			q.Joined = append(q.Joined, p)
			q.Kustomize, q.From = "", nil
			q.Through = append(q.Through, "cat")
		default:
			q.From = append(q.From, p.From...)
		}
		return
	}
	s.product(p)
}

func (s *shell) product(p Product) {
	if !s.spend(p.Place, 1+len(s.out.Products)/10) {
		return
	}
	p.Name, p.images = path.Base(p.To), len(s.out.Images)
	if isUnknown(p.Name) {
		if p.Kustomize != "" {
			s.unread(p.Place, false, "the name of the file depends on "+unknownName(p.Name))
		}
		return
	}
	if i := slices.IndexFunc(s.out.Products, func(q Product) bool { return q.To == p.To }); i >= 0 &&
		s.follower != nil {
		s.out.Products[i] = p
		return
	}
	if len(s.out.Products) < maxNoted {
		s.out.Products = append(s.out.Products, p)
	}
}

func (s *shell) isDir(name string) bool {
	info, err := fs.Stat(s.fsys, path.Clean(name))
	return err == nil && info.IsDir()
}
