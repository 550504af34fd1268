package recipes

import (
	"io/fs"
	"path"
	"slices"
	"strings"
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
	case (program == "kubectl" || program == "oc") && len(rest) > 0 && rest[0] == "kustomize":
		return s.kustomize(rest[1:], sc, at)
	}
	switch program {
	case "cd", "pushd":
		if dir := operands(rest); len(dir) == 1 {
			sc.dir = sc.path(dir[0])
		}
	case "cp", "mv", "install", "rsync":
		s.copies(operands(rest), sc, at)
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
	case "echo", "printf", "mkdir", "rm":
	case "sudo", "env", "exec", "time", "command", "eval", "xargs":
		if inner := operands(rest); len(inner) > 0 {
			return s.call(rest[slices.Index(rest, inner[0]):], in, sc, at)
		}
	default:
		return s.filter(program, rest, in, sc)
	}
	return stream{}
}

// programName is the program without its folder, version and mark.
func programName(arg string) string {
	if strings.HasSuffix(arg, string(markEnd)) { // $(KUSTOMIZE), whatever it is
		arg = strings.ToLower(arg[strings.LastIndex(arg, string(markStart)):])
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
		case "-o", "--output":
			file = value
		}
	}
	dir := "."
	if len(dirs) > 0 {
		dir = dirs[0]
	}
	switch out.kustomize = sc.path(dir); {
	case isUnknown(out.kustomize):
		out.bad = "the folder of the kustomization depends on " + unknownName(out.kustomize)
	case strings.HasPrefix(out.kustomize, ".."):
		out.bad = "the folder of the kustomization lies outside the tree"
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

// setImages notes `kustomize edit set image OLD=NEW`.
func (s *shell) setImages(args []string, sc *scope, at Place) {
	for _, a := range operands(args) {
		name, ref, ok := strings.Cut(a, "=")
		if !ok || isUnknown(name) {
			continue
		}
		image := Image{Place: at, Dir: sc.dir, Name: name}
		if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
			ref = ref[:i]
		}
		if !isUnknown(ref) && strings.Contains(ref, "/") {
			image.NewName = ref
		}
		s.out.Images = append(s.out.Images, image)
	}
}

// copies notes what cp, mv and install copy.
func (s *shell) copies(args []string, sc *scope, at Place) {
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
	into := err == nil && info.IsDir() || strings.HasSuffix(to, "/") || len(sources) > 1 || !strings.Contains(path.Base(to), ".") || isUnknown(path.Base(to))
	for _, from := range s.paths(sources, sc) {
		target := dest
		if into {
			target = path.Join(dest, path.Base(from))
		}
		s.product(Product{Place: at, To: target, From: []string{from}})
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

// filter is any other program: what it prints comes from its input, or from the
// files of the tree among its arguments.
func (s *shell) filter(program string, args []string, in stream, sc *scope) stream {
	out := in
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
	p := Product{Place: at, To: sc.path(file), Kustomize: in.kustomize, Unrestricted: in.unrestricted, From: in.from, Through: in.through}
	if in.bad != "" {
		s.out.Unread = append(s.out.Unread, Unread{at, in.bad})
		return
	}
	if !appended {
		if in.ok {
			s.product(p)
		}
		return
	}
	for i := range s.out.Products {
		q := &s.out.Products[i]
		if q.To != p.To || !in.ok {
			continue
		}
		switch {
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
	if in.ok {
		s.product(p)
	}
}

func (s *shell) product(p Product) {
	p.Name = path.Base(p.To)
	if isUnknown(p.Name) {
		if p.Kustomize != "" {
			s.out.Unread = append(s.out.Unread, Unread{p.Place, "the name of the file depends on " + unknownName(p.Name)})
		}
		return
	}
	s.out.Products = append(s.out.Products, p)
}
