package text

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var variableRules = &lint.Family{Prefix: "VAR", Title: "Variables in components, templates and classes"}

// firsts returns the first use of every variable outside other expressions,
// which decides whether the variable is required.
func firsts(rs []vars.Ref) map[string]*vars.Ref {
	out := map[string]*vars.Ref{}
	for i, r := range rs {
		if r.Depth == 0 && out[r.Name] == nil {
			out[r.Name] = &rs[i]
		}
	}
	return out
}

// expression returns the text of an expression for messages.
func expression(f *lint.File, r *vars.Ref) string { return short(f.Raw.Data[r.Start:r.End]) }

// short returns the first line of a text, shortened for messages.
func short(text []byte) string {
	const most = 60
	line, _, cut := strings.Cut(string(text), "\n")
	if runes := []rune(line); len(runes) > most {
		line, cut = string(runes[:most]), true
	}
	if cut {
		line += "…"
	}
	return line
}

// lineStart returns the offset at which the line around off begins.
func lineStart(f *lint.File, off int) int { return bytes.LastIndexByte(f.Raw.Data[:off], '\n') + 1 }

// cursor tells about the lines of a text, for offsets in ascending order, so that
// a long line is read once.
type cursor struct {
	data       []byte
	start, off int
	// line counts from 1; comment says that it is one, of YAML or of a script.
	line    int
	comment bool
}

func newCursor(f *lint.File) *cursor {
	c := &cursor{data: f.Raw.Data, line: 1}
	c.look()
	return c
}

func (c *cursor) look() {
	text := bytes.TrimLeft(c.data[c.start:], " \t")
	c.comment = len(text) > 0 && text[0] == '#'
}

// to moves to the line of an offset.
func (c *cursor) to(off int) *cursor {
	skipped := c.data[c.off:max(off, c.off)]
	if i := bytes.LastIndexByte(skipped, '\n'); i >= 0 {
		c.line += bytes.Count(skipped, []byte("\n"))
		c.start = c.off + i + 1
		c.look()
	}
	c.off = max(off, c.off)
	return c
}

// syntaxHints explain what people mean by expressions that are none.
var syntaxHints = []struct {
	form func() *regexp.Regexp
	hint string
}{
	{view.Pattern(`^\$\{\w+[-+?]`), "the operators - + ? need a colon in front here"},
	{view.Pattern(`^\$\{\{`), "for another template language write $${{"},
	{view.Pattern(`^\$\{!`), "there is no indirection here"},
	{view.Pattern(`^\$\{\}`), "the name is missing"},
	{view.Pattern(`^\$\{\s+\w+\s*[^\w\s}]|^\$\{\w+\s`), "no spaces may stand around the name"},
	{view.Pattern(`^\$\{\w+/[^/]*\}`), "a replacement needs a second slash: ${A/old/new}"},
	{view.Pattern(`^\$\{\w+\[`), "there are no arrays here"},
	{view.Pattern(`^\$\{[\w.]+\}`), "a name consists of letters, digits and _"},
	{view.Pattern(`^\$\{[^}\n]*(\n|$)`), "the closing brace is missing"},
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR001", Name: "variable-syntax", Since: "v0.1.0",
	Title:    "Every ${ begins an expression that clusterctl can read",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 parse/parse.go; clusterctl client/yamlprocessor/simple_processor.go",
	Why:    "Clusterctl reads the whole file, comments and scripts included, as one text with variables. One expression it cannot read makes the file unusable, and the message names neither line nor variable.",
	Fix:    "Correct the expression, or write $${ where a literal ${ is meant.",
	Kinds:  view.Substituted, Check: variableSyntax,
})

func variableSyntax(p *lint.Pass) {
	_, bad := p.File.Template()
	if bad == nil {
		return
	}
	data := p.File.Raw.Data
	end := bad.Offset + len("${")
	for end < len(data) && data[end] != '\n' {
		end++
		if data[end-1] == '}' {
			break
		}
	}
	text := data[bad.Offset:end]
	hint := ""
	for _, h := range syntaxHints {
		if h.form().Match(text) {
			hint = ": " + h.hint
			break
		}
	}
	where := ""
	if newCursor(p.File).to(bad.Offset).comment {
		where = ", even in a comment"
	}
	p.Span(bad.Offset, end, "clusterctl cannot read %s%s%s; it says %q and refuses the whole file", short(text), where, hint, bad.Err)
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR002", Name: "variable-in-comment", Since: "v0.1.0",
	Title:    "Comments and descriptions hold no variable of their own",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/yamlprocessor/simple_processor.go, GetVariables",
	Why:    "Comments are no comments yet when clusterctl looks for variables. A variable that occurs in comments or descriptions only is asked for all the same, and clusterctl refuses to go on without a value.",
	Fix:    "Write $${NAME} there, or the name without ${}.",
	Kinds:  view.Substituted, Check: variableInComment,
})

func variableInComment(p *lint.Pass) {
	rs := view.Refs(p.File)
	if len(rs) == 0 {
		return
	}
	prose := descriptions(p.File)
	outside := map[string]bool{}
	at := newCursor(p.File)
	for _, r := range rs {
		if at.to(r.Start); !at.comment && !prose[at.line] {
			outside[r.Name] = true
		}
	}
	for name, r := range firsts(rs) {
		if !outside[name] && r.Default == "" && !p.File.IsOption(name) {
			p.Span(r.Start, r.End, "%s occurs only in comments or descriptions, and clusterctl requires a value for it", name)
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR003", Name: "not-like-bash", Since: "v0.1.0",
	Title:    "The operators :+ and :? are not used",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 funcs.go, toDefault",
	Why:    "Both mean the same as :- here. In a shell ${A:+x} gives x if A is set, here it gives the value of A; in a shell ${A:?text} stops with that text, here the text becomes the value.",
	Fix:    "Use ${A:=default}, or ${A} for a variable that must be set.",
	Kinds:  view.Substituted, Check: notLikeBash,
})

func notLikeBash(p *lint.Pass) {
	for _, r := range view.Refs(p.File) {
		switch r.Op {
		case ":+":
			p.Span(r.Start, r.End, "in %s the text %q is used when %s is not set, not when it is", expression(p.File, &r), r.Default, r.Name)
		case ":?":
			p.Span(r.Start, r.End, "%s does not fail when %s is not set: %q becomes its value", expression(p.File, &r), r.Name, r.Default)
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR004", Name: "nested-only-variable", Since: "v0.1.0",
	Title:    "A variable inside a default also occurs outside one",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/yamlprocessor/simple_processor.go, inspectVariables",
	Why:    "Clusterctl lists only variables of the outermost level. One that occurs only inside another expression is not listed and not required, and without a value nothing stands in its place, without a word.",
	Fix:    "Use the inner variable once on its own, for example in an annotation, or make it the outer one.",
	Kinds:  view.Substituted, Check: nestedOnly,
})

func nestedOnly(p *lint.Pass) {
	rs := view.Refs(p.File)
	listed := firsts(rs)
	reported := map[string]bool{}
	for _, r := range rs {
		if r.Depth == 0 || listed[r.Name] != nil || p.File.IsOption(r.Name) || reported[r.Name] {
			continue
		}
		reported[r.Name] = true
		f := lint.Spanning(p.File, r.Start, r.End, "%s occurs only inside other expressions: clusterctl does not list it, and without a value it is empty", r.Name)
		if view.IsDefault(r.Op) && r.Default != "" {
			f.Message = fmt.Sprintf("%s occurs only inside other expressions, so clusterctl does not list it", r.Name)
			f.Severity = lint.Info
		}
		p.Report(f)
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR005", Name: "empty-default", Since: "v0.1.0",
	Title:    "No default is empty",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/yamlprocessor/simple_processor.go, GetVariableMap",
	Why:    "Clusterctl takes an empty default for no default: it lists the variable as required and refuses to go on without a value.",
	Fix:    `Write ${A:=""} in a value without quotes, which gives an empty string.`,
	Kinds:  view.Substituted, Check: emptyDefault,
})

func emptyDefault(p *lint.Pass) {
	for name, r := range firsts(view.Refs(p.File)) {
		if view.IsDefault(r.Op) && r.Default == "" && !p.File.IsOption(name) {
			p.Span(r.Start, r.End, "clusterctl takes the empty default of %s for none and requires a value", expression(p.File, r))
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR006", Name: "default-not-everywhere", Since: "v0.1.0",
	Title:    "A variable has its default wherever it is used, or nowhere",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/yamlprocessor/simple_processor.go, inspectVariables",
	Why:    "The first use in the file decides whether a variable is required. If that one has a default, later uses without one become empty text when the variable is not set; if it has none, later defaults never apply.",
	Fix:    "Repeat the same default in every use, or drop it everywhere.",
	Kinds:  view.Substituted, Check: defaultNotEverywhere,
})

// defaultNotEverywhere reports each variable once.
func defaultNotEverywhere(p *lint.Pass) {
	rs := view.Refs(p.File)
	listed := firsts(rs)
	reported := map[string]bool{}
	at := newCursor(p.File)
	for _, r := range rs {
		first := listed[r.Name]
		if at.to(r.Start); first == nil || reported[r.Name] || p.File.IsOption(r.Name) || at.comment {
			continue
		}
		optional := view.IsDefault(first.Op) && first.Default != ""
		switch {
		case optional && !view.IsDefault(r.Op):
			f := lint.Spanning(p.File, r.Start, r.End, "%s is empty here if %s is not set: only other uses, such as %s in line %d, have a default",
				expression(p.File, &r), r.Name, expression(p.File, first), p.File.Raw.Pos(first.Start).Line)
			if r.Depth > 0 {
				f.Severity = lint.Warning // it may not be looked at
			}
			p.Report(f)
		case first.Default == "" && view.IsDefault(r.Op) && r.Default != "" && r.Depth == 0:
			f := lint.Spanning(p.File, r.Start, r.End, "the default in %s never applies, because %s in line %d has none and so makes the variable required",
				expression(p.File, &r), expression(p.File, first), p.File.Raw.Pos(first.Start).Line)
			f.Severity = lint.Warning
			p.Report(f)
		default:
			continue
		}
		reported[r.Name] = true
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR007", Name: "different-defaults", Since: "v0.1.0",
	Title:    "A variable has the same default everywhere",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/yamlprocessor/simple_processor.go, inspectVariables",
	Why:    "Each use falls back to its own default, while `clusterctl generate cluster --list-variables` shows only the first.",
	Fix:    "Use one default, or two variables.",
	Kinds:  view.Substituted, Check: differentDefaults,
})

func differentDefaults(p *lint.Pass) {
	first := map[string]*vars.Ref{}
	reported := map[string]bool{}
	rs := view.Refs(p.File)
	for i, r := range rs {
		if !view.IsDefault(r.Op) || p.File.IsOption(r.Name) {
			continue
		}
		switch other := first[r.Name]; {
		case other == nil:
			first[r.Name] = &rs[i]
		case strings.Trim(other.Default, `"'`) != strings.Trim(r.Default, `"'`) && !reported[r.Name]:
			reported[r.Name] = true
			p.Span(r.Start, r.End, "the default of %s is %q here and %q in line %d", r.Name, r.Default, other.Default, p.File.Raw.Pos(other.Start).Line)
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR008", Name: "function-as-default", Since: "v0.1.0",
	Title:    "The first use of a required variable has no function with arguments",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/yamlprocessor/simple_processor.go, inspectVariables",
	Why:    "Clusterctl takes the arguments of any function for a default. A variable whose first use trims, cuts or replaces is listed as optional, and without a value it becomes empty text.",
	Fix:    "Let an earlier line use the variable without a function, for example an annotation.",
	Kinds:  view.Substituted, Check: functionAsDefault,
})

func functionAsDefault(p *lint.Pass) {
	for name, r := range firsts(view.Refs(p.File)) {
		if r.Op != "" && !view.IsDefault(r.Op) && r.Default != "" && !p.File.IsOption(name) {
			p.Span(r.Start, r.End, "clusterctl lists %s as optional with the default %q, because that is the argument in %s; without a value it is empty", name, r.Default, expression(p.File, r))
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR009", Name: "negative-length", Since: "v0.1.0",
	Title:    "No substring has a negative length",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 funcs.go, toSubstr",
	Why:    "Where a shell counts from the end, clusterctl crashes with a Go stack trace.",
	Fix:    "Give the number of characters, or trim the end with ${A%pattern}.",
	Kinds:  view.Substituted, Check: negativeLength,
})

func negativeLength(p *lint.Pass) {
	crash := crashAt(p.File)
	for _, r := range view.Refs(p.File) {
		if r.Op != ":" {
			continue
		}
		_, length, _ := strings.Cut(r.ArgRaw, ":")
		n, err := strconv.Atoi(strings.TrimLeft(length, ":"))
		if err == nil && n < 0 || r.Start == crash {
			p.Span(r.Start, r.End, "clusterctl crashes on %s when %s is longer than the offset", expression(p.File, &r), r.Name)
		}
	}
}

// crashAt returns the offset of an expression that clusterctl crashes on, or -1.
func crashAt(f *lint.File) int {
	if at := f.Fault(); at != nil && strings.Contains(at.Err.Error(), "clusterctl crashes") {
		return at.Offset
	}
	return -1
}

// shellName is what a shell can export.
var shellName = view.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

var _ = variableRules.Add(lint.Rule{
	ID: "VAR010", Name: "variable-case", Since: "v0.1.0",
	Title:    "Variable names are written in upper case",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/config/reader_viper.go, Get",
	Why:    "Clusterctl looks for the upper-case name in the environment. Who exports the variable as it is listed is told that it is not set, or gets the default.",
	Fix:    "Rename the variable to upper case. If it belongs to a script, write $${name}, which leaves it to the script.",
	Kinds:  view.Substituted, Check: variableCase,
})

func variableCase(p *lint.Pass) {
	for name, r := range firsts(view.Refs(p.File)) {
		upper := strings.ToUpper(name)
		if name == upper || !shellName().MatchString(name) {
			continue
		}
		f := lint.Spanning(p.File, r.Start, r.End, "%s is required, but clusterctl looks for %s in the environment, so exporting %s does not help", name, upper, name)
		if r.Default != "" {
			f.Message = fmt.Sprintf("clusterctl looks for %s in the environment, so exporting %s changes nothing", upper, name)
			f.Severity = lint.Warning
		}
		p.Report(f)
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR011", Name: "variables-differ-by-case", Since: "v0.1.0",
	Title:    "No two variables differ only by case",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/config/reader_viper.go, Get",
	Why:    "Clusterctl does not tell upper from lower case in variables, so both get the same value.",
	Fix:    "Rename one of them.",
	Kinds:  view.Substituted, Check: differByCase,
})

func differByCase(p *lint.Pass) {
	seen := map[string]*vars.Ref{}
	reported := map[string]bool{}
	rs := view.Refs(p.File)
	for i, r := range rs {
		key := strings.ToUpper(r.Name)
		switch other := seen[key]; {
		case other == nil:
			seen[key] = &rs[i]
		case other.Name != r.Name && !reported[r.Name]:
			reported[r.Name] = true
			p.Span(r.Start, r.End, "%s and %s (line %d) are the same variable for clusterctl", r.Name, other.Name, p.File.Raw.Pos(other.Start).Line)
		}
	}
}

// takenNames tells where the value of a variable comes from that is always set.
var takenNames = map[string]string{
	"PROVIDERS":           "the list in clusterctl.yaml, if there is one, which gives an empty text",
	"IMAGES":              "the overrides in clusterctl.yaml, if there are any, which give an empty text",
	"OVERRIDESFOLDER":     "the overrides folder of clusterctl",
	"GITHUB_TOKEN":        "the user's own token",
	"GITLAB_ACCESS_TOKEN": "the user's own token",
	"HOME":                "the environment of whoever runs clusterctl",
	"PATH":                "the environment of whoever runs clusterctl",
	"PWD":                 "the environment of whoever runs clusterctl",
	"USER":                "the environment of whoever runs clusterctl",
	"LOGNAME":             "the environment of whoever runs clusterctl",
	"SHELL":               "the environment of whoever runs clusterctl",
	"HOSTNAME":            "the environment of whoever runs clusterctl",
	"LANG":                "the environment of whoever runs clusterctl",
	"TERM":                "the environment of whoever runs clusterctl",
	"KUBECONFIG":          "the environment of whoever runs clusterctl",
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR012", Name: "variable-name-taken", Since: "v0.1.0",
	Title:    "No variable has a name that is always set",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/config/reader_viper.go, Get; client/config/variables_client.go",
	Why:    "Keys of clusterctl.yaml and the variables of every shell have a value already. Clusterctl takes that one without asking: an empty text for lists such as providers, the user's own home folder or token for others.",
	Fix:    "Choose a name with the provider's name in front. If it belongs to a script, write $${NAME}.",
	Kinds:  view.Substituted, Check: nameTaken,
})

func nameTaken(p *lint.Pass) {
	seen := map[string]bool{}
	for _, r := range view.Refs(p.File) {
		if from := takenNames[strings.ToUpper(r.Name)]; from != "" && !seen[r.Name] {
			seen[r.Name] = true
			p.Span(r.Start, r.End, "the value of %s comes from %s", r.Name, from)
		}
	}
}

// wellKnown are variables that belong to no provider: those of clusterctl, and
// the switches and settings that Cluster API shares between providers.
var wellKnown = view.Pattern(`^(CLUSTER_NAME|NAMESPACE|KUBERNETES_VERSION|CONTROL_PLANE_MACHINE_COUNT|WORKER_MACHINE_COUNT|CLUSTER_CLASS_NAME|CLUSTER_CLASS_NAMESPACE|(EXP|CAPI|CLUSTER_TOPOLOGY)(_.*)?)$`)

// abbreviation is how Cluster API providers call themselves: CAPA, CAPZ, CABPK.
var abbreviation = view.Pattern(`^CA(P|BP|CP|IP)[A-Z0-9]+_`)

var _ = variableRules.Add(lint.Rule{
	ID: "VAR013", Name: "variable-prefix", Since: "v0.1.0",
	Title:    "Variable names begin with the name of the provider",
	Severity: lint.Info, Proof: lint.Contract,
	Source: "clusterctl provider contract, section Variables",
	Why:    "All providers of a management cluster share one set of variables. A general name such as REGION gets the value that was meant for another provider.",
	Fix:    "Put the name of the provider in front of the variable.",
	Scope:  lint.ScopeRelease, Check: variablePrefix,
})

// variablePrefix reports each variable of a release once.
func variablePrefix(p *lint.Pass) {
	words := strings.Split(strings.ToUpper(p.Release.Provider.Name), "-")
	seen := map[string]bool{}
	for _, f := range p.Release.Files {
		for _, r := range view.Refs(f) {
			if seen[r.Name] || wellKnown().MatchString(r.Name) || !shellName().MatchString(r.Name) {
				continue
			}
			seen[r.Name] = true
			name := strings.ReplaceAll(strings.ToUpper(r.Name), "_", "")
			if abbreviation().MatchString(r.Name) {
				continue
			}
			if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) }) {
				p.Report(lint.Spanning(f, r.Start, r.End, "nothing in the name %s tells that it belongs to %s", r.Name, p.Release.Provider.Label()))
			}
		}
	}
}

// descriptions returns the lines, counted from 1, that belong to the value of a
// key named description. Nothing reads them but people.
func descriptions(f *lint.File) map[int]bool {
	if !bytes.Contains(f.Raw.Data, []byte("description:")) {
		return nil
	}
	out := map[int]bool{}
	inside, indent, n := false, 0, 0
	for line := range bytes.Lines(f.Raw.Data) {
		n++
		text := bytes.TrimLeft(line, " -")
		depth := len(line) - len(text)
		if blank := len(bytes.TrimSpace(text)) == 0; blank || inside && depth > indent {
			if inside {
				out[n] = true
			}
			continue
		}
		if inside = bytes.HasPrefix(text, []byte("description:")); inside {
			indent, out[n] = depth, true
		}
	}
	return out
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR014", Name: "collapsing-dollars", Since: "v0.1.0",
	Title:    "Two dollar signs are meant to become one",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "Clusterctl turns every $$ into $, also where no variable follows: Kubernetes' own escape $$(NAME) turns into a reference, and a script loses $$, its process ID.",
	Fix:    "Write four dollar signs to get two, or one where one is meant.",
	Kinds:  view.Substituted, Check: collapsingDollars,
})

func collapsingDollars(p *lint.Pass) {
	t, _ := p.File.Template()
	if t == nil {
		return
	}
	data := p.File.Raw.Data
	escapes := t.Escapes()
	prose := sync.OnceValue(func() map[int]bool { return descriptions(p.File) })
	at := newCursor(p.File)
	for i := 0; i < len(escapes); i++ {
		e := escapes[i]
		// A run of pairs is deliberate: it gives half as many.
		run := i
		for run+1 < len(escapes) && escapes[run+1].Start == escapes[run].End {
			run++
		}
		if run > i {
			i = run
			continue
		}
		after := data[e.End:]
		if at.to(e.Start); at.comment || bytes.HasPrefix(after, []byte("{")) {
			continue
		}
		what := "what needs two"
		switch {
		case bytes.HasPrefix(after, []byte("(")):
			what = "Kubernetes' escape $$("
		case len(after) > 0 && (after[0] == '_' || 'A' <= after[0]&^0x20 && after[0]&^0x20 <= 'Z'):
			continue // no shell means anything else by it than the escape
		}
		if prose()[at.line] {
			continue
		}
		p.Span(e.Start, e.End, "clusterctl turns $$ into $, and %s loses one", what)
	}
}

// dollarWord is a variable in the notation that clusterctl does not know.
var dollarWord = view.Pattern(`\$[A-Za-z_][A-Za-z0-9_]*`)

var _ = variableRules.Add(lint.Rule{
	ID: "VAR015", Name: "dollar-in-default", Since: "v0.1.0",
	Title:    "A variable inside a default has braces",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "Only ${NAME} is a variable. In ${A:=$B-net} the default is the literal text $B-net.",
	Fix:    "Write ${A:=${B}-net}.",
	Kinds:  view.Substituted, Check: dollarInDefault,
})

func dollarInDefault(p *lint.Pass) {
	for _, r := range view.Refs(p.File) {
		if !view.IsDefault(r.Op) {
			continue
		}
		if word := dollarWord().FindString(r.Default); word != "" {
			p.Span(r.Start, r.End, "%s in the default of %s is literal text; a variable would be ${%s}", word, r.Name, word[1:])
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR016", Name: "brace-in-default", Since: "v0.1.0",
	Title:    "No default holds braces",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 parse/parse.go",
	Why:    "The first } ends the expression, however many { are open. The rest stays behind as text, which goes unnoticed with the default and breaks every value that a user gives.",
	Fix:    "Keep braces out of defaults: take the variable for a smaller part, or write a default in another notation.",
	Kinds:  view.Substituted, Check: braceInDefault,
})

func braceInDefault(p *lint.Pass) {
	data := p.File.Raw.Data
	for _, r := range view.Refs(p.File) {
		// Nested expressions are shown as ${NAME}.
		if !view.IsDefault(r.Op) || strings.Count(r.Default, "{") == strings.Count(r.Default, "}") {
			continue
		}
		rest, _, _ := bytes.Cut(data[r.End:], []byte("\n"))
		if close := bytes.IndexByte(rest, '}'); close >= 0 {
			p.Span(r.Start, r.End, "the expression ends at the first }, so the default of %s is %q and %q follows every value", r.Name, r.Default, short(rest[:close+1]))
		}
	}
}

// spacedName is what follows an escaped dollar where spaces will be lost.
var spacedName = view.Pattern(`^\{(\s+\w+\s*|\w+\s+)\}`)

var _ = variableRules.Add(lint.Rule{
	ID: "VAR017", Name: "spaces-in-variable", Since: "v0.1.0",
	Title:    "No spaces stand inside ${}",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl client/yamlprocessor/simple_processor.go, convertLegacyVars",
	Why:    "Clusterctl removes spaces around a lone name for old templates only, and does so before it looks at anything else: an escaped $${ A } loses them too, and next to a default they are an error.",
	Fix:    "Write ${NAME}.",
	Kinds:  view.Substituted, Check: spacesInVariable,
})

func spacesInVariable(p *lint.Pass) {
	t, _ := p.File.Template()
	if t == nil {
		return
	}
	for _, r := range t.Refs() {
		if r.Legacy {
			f := lint.Spanning(p.File, r.Start, r.End, "the spaces in %s are an old notation that only works without a default", expression(p.File, &r))
			f.Severity = lint.Info
			f.Edit = &lint.Edit{Start: r.Start, End: r.End, Text: "${" + r.Name + "}"}
			p.Report(f)
		}
	}
	for _, e := range t.Escapes() {
		const longest = 200
		data := p.File.Raw.Data
		if m := spacedName().Find(data[e.End:min(len(data), e.End+longest)]); m != nil {
			p.Span(e.Start, e.End+len(m), "clusterctl removes the spaces in the escaped $$%s", short(m))
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR018", Name: "backslash-escape", Since: "v0.1.0",
	Title:    "A literal ${ is escaped with $, not with a backslash",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "A backslash means nothing to clusterctl: the variable is replaced, and the backslash stays in front of the value.",
	Fix:    "Write $${NAME}.",
	Kinds:  view.Substituted, Check: backslashEscape,
})

func backslashEscape(p *lint.Pass) {
	for _, r := range view.Refs(p.File) {
		before := p.File.Raw.Data[:r.Start]
		n := len(before) - len(bytes.TrimRight(before[max(0, len(before)-8):], `\`)) - max(0, len(before)-8)
		if n%2 == 1 && r.Depth == 0 {
			p.Span(r.Start-1, r.End, `\%s is no escape: the variable is replaced and the backslash stays`, expression(p.File, &r))
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR019", Name: "nul-byte", Since: "v0.1.0",
	Title:    "No file holds a NUL byte",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "Clusterctl takes a NUL byte for the end of the file. Everything after it is missing, without a word.",
	Fix:    "Remove the byte.",
	Kinds:  view.Substituted, Check: nulByte,
})

func nulByte(p *lint.Pass) {
	data := p.File.Raw.Data
	if i := bytes.IndexByte(data, 0); i >= 0 {
		p.Span(i, i+1, "clusterctl reads up to this NUL byte and drops the %d bytes from it on", len(data)-i)
	}
}

// scalarsFromDefaults visits the scalars that a default became a part of, for
// the expressions that match. It walks the documents only if there are any.
func scalarsFromDefaults(f *lint.File, match func(r *vars.Ref) bool, visit func(d *yamldoc.Document, n *yamldoc.Node, r vars.Ref)) {
	wanted := map[string]bool{}
	for name, r := range firsts(view.Refs(f)) {
		if view.IsDefault(r.Op) && r.Default != "" && !f.IsOption(name) && match(r) {
			wanted[name] = true
		}
	}
	if len(wanted) == 0 || f.Docs() == nil {
		return
	}
	for _, d := range f.Docs().Docs {
		view.Each(d.Root, func(n *yamldoc.Node) {
			if n.Kind == yamldoc.Map || n.Kind == yamldoc.List {
				return
			}
			if r, ok := f.Variable(d, n); ok && wanted[r.Name] && view.IsDefault(r.Op) && match(&r) {
				visit(d, n, r)
			}
		})
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR020", Name: "default-changes-type", Since: "v0.1.0",
	Title:    "A default is read as it is written",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "sigs.k8s.io/yaml (YAML 1.1)",
	Why:    "Without quotes the default is whatever YAML 1.1 makes of it: 1.10 turns into the number 1.1, yes into true, 0777 into 511.",
	Fix:    `Put the expression in quotes: "${A:=1.10}".`,
	Kinds:  view.Substituted, Check: defaultChangesType,
})

func defaultChangesType(p *lint.Pass) {
	match := func(r *vars.Ref) bool { return r.Default[0] < 0x80 && maybeTyped().MatchString(r.Default) }
	scalarsFromDefaults(p.File, match, func(d *yamldoc.Document, n *yamldoc.Node, r vars.Ref) {
		if n.Style == yamldoc.Plain && n.Text == r.Default && reread(n) != "" {
			p.Node(d, n, "without quotes the default %s of %s becomes %s", r.Default, r.Name, reread(n))
		}
	})
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR021", Name: "quotes-in-quotes", Since: "v0.1.0",
	Title:    "A default with quotes does not stand inside quotes",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/yamlprocessor, util/yaml/yaml.go ToUnstructured",
	Why:    "The quotes of the default land inside those of the value. Clusterctl then cannot parse the document, or the value holds two quotes instead of nothing.",
	Fix:    `Leave out the quotes around the expression: ${A:=""}.`,
	Kinds:  view.Substituted, Check: quotesInQuotes,
})

func quotesInQuotes(p *lint.Pass) {
	reportCauses(p)
	match := func(r *vars.Ref) bool { return r.Default == "''" || r.Default == `""` }
	scalarsFromDefaults(p.File, match, func(d *yamldoc.Document, n *yamldoc.Node, r vars.Ref) {
		if n.Style == yamldoc.Quoted && n.Text == r.Default {
			f := lint.At(p.File, d, n, "inside quotes the default %s of %s is a text of two quotes, not an empty one", r.Default, r.Name)
			f.Severity = lint.Warning
			p.Report(f)
		}
	})
}

// punctuation is what a plain scalar must not begin with, or hold.
var punctuation = view.Pattern("^[*&!|>%@`#]|: | #")

var _ = variableRules.Add(lint.Rule{
	ID: "VAR022", Name: "default-needs-quotes", Since: "v0.1.0",
	Title:    "A default with YAML punctuation stands in quotes",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl util/yaml/yaml.go ToUnstructured",
	Why:    "Defaults become part of the YAML text. In a value without quotes a leading * is an alias, a leading & an anchor, and what follows \" #\" is a comment.",
	Fix:    "Put the expression in quotes.",
	Kinds:  view.Substituted, Check: defaultNeedsQuotes,
})

func defaultNeedsQuotes(p *lint.Pass) {
	reportCauses(p)
	match := func(r *vars.Ref) bool { return punctuation().MatchString(r.Default) }
	scalarsFromDefaults(p.File, match, func(d *yamldoc.Document, n *yamldoc.Node, r vars.Ref) {
		if n.Style == yamldoc.Plain && !strings.Contains(n.Text, r.Default) {
			p.Node(d, n, "without quotes the default %q of %s becomes %q", r.Default, r.Name, n.Text)
		}
	})
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR023", Name: "variable-as-lines", Since: "v0.1.0",
	Title:    "A variable that stands for lines is documented as such",
	Severity: lint.Info, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 template.go",
	Why:    "Values are pasted as they are. Only the first line of a value gets the indentation of the variable, so a value of several lines breaks the document unless the user indents the rest to fit this place.",
	Fix:    "Take a single value, for example base64, or document the indentation.",
	Kinds:  view.Substituted, Check: variableAsLines,
})

func variableAsLines(p *lint.Pass) {
	reported := map[string]bool{}
	for _, r := range view.Refs(p.File) {
		if r.Depth > 0 || reported[r.Name] || !p.File.Alone(r) {
			continue
		}
		reported[r.Name] = true
		if indent := r.Start - lineStart(p.File, r.Start); indent > 0 {
			p.Span(r.Start, r.End, "of a value of several lines in %s only the first is indented by %d", r.Name, indent)
		} else {
			p.Span(r.Start, r.End, "%s stands for whole lines of YAML, so the document depends on its value", r.Name)
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR024", Name: "slow-substitution", Since: "v0.1.0",
	Title:    "Substitution is quick",
	Severity: lint.Info, Proof: lint.Clusterctl,
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "Clusterctl copies the whole file for every $$. A file of 3 MB with 6,000 of them takes more than 20 seconds, each time somebody uses it.",
	Fix:    "Shorten descriptions, or replace single $ signs that need no escape.",
	Kinds:  view.Substituted, Check: slowSubstitution,
})

// slowSubstitution estimates what clusterctl copies: the file once per escape.
func slowSubstitution(p *lint.Pass) {
	if at := p.File.Fault(); at != nil && at.Offset != crashAt(p.File) {
		f := lint.Spanning(p.File, at.Offset, at.Offset+len("${"), "the variables cannot be replaced here: %v", at.Err)
		f.Severity = lint.Warning
		p.Report(f)
	}
	t, _ := p.File.Template()
	if t == nil || len(t.Escapes()) == 0 {
		return
	}
	const perSecond = 800e6 // measured with clusterctl v1.14.2
	size := len(p.File.Raw.Data)
	if seconds := float64(len(t.Escapes())) * float64(size) / perSecond; seconds >= 1 {
		e := t.Escapes()[0]
		p.Span(e.Start, e.End, "clusterctl copies the %d bytes of this file for each of its %d $$, which takes about %.0f seconds", size, len(t.Escapes()), seconds)
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR025", Name: "variable-name", Since: "v0.1.0",
	Title:    "Variable names are names that a shell can export",
	Severity: lint.Warning, Proof: lint.Practice,
	Source: "POSIX.1-2017, section 8.1 Environment Variable Definition",
	Why:    "Clusterctl accepts names that begin with a digit or hold letters other than A to Z, but no shell can export them, so users cannot set them.",
	Fix:    "Use A to Z, 0 to 9 and _, and begin with a letter.",
	Kinds:  view.Substituted, Check: variableName,
})

func variableName(p *lint.Pass) {
	for name, r := range firsts(view.Refs(p.File)) {
		if !shellName().MatchString(name) {
			p.Span(r.Start, r.End, "%s is no name that a shell can export", name)
		}
	}
}
