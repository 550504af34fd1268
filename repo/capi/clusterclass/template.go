package clusterclass

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

// functions are the names that templates in patches may call: those of
// text/template and the hermetic ones of sprig (core/webhooks/admission,
// patch_validation.go).
const functions = `and call eq ge gt html index js le len lt ne not or print printf println slice urlquery ` +
	`abbrev abbrevboth add add1 add1f addf adler32sum ago all any append atoi b32dec b32enc b64dec b64enc base bcrypt biggest ` +
	`buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains decryptAES deepCopy deepEqual default ` +
	`derivePassword dict dig dir div divf duration durationRound empty encryptAES ext fail first float64 floor fromJson genCA ` +
	`genCAWithKey genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey get has hasKey ` +
	`hasPrefix hasSuffix hello htpasswd indent initial initials int int64 isAbs join kebabcase keys kindIs kindOf last list lower ` +
	`max maxf merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact mustDateModify mustDeepCopy mustFirst ` +
	`mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll ` +
	`mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToDate ` +
	`mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify nindent nospace omit osBase osClean osDir ` +
	`osExt osIsAbs pick pluck plural prepend push quote randInt regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll ` +
	`regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver semverCompare seq set sha1sum sha256sum sha512sum ` +
	`shuffle snakecase sortAlpha split splitList splitn squote sub subf substr swapcase ternary title toDate toDecimal toJson ` +
	`toPrettyJson toRawJson toString toStrings trim trimAll trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf ` +
	`uniq unixEpoch unset until untilStep untitle upper urlJoin urlParse values without wrap wrapWith`

// Functions returns the names that templates in patches may call.
func Functions() []string { return strings.Fields(functions) }

// callable are the same names as the parser wants them.
var callable = sync.OnceValue(func() map[string]any {
	out := map[string]any{}
	for name := range strings.FieldsSeq(functions) {
		out[name] = true
	}
	return out
})

// patchTemplate is a template in a patch.
type patchTemplate struct{ trees map[string]*parse.Tree }

// main names the template that is not defined by another.
const main = "template"

// ParseTemplate reads a template as the admission of Cluster API does: only the
// names of functions count. The error has the line of the template.
func ParseTemplate(text string) (*patchTemplate, error) {
	trees, err := parse.Parse(main, text, "", "", callable())
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return &patchTemplate{trees}, nil
}

// Variables calls visit with the path of every value of the root that the
// template reads: [builtin cluster name], [region]. Sure is false where the dot
// may stand for something else than the root: inside range, with, and templates
// that are called. Whole is true if the template also reads the root as such, so
// that any variable may be in use.
func (t *patchTemplate) Variables(visit func(path []string, sure bool)) (whole bool) {
	for name, tree := range t.trees {
		if tree.Root != nil {
			r := reader{visit: visit, moved: name != main}
			r.read(tree.Root)
			whole = whole || r.whole
		}
	}
	return whole
}

// Reads returns the variables that a text certainly reads, with the path in them, each once;
// none if it is not a template.
func Reads(text string) (out []string) {
	if t, err := ParseTemplate(text); err == nil {
		t.Variables(func(path []string, sure bool) {
			if name := strings.Join(path, "."); sure && !slices.Contains(out, name) {
				out = append(out, name)
			}
		})
	}
	return out
}

// reader walks a template.
type reader struct {
	visit func(path []string, sure bool)
	// moved: the dot is not the root.
	moved bool
	whole bool
}

func (r *reader) read(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, c := range n.Nodes {
				r.read(c)
			}
		}
	case *parse.ActionNode:
		r.read(n.Pipe)
	case *parse.IfNode:
		r.branch(&n.BranchNode, r.moved)
	case *parse.RangeNode:
		r.branch(&n.BranchNode, true)
	case *parse.WithNode:
		r.branch(&n.BranchNode, true)
	case *parse.TemplateNode:
		r.read(n.Pipe)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				r.command(c)
			}
		}
	case *parse.ChainNode:
		r.read(n.Node)
	case *parse.FieldNode:
		r.visit(n.Ident, !r.moved)
	case *parse.VariableNode:
		switch {
		case n.Ident[0] != "$":
		case len(n.Ident) == 1:
			r.whole = true
		default:
			r.visit(n.Ident[1:], true)
		}
	case *parse.DotNode:
		r.whole = r.whole || !r.moved
	}
}

func (r *reader) branch(b *parse.BranchNode, moved bool) {
	r.read(b.Pipe)
	before := r.moved
	r.moved = moved
	r.read(b.List)
	r.moved = before
	r.read(b.ElseList)
}

// command knows the functions that take a mapping and a key.
func (r *reader) command(n *parse.CommandNode) {
	if len(n.Args) > 2 {
		if f, ok := n.Args[0].(*parse.IdentifierNode); ok {
			var mapping, key parse.Node
			switch f.Ident {
			case "index", "get", "hasKey":
				mapping, key = n.Args[1], n.Args[2]
			case "dig":
				mapping, key = n.Args[len(n.Args)-1], n.Args[1]
			}
			if s, ok := key.(*parse.StringNode); ok && root(mapping) {
				r.visit([]string{s.Text}, false)
				return
			}
		}
	}
	for _, a := range n.Args {
		r.read(a)
	}
}

func root(n parse.Node) bool {
	if v, ok := n.(*parse.VariableNode); ok {
		return len(v.Ident) == 1 && v.Ident[0] == "$"
	}
	_, dot := n.(*parse.DotNode)
	return dot
}

// What a template of names is about.
const (
	ofCluster      = "cluster"
	ofDeployment   = "machineDeployment"
	ofPool         = "machinePool"
	OfControlPlane = "kubeadmControlPlane"
)

// Render returns the name that a template makes for the values that admission
// tries it with (internal/topology/names).
func (n Naming) Render(text string) (string, error) {
	of := "topology"
	if n.Of == OfControlPlane {
		of = "kubeadmcontrolplane"
	}
	return n.execute(text, "cluster", of, "abcde")
}

// Name returns the name that the topology controller gives an object of a cluster;
// topology is the name of workers in the Cluster. Random stands for the five characters
// that it makes up.
func (n Naming) Name(cluster, topology, random string) (string, error) {
	text := n.Template.Str()
	if text == "" {
		text = "{{ .cluster.name }}-{{ .random }}"
		if n.Of != ofCluster {
			text = "{{ .cluster.name }}-{{ ." + n.Of + ".topologyName }}-{{ .random }}"
		}
	}
	return n.execute(text, cluster, topology, random)
}

// longest is the length of names, of which Cluster API keeps some characters of its own.
const longest = 63

func (n Naming) execute(text, cluster, of, random string) (string, error) {
	data := map[string]any{"cluster": map[string]any{"name": cluster}, "random": random}
	switch n.Of {
	case ofDeployment, ofPool:
		data[n.Of] = map[string]any{"topologyName": of}
	case OfControlPlane:
		data[n.Of] = map[string]any{"name": of}
	}
	t, err := template.New("template").Option("missingkey=error").Parse(text)
	if err == nil {
		var out bytes.Buffer
		if err = t.Execute(&out, data); err == nil {
			if name := out.String(); len(name) <= longest {
				return name, nil
			}
			return Generated(out.String(), random), nil
		}
	}
	return "", fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "template: "))
}

// Generated returns a name that begins with a prefix, as far as that fits, and ends with
// random characters (SimpleNameGenerator).
func Generated(prefix, random string) string {
	return prefix[:min(len(prefix), longest-len(random))] + random
}
