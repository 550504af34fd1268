package oracle

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// mutant is a release in which one thing is changed as people change things by
// mistake: a field, a name, a label, an image, a file.
type mutant struct {
	random *rand.Rand
	files  map[string]string // by name
	name   string            // of the file that is changed
	lines  []string
	fields []member
	docs   []*yamldoc.Document
	// version is the name of the folder.
	version string
}

// member is a field of a mapping, or an element of a list if it has no key.
type member struct {
	doc   *yamldoc.Document
	path  string // metadata.labels.x
	name  string
	value *yamldoc.Node
	// first and last are the lines that hold it, counted from 0; alone says that
	// nothing else is on them.
	first, last int
	alone       bool
}

// load reads the file that is to be changed.
func (m *mutant) load() {
	text := m.files[m.name]
	m.lines = strings.Split(text, "\n")
	m.fields, m.docs = nil, nil
	f := yamldoc.NewFile(m.name, []byte(text))
	for _, d := range yamldoc.Parse(f).Docs {
		if d.Err != nil {
			continue
		}
		m.docs = append(m.docs, d)
		var walk func(n *yamldoc.Node, way []string) (last int)
		walk = func(n *yamldoc.Node, way []string) int {
			last := 0
			if n.Kind != yamldoc.Map && n.Kind != yamldoc.List {
				_, end := d.Offsets(n)
				return f.Pos(max(0, end-1)).Line - 1
			}
			last = d.Pos(n).Line - 1
			for _, e := range n.Fields() {
				if e.Merged {
					continue
				}
				here := append(slices.Clip(way), e.Name)
				at := d.Pos(e.Key())
				end := walk(e.Value, here)
				end = max(end, at.Line-1)
				m.fields = append(m.fields, member{
					doc: d, path: strings.Join(here, "."), name: e.Name, value: e.Value, first: at.Line - 1, last: end,
					alone: strings.TrimSpace(string([]rune(m.lines[at.Line-1])[:at.Column-1])) == "" && !strings.ContainsAny(m.lines[at.Line-1][:min(at.Column, len(m.lines[at.Line-1]))], "{["),
				})
				last = max(last, end)
			}
			for _, item := range n.List() {
				last = max(last, walk(item, append(slices.Clip(way), "-")))
			}
			return last
		}
		walk(d.Root, nil)
	}
}

// pick chooses one of the fields that fit.
func (m *mutant) pick(fits func(f member) bool) (member, bool) {
	var all []member
	for _, f := range m.fields {
		if fits(f) {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return member{}, false
	}
	return all[m.random.IntN(len(all))], true
}

func (m *mutant) set(lines []string) { m.files[m.name] = strings.Join(lines, "\n") }

// remove takes lines out.
func (m *mutant) remove(first, last int) {
	m.set(slices.Delete(slices.Clone(m.lines), first, last+1))
}

// write puts a text in the place of a scalar.
func (m *mutant) write(f member, text string) bool {
	if f.value == nil || f.value.Kind == yamldoc.Map || f.value.Kind == yamldoc.List || f.value.Style == yamldoc.Block || f.doc.Derived() {
		return false
	}
	start, end := f.doc.Offsets(f.value)
	if start == end {
		return false
	}
	old := m.files[m.name]
	m.files[m.name] = old[:start] + text + old[end:]
	return true
}

func scalar(f member) bool {
	return f.value != nil && f.value.Kind != yamldoc.Map && f.value.Kind != yamldoc.List
}

func named(names ...string) func(member) bool {
	return func(f member) bool { return slices.Contains(names, f.name) }
}

func at(suffix string) func(member) bool {
	return func(f member) bool { return f.path == suffix || strings.HasSuffix(f.path, "."+suffix) }
}

func both(a, b func(member) bool) func(member) bool {
	return func(f member) bool { return a(f) && b(f) }
}

func kindOf(d *yamldoc.Document) string { return d.Root.Get("kind").Str() }

func in(kinds ...string) func(member) bool {
	return func(f member) bool { return slices.Contains(kinds, kindOf(f.doc)) }
}

// rewrite is a mutation that writes a text over a scalar that fits.
func rewrite(fits func(member) bool, text func(old string) string) func(*mutant) bool {
	return func(m *mutant) bool {
		f, ok := m.pick(both(scalar, fits))
		return ok && m.write(f, text(f.value.Text()))
	}
}

func to(text string) func(string) string { return func(string) string { return text } }

// drop removes a field that fits.
func drop(fits func(member) bool) func(*mutant) bool {
	return func(m *mutant) bool {
		f, ok := m.pick(func(f member) bool { return f.alone && fits(f) })
		if ok {
			m.remove(f.first, f.last)
		}
		return ok
	}
}

// put adds a line above a field that fits, with its indentation.
func put(fits func(member) bool, line string) func(*mutant) bool {
	return func(m *mutant) bool {
		f, ok := m.pick(func(f member) bool { return f.alone && fits(f) })
		if !ok {
			return false
		}
		old := m.lines[f.first]
		indent := old[:len(old)-len(strings.TrimLeft(old, " "))]
		m.set(slices.Insert(slices.Clone(m.lines), f.first, indent+line))
		return true
	}
}

// text changes the first place of a text from a random one on.
func text(from, into string) func(*mutant) bool {
	return func(m *mutant) bool {
		all := m.files[m.name]
		n := strings.Count(all, from)
		if n == 0 {
			return false
		}
		off := 0
		for range m.random.IntN(n) {
			off += strings.Index(all[off:], from) + len(from)
		}
		i := off + strings.Index(all[off:], from)
		m.files[m.name] = all[:i] + into + all[i+len(from):]
		return true
	}
}

// more adds documents at the end.
func more(document string) func(*mutant) bool {
	return func(m *mutant) bool {
		m.files[m.name] = strings.TrimRight(m.files[m.name], "\n") + "\n---\n" + document + "\n"
		return true
	}
}

func anyField(member) bool { return true }

// faults are the mutations by name. Each changes one thing and reports whether
// there was such a thing.
var faults = map[string]func(*mutant) bool{
	"drop a field":       drop(anyField),
	"rename a field":     func(m *mutant) bool { return rename(m) },
	"duplicate a field":  func(m *mutant) bool { return duplicate(m) },
	"null":               rewrite(anyField, to("null")),
	"empty text":         rewrite(anyField, to(`""`)),
	"a number":           rewrite(anyField, to("7")),
	"a boolean":          rewrite(anyField, to("true")),
	"a list":             rewrite(anyField, to("[a]")),
	"a mapping":          rewrite(anyField, to("{a: b}")),
	"a text":             rewrite(func(f member) bool { return f.value.Kind != yamldoc.String }, func(old string) string { return `"` + old + `"` }),
	"no quotes":          rewrite(func(f member) bool { return f.value.Style == yamldoc.Quoted }, func(old string) string { return strings.ReplaceAll(old, "\n", " ") }),
	"a large number":     rewrite(func(f member) bool { return f.value.Kind == yamldoc.Int }, to("3000000000")),
	"a fraction":         rewrite(func(f member) bool { return f.value.Kind == yamldoc.Int }, to("1.5")),
	"a yes":              rewrite(anyField, to("yes")),
	"drop a document":    func(m *mutant) bool { return document(m, "") },
	"twice the document": func(m *mutant) bool { return document(m, "twice") },
	"a list of objects":  func(m *mutant) bool { return document(m, "list") },
	"no separator":       func(m *mutant) bool { return separator(m, "") },
	"text at separator":  func(m *mutant) bool { return separator(m, "--- a: b") },

	"no apiVersion":                drop(both(named("apiVersion"), func(f member) bool { return f.path == "apiVersion" })),
	"another version":              rewrite(func(f member) bool { return f.path == "apiVersion" }, func(old string) string { return path.Dir(old) + "/v1beta7" }),
	"an old version":               rewrite(func(f member) bool { return f.path == "apiVersion" }, func(old string) string { return path.Dir(old) + "/v1beta1" }),
	"another group":                rewrite(func(f member) bool { return f.path == "apiVersion" }, func(old string) string { return "example.com/" + path.Base(old) }),
	"no kind":                      drop(func(f member) bool { return f.path == "kind" }),
	"another kind":                 rewrite(func(f member) bool { return f.path == "kind" }, func(old string) string { return old + "X" }),
	"Deployment":                   rewrite(func(f member) bool { return f.path == "kind" }, to("Deployment")),
	"no name":                      drop(at("metadata.name")),
	"another name":                 rewrite(func(f member) bool { return f.path == "metadata.name" }, func(old string) string { return old + "-x" }),
	"another namespace":            rewrite(at("metadata.namespace"), to("kube-system")),
	"no namespace":                 drop(at("metadata.namespace")),
	"second Namespace":             more("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: second"),
	"no Namespace":                 func(m *mutant) bool { return dropKind(m, "Namespace") },
	"Namespace without":            drop(both(in("Namespace"), named("name"))),
	"label a number":               rewrite(func(f member) bool { return strings.Contains(f.path, "metadata.labels.") }, to("5")),
	"annotation a list":            rewrite(func(f member) bool { return strings.Contains(f.path, "metadata.annotations.") }, to("[a]")),
	"no labels":                    drop(at("metadata.labels")),
	"provider label":               rewrite(named("cluster.x-k8s.io/provider"), to("infrastructure-other")),
	"contract label":               rewrite(named("cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"), to("v9")),
	"no contract label":            drop(named("cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2")),
	"short image":                  rewrite(named("image"), to("controller:latest")),
	"image without host":           rewrite(named("image"), to("docker.io/nginx:1")),
	"upper-case image":             rewrite(named("image"), func(old string) string { return strings.ToUpper(old) }),
	"image with a plus":            rewrite(named("image"), func(old string) string { return old + "+x" }),
	"image of a required variable": rewrite(named("image"), to("${SOME_IMAGE}")),
	"replicas a text":              rewrite(named("replicas"), to(`"3"`)),
	"env a number":                 rewrite(both(named("value"), func(f member) bool { return strings.Contains(f.path, "env.") }), to("1")),
	"port a text":                  rewrite(named("containerPort", "port"), to(`"443"`)),
	"inject-ca-from":               rewrite(named("cert-manager.io/inject-ca-from"), to("serving-cert")),
	"inject with slashes":          rewrite(named("cert-manager.io/inject-ca-from"), to("a/b/c")),
	"dnsNames a text":              put(at("dnsNames"), "dnsNames: svc"),
	"dnsNames numbers":             func(m *mutant) bool { return replaceValue(m, at("spec.dnsNames"), "dnsNames: [1]") },
	"subject elsewhere":            rewrite(func(f member) bool { return strings.HasPrefix(f.path, "subjects.") && f.name == "namespace" }, to("kube-system")),
	"no roleRef":                   drop(at("roleRef")),
	"subjects a mapping":           func(m *mutant) bool { return replaceValue(m, at("subjects"), "subjects: {a: b}") },
	"webhooks v2":                  rewrite(both(func(f member) bool { return f.path == "apiVersion" }, in("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition", "RoleBinding", "ClusterRoleBinding")), func(old string) string { return path.Dir(old) + "/v2" }),
	"webhooks v1beta1":             rewrite(both(func(f member) bool { return f.path == "apiVersion" }, in("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition", "RoleBinding", "ClusterRoleBinding")), func(old string) string { return path.Dir(old) + "/v1beta1" }),

	"open brace":       text("}", ""),
	"no default":       func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + "}" }) },
	"a default":        func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + ":=x}" }) },
	"an empty default": func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + ":-}" }) },
	"a lower-case name": func(m *mutant) bool {
		return variable(m, func(name string) string { return "${" + strings.ToLower(name) + "}" })
	},
	"a nested variable": func(m *mutant) bool {
		return variable(m, func(name string) string { return "${" + name + ":-${OTHER}}" })
	},
	"a dot in a name":      func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + ".x}" }) },
	"a dash as in bash":    func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + "-x}" }) },
	"spaces":               func(m *mutant) bool { return variable(m, func(name string) string { return "${ " + name + " }" }) },
	"spaces and a default": func(m *mutant) bool { return variable(m, func(name string) string { return "${ " + name + " :=x}" }) },
	"a negative length":    func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + ":1:-1}" }) },
	"a default in quotes":  func(m *mutant) bool { return variable(m, func(name string) string { return `"${` + name + `:-""}"` }) },
	"a variable":           rewrite(anyField, to("${SOME_VALUE}")),
	"a comment":            put(anyField, "# see ${SOMETHING"),

	"a tab":           put(anyField, "\t"),
	"an odd byte":     put(anyField, "# \xff"),
	"a NUL":           put(anyField, "# \x00"),
	"unknown alias":   rewrite(anyField, to("*unknown")),
	"a bad anchor":    rewrite(anyField, to("&a")),
	"bad indentation": func(m *mutant) bool { return indent(m) },
	"a null key":      put(anyField, "~: x"),
	"infinity":        rewrite(anyField, to(".inf")),

	"an escape of JSON":          rewrite(anyField, func(old string) string { return `"https:\/\/` + plainOf(old) + `"` }),
	"an escaped DEL":             rewrite(anyField, func(old string) string { return `"` + plainOf(old) + `\x7f"` }),
	"an escaped C1 control":      rewrite(anyField, to(`"\x80"`)),
	"an escaped noncharacter":    rewrite(anyField, to(`"\uFFFE"`)),
	"half a surrogate":           rewrite(anyField, to(`"\ud83d\ude00"`)),
	"an escaped zero":            rewrite(anyField, to(`"a\0b"`)),
	"an escaped line":            rewrite(anyField, to(`"a\Nb\Lc\Pd\_e"`)),
	"DEL in a key":               put(anyField, `"odd\x7f": x`),
	"a long key":                 put(anyField, strings.Repeat("k", 1023)+": x"),
	"a longer key":               put(anyField, strings.Repeat("k", 1025)+": x"),
	"a key of HTML":              put(anyField, strings.Repeat("<", 172)+": x"),
	"a key of less HTML":         put(anyField, strings.Repeat("&", 168)+": x"),
	"an explicit key":            put(anyField, "? odd\n"),
	"a list as a key":            put(anyField, "[a, b]: x"),
	"a BOM in a line":            text("\n", "\n\ufeff"),
	"a BOM in a value":           text(": ", ": \ufeff"),
	"CRLF":                       everywhere("\n", "\r\n"),
	"a CR":                       text("\n", "\r"),
	"a next line":                text(" ", "\u0085"),
	"a separator with a space":   text("\n---\n", "\n--- \n"),
	"a separator with a tab":     text("\n---\n", "\n---\t# x\n"),
	"a separator of four dashes": text("\n---\n", "\n----\n"),
	"a block at the separator":   text("\n---\n", "\n--- |\n"),
	"an indented separator":      text("\n---\n", "\n ---\n"),
	"an end mark":                text("\n---\n", "\n...\n"),
	"an end mark and separator":  text("\n---\n", "\n...\n---\n"),
	"two separators":             text("\n---\n", "\n---\n---\n# nothing\n---\n"),
	"a separator in a text":      rewrite(anyField, to("\"a\n---\nb\"")),
	"a comment at a value":       text("\n", " # ${x\n"),
	"a hash without a space":     rewrite(anyField, func(old string) string { return plainOf(old) + "#x" }),
	"an anchor and its alias":    anchored(func(name string) string { return "*" + name }),
	"a merge key":                put(anyField, "<<: {mergedOdd: x}"),
	"a merge key of a text":      put(anyField, "<<: x"),
	"a merge key of a list":      put(anyField, "<<: [{mergedOdd: x}, {mergedOdd: y}]"),
	"a merge key in quotes":      put(anyField, `"<<": {mergedOdd: x}`),
	"tag !!str":                  rewrite(anyField, func(old string) string { return "!!str " + plainOf(old) }),
	"tag !!int":                  rewrite(anyField, func(old string) string { return "!!int " + plainOf(old) }),
	"tag !!binary":               rewrite(anyField, to("!!binary aGVsbG8=")),
	"tag of its own":             rewrite(anyField, func(old string) string { return "!mine " + plainOf(old) }),
	"octal":                      rewrite(numeric, to("0o17")),
	"hexadecimal":                rewrite(numeric, to("0x1F")),
	"underscores":                rewrite(numeric, to("1_000")),
	"a plus":                     rewrite(numeric, to("+1")),
	"an exponent":                rewrite(numeric, to("1e3")),
	"a huge exponent":            rewrite(numeric, to("1e400")),
	"minus zero":                 rewrite(numeric, to("-0")),
	"base 60":                    rewrite(anyField, to("1:30")),
	"beyond 2^53":                rewrite(numeric, to("9007199254740993")),
	"a whole fraction":           rewrite(numeric, to("1.0")),
	"a date":                     rewrite(anyField, to("2026-01-02")),
	"single quotes":              rewrite(anyField, func(old string) string { return "'" + strings.ReplaceAll(old, "'", "''") + "'" }),
	"a quote left open":          rewrite(anyField, func(old string) string { return `"` + plainOf(old) }),
	"text after a quote":         rewrite(anyField, func(old string) string { return `"` + plainOf(old) + `" x` }),
	"a literal":                  rewrite(anyField, func(old string) string { return "|-\n                              " + plainOf(old) }),
	"a folded text":              rewrite(anyField, func(old string) string { return ">2\n                              " + plainOf(old) }),
	"two lines":                  rewrite(anyField, func(old string) string { return plainOf(old) + "\n                              b" }),
	"a colon":                    rewrite(anyField, func(old string) string { return plainOf(old) + ": x" }),
	"a reserved character":       rewrite(anyField, to("@x")),
	"a percent":                  put(anyField, "%x: y"),
	"a tab after the colon":      text(": ", ":\t"),
	"no space after the colon":   text(": ", ":"),
	"a space less":               text("\n  ", "\n "),
	"a list one deeper":          text("\n- ", "\n  - "),
	"two dollars":                rewrite(anyField, func(old string) string { return plainOf(old) + "$$" }),
	"an escaped variable":        rewrite(anyField, to("$${ESCAPED}")),
	"three dollars":              rewrite(anyField, to("$$${ESCAPED:=a}")),
	"a dollar":                   rewrite(anyField, to("$")),
	"a dollar in a key":          put(anyField, "$$odd: x"),
	"a variable as a key":        put(anyField, "${SOME_KEY}: x"),
	"a variable with a break":    put(anyField, "oddField: ${SOME_VALUE}\n                                 deep: x"),
	"a version with a break":     put(anyField, "oddField: ${KUBERNETES_VERSION}\n                                 deep: x"),
	"a variable for lines":       put(anyField, "${SOME_LINES}"),
	"replacing":                  func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + "/a/b}" }) },
	"trimming":                   func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + "#v}" }) },
	"a length":                   func(m *mutant) bool { return variable(m, func(name string) string { return "${#" + name + "}" }) },
	"upper case of a variable":   func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + "^^}" }) },
	"an empty name":              func(m *mutant) bool { return variable(m, func(name string) string { return "${}" }) },
	"two braces":                 func(m *mutant) bool { return variable(m, func(name string) string { return "${{" + name + "}}" }) },
	"a default of YAML": func(m *mutant) bool {
		return variable(m, func(name string) string { return "${" + name + ":=[a, b]}" })
	},
	"a default with a colon":   func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + ":=a: b}" }) },
	"a default with a line":    func(m *mutant) bool { return variable(m, func(name string) string { return "${" + name + ":=a\nb}" }) },
	"documents the other way":  func(m *mutant) bool { return reversed(m) },
	"a document of a number":   more("5"),
	"a document of null":       more("null"),
	"a document in braces":     more(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}}`),
	"no name but generateName": more("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: odd-"),

	"no metadata.yaml":           func(m *mutant) bool { delete(m.files, layouts.MetadataFile); return true },
	"no components":              func(m *mutant) bool { return dropFile(m, layouts.Components) },
	"another file name":          func(m *mutant) bool { return renameFile(m) },
	"no class file":              func(m *mutant) bool { return dropFile(m, layouts.ClusterClass) },
	"no v":                       func(m *mutant) bool { m.version = strings.TrimPrefix(m.version, "v"); return true },
	"no version":                 func(m *mutant) bool { m.version = "latest-build"; return true },
	"another minor":              func(m *mutant) bool { m.version = "v99.0.0"; return true },
	"series":                     inMetadata(rewrite(named("minor"), to("77"))),
	"series twice":               inMetadata(duplicateSeries),
	"no series":                  inMetadata(drop(named("releaseSeries"))),
	"contract":                   inMetadata(rewrite(named("contract"), to("v1alpha4"))),
	"odd contract":               inMetadata(rewrite(named("contract"), to("V1Beta2"))),
	"no contract":                inMetadata(drop(named("contract"))),
	"major a text":               inMetadata(rewrite(named("major"), to(`"1"`))),
	"metadata version":           inMetadata(rewrite(named("apiVersion"), to("clusterctl.cluster.x-k8s.io/v1beta1"))),
	"metadata kind":              inMetadata(rewrite(named("kind"), to("ReleaseMetadata"))),
	"a variable there":           inMetadata(rewrite(named("contract"), to("${C:=v1beta2}"))),
	"metadata with CRLF":         inMetadata(everywhere("\n", "\r\n")),
	"metadata with a BOM":        inMetadata(func(m *mutant) bool { m.files[m.name] = "\ufeff" + m.files[m.name]; return true }),
	"metadata with a document":   inMetadata(more("apiVersion: v1\nkind: ConfigMap")),
	"metadata behind a document": inMetadata(func(m *mutant) bool { m.files[m.name] = "a: b\n---\n" + m.files[m.name]; return true }),
	"metadata behind a comment":  inMetadata(func(m *mutant) bool { m.files[m.name] = "# a\n---\n" + m.files[m.name]; return true }),
	"metadata in braces": inMetadata(func(m *mutant) bool {
		m.files[m.name] = `{"apiVersion":"clusterctl.cluster.x-k8s.io\/v1alpha3","kind":"Metadata","releaseSeries":[{"major":1,"minor":0,"contract":"v1beta1"}]}`
		return true
	}),
	"a minor of 1.0":       inMetadata(rewrite(named("minor"), func(old string) string { return old + ".0" })),
	"a minor of 0x":        inMetadata(rewrite(named("minor"), func(old string) string { return "0x" + old })),
	"a minor of null":      inMetadata(rewrite(named("minor"), to("null"))),
	"a contract of yes":    inMetadata(rewrite(named("contract"), to("yes"))),
	"a contract of spaces": inMetadata(rewrite(named("contract"), to(`" v1beta1"`))),
	"an alias there":       inMetadata(anchored(func(name string) string { return "*" + name })),
	"DEL there":            inMetadata(rewrite(named("contract"), to(`"v1beta1\x7f"`))),
	"a key with DEL there": inMetadata(put(anyField, `"\x7f": x`)),
	"an unknown field":     inMetadata(put(anyField, "odd: {x: 1}")),
	"another case":         inMetadata(rename),
	"another class": rewrite(both(in("Cluster"), func(f member) bool {
		return strings.HasSuffix(f.path, "classRef.name") || strings.HasSuffix(f.path, "topology.class")
	}), to("nowhere")),
	"class for classRef": func(m *mutant) bool { return replaceValue(m, at("spec.topology.classRef"), "class: foo") },
	"Cluster replicas":   rewrite(both(in("Cluster"), named("replicas")), to(`"2"`)),
	"Cluster paused":     put(both(in("Cluster"), at("spec.topology")), `paused: "no"`),
}

// plainOf is a text of one line for a scalar in any style.
func plainOf(old string) string {
	line, _, _ := strings.Cut(old, "\n")
	return strings.NewReplacer(`"`, "", `\`, "").Replace(line)
}

func numeric(f member) bool { return f.value.Kind == yamldoc.Int || f.value.Kind == yamldoc.Float }

// everywhere changes all places of a text.
func everywhere(from, into string) func(*mutant) bool {
	return func(m *mutant) bool {
		m.files[m.name] = strings.ReplaceAll(m.files[m.name], from, into)
		return true
	}
}

// anchored gives a field an anchor and adds another field that uses it.
func anchored(use func(name string) string) func(*mutant) bool {
	return func(m *mutant) bool {
		f, ok := m.pick(func(f member) bool {
			return f.alone && scalar(f) && f.first == f.last && f.value.Style != yamldoc.Block
		})
		if !ok {
			return false
		}
		name, value, found := strings.Cut(m.lines[f.first], ": ")
		if !found {
			return false
		}
		indent := name[:len(name)-len(strings.TrimLeft(name, " -"))]
		lines := slices.Clone(m.lines)
		lines[f.first] = name + ": &odd " + value
		m.set(slices.Insert(lines, f.first+1, strings.Repeat(" ", len(indent))+"oddAlias: "+use("odd")))
		return true
	}
}

// reversed turns the order of the documents around.
func reversed(m *mutant) bool {
	parts := strings.Split(strings.TrimPrefix(m.files[m.name], "---\n"), "\n---\n")
	if len(parts) < 2 {
		return false
	}
	slices.Reverse(parts)
	m.files[m.name] = strings.Join(parts, "\n---\n")
	return true
}

// inMetadata applies a mutation to metadata.yaml.
func inMetadata(f func(*mutant) bool) func(*mutant) bool {
	return func(m *mutant) bool {
		m.name = layouts.MetadataFile
		m.load()
		return f(m)
	}
}

func rename(m *mutant) bool {
	f, ok := m.pick(func(f member) bool { return f.alone })
	if ok {
		lines := slices.Clone(m.lines)
		lines[f.first] = strings.Replace(lines[f.first], f.name, f.name+"X", 1)
		m.set(lines)
	}
	return ok
}

func duplicate(m *mutant) bool {
	f, ok := m.pick(func(f member) bool { return f.alone })
	if ok {
		m.set(slices.Insert(slices.Clone(m.lines), f.last+1, m.lines[f.first:f.last+1]...))
	}
	return ok
}

func duplicateSeries(m *mutant) bool {
	m.files[m.name] = strings.TrimRight(m.files[m.name], "\n") + "\n  - {major: 1, minor: 0, contract: v1alpha9}\n"
	return true
}

func replaceValue(m *mutant, fits func(member) bool, with string) bool {
	f, ok := m.pick(func(f member) bool { return f.alone && fits(f) })
	if !ok {
		return false
	}
	old := m.lines[f.first]
	indent := old[:len(old)-len(strings.TrimLeft(old, " "))]
	m.set(slices.Replace(slices.Clone(m.lines), f.first, f.last+1, indent+with))
	return true
}

func indent(m *mutant) bool {
	f, ok := m.pick(func(f member) bool { return f.alone && f.first > 0 })
	if ok {
		lines := slices.Clone(m.lines)
		lines[f.first] = " " + lines[f.first]
		m.set(lines)
	}
	return ok
}

// document changes a document as a whole.
func document(m *mutant, how string) bool {
	if len(m.docs) < 2 {
		return false
	}
	d := m.docs[m.random.IntN(len(m.docs))]
	start, end := d.Range()
	all := m.files[m.name]
	body := strings.TrimSuffix(all[start:end], "\n")
	switch how {
	case "":
		body = ""
	case "twice":
		body += "\n---\n" + strings.TrimPrefix(body, "---\n")
	case "list":
		inner := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(body), "---\n"), "\n", "\n  ")
		body = "apiVersion: v1\nkind: List\nitems:\n- " + inner
		if start == 0 && strings.HasPrefix(all, "---") {
			body = "---\n" + body
		}
	}
	m.files[m.name] = all[:start] + body + "\n" + all[end:]
	return true
}

func dropKind(m *mutant, kind string) bool {
	for _, d := range m.docs {
		if kindOf(d) == kind {
			start, end := d.Range()
			all := m.files[m.name]
			m.files[m.name] = all[:start] + all[end:]
			return true
		}
	}
	return false
}

func separator(m *mutant, with string) bool {
	var all []int
	for i, line := range m.lines {
		if strings.TrimSpace(line) == "---" && i > 0 {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return false
	}
	lines := slices.Clone(m.lines)
	lines[all[m.random.IntN(len(all))]] = with
	m.set(lines)
	return true
}

// simple are the expressions with a name and perhaps a default.
var simple = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)[^{}]*\}`) })

// variable writes one of the expressions anew.
func variable(m *mutant, with func(name string) string) bool {
	all := m.files[m.name]
	places := simple().FindAllStringSubmatchIndex(all, -1)
	if len(places) == 0 {
		return false
	}
	p := places[m.random.IntN(len(places))]
	m.files[m.name] = all[:p[0]] + with(all[p[2]:p[3]]) + all[p[1]:]
	return true
}

func dropFile(m *mutant, kind layouts.FileKind) bool {
	for name := range m.files {
		if layouts.KindOfFile(name) == kind {
			delete(m.files, name)
			return true
		}
	}
	return false
}

func renameFile(m *mutant) bool {
	if layouts.KindOfFile(m.name) == layouts.Components {
		return false // the URL of a provider may name any file
	}
	text := m.files[m.name]
	delete(m.files, m.name)
	m.files["x-"+m.name] = text
	return true
}

// seedRelease is a release that mutants are made from.
type seedRelease struct {
	label, version string
	files          map[string]string
}

// seedReleases are the corpus and the examples, without the files that nobody
// reads.
func seedReleases(t testing.TB) []seedRelease {
	var roots []string
	if root, missing := share.FindCorpus("releases"); missing == "" {
		roots = append(roots, root)
	} else {
		t.Log(missing)
	}
	roots = append(roots, builtExamples(t))
	var out []seedRelease
	for _, root := range roots {
		dirs := given.Value(filepath.Glob(filepath.Join(root, "*", "v*")))(t)
		for _, dir := range dirs {
			s := seedRelease{label: filepath.Base(filepath.Dir(dir)), version: filepath.Base(dir), files: map[string]string{}}
			for _, name := range files(t, dir) {
				switch layouts.KindOfFile(name) {
				case layouts.Asset, layouts.Checksums:
				default:
					s.files[name] = string(bytesOf(filepath.Join(dir, name)))
				}
			}
			out = append(out, s)
		}
	}
	return out
}

// most is how large a mutated file is, in bytes: real ones have megabytes of
// CRDs, of which a few stand for all.
const most = 40 << 10

// part takes some of the documents of a large file, always those that others
// depend on.
func part(random *rand.Rand, text string) string {
	if len(text) <= most {
		return text
	}
	chunks, err := yamldoc.Split(text)
	if err != nil {
		return text
	}
	var out []string
	size := 0
	for _, i := range random.Perm(len(chunks)) {
		body := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(chunks[i].Data), "---"))
		needed := strings.Contains(body, "kind: Namespace\n") || strings.Contains(body, "kind: Deployment\n") || strings.Contains(body, "kind: Certificate\n") || strings.Contains(body, "kind: Issuer\n") || strings.Contains(body, "kind: Service\n")
		if !needed && (size+len(body) > most || len(body) > most/2) {
			continue
		}
		size += len(body)
		out = append(out, body)
	}
	return strings.Join(out, "\n---\n") + "\n"
}

// make changes one thing in a release and returns its files by path. Templates
// that have nothing to do with it are left out.
func (s seedRelease) make(random *rand.Rand, fault string) (tree map[string]string, changed string, ok bool) {
	m := &mutant{random: random, files: map[string]string{}, version: s.version}
	var templates, others []string
	for name := range s.files {
		if _, isTemplate := layouts.Flavor(name); isTemplate {
			templates = append(templates, name)
		} else {
			others = append(others, name)
		}
	}
	slices.Sort(templates)
	slices.Sort(others)
	for _, name := range others {
		m.files[name] = part(random, s.files[name])
	}
	if len(templates) > 0 {
		name := templates[random.IntN(len(templates))]
		m.files[name] = s.files[name]
	}
	var names []string
	for name := range m.files {
		if name != layouts.MetadataFile {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	m.name = names[random.IntN(len(names))]
	m.load()
	if !faults[fault](m) {
		return nil, "", false
	}
	tree = map[string]string{}
	for name, text := range m.files {
		tree[s.label+"/"+m.version+"/"+name] = text
	}
	return tree, m.name, true
}

// TestMutants changes one thing in real releases and in the examples, and demands
// that lint and clusterctl judge it alike: what clusterctl refuses is an error of
// lint in that file, and an error with the proof clusterctl is a refusal or does
// the damage.
func TestMutants(t *testing.T) {
	t.Parallel()
	a := newAgreement(t)
	seeds := seedReleases(t)
	names := sortedKeys(faults)
	if len(names) < 40 {
		t.Fatalf("only %d kinds of mutations", len(names))
	}
	random := rand.New(rand.NewPCG(*seed, 7))
	const enough = 20
	made, different := map[string]int{}, 0
	want := mutations * 3 / 2
	for tries, n := 0, 0; n < want; tries++ {
		if tries > 50*want {
			t.Fatalf("-seed %d: only %d mutants out of %d tries", *seed, n, tries)
		}
		fault := names[tries%len(names)]
		var s seedRelease
		var tree map[string]string
		var changed string
		ok := false
		for range 60 { // not every release has the thing to change
			s = seeds[random.IntN(len(seeds))]
			if tree, changed, ok = s.make(random, fault); ok {
				break
			}
		}
		if !ok {
			continue
		}
		n++
		made[fault]++
		root := write(t, tree)
		alike := t.Run(fmt.Sprint(n), func(t *testing.T) {
			if a.agree(t, root, root); t.Failed() {
				t.Errorf("-seed %d: %s in %s/%s/%s\n%s", *seed, fault, s.label, s.version, changed, kept(t, root, n))
			}
		})
		given.NoError(t, os.RemoveAll(root))
		if !alike {
			if different++; different == enough {
				t.Fatalf("-seed %d: %d disagreements; the others are left out", *seed, enough)
			}
		}
	}
	t.Logf("-seed %d: %d mutants of %d kinds in %d releases", *seed, want, len(made), len(seeds))
	for _, name := range names {
		if made[name] == 0 && len(seeds) > 10 {
			t.Errorf("no mutant has the fault %q", name)
		}
	}
}

// kept copies a release that the two sides disagree on to where it stays.
func kept(t testing.TB, root string, n int) string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("disagreement-%d", n))
	os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(root)); err != nil {
		t.Log(err)
	}
	return fmt.Sprintf("the release is in %s", dir)
}
