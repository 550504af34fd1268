package text

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var variableRules = &lint.Family{Prefix: "VAR", Title: "Variables in components, templates and classes", Kinds: view.Substituted}

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
func short(text string) string {
	const most = 60
	line, _, cut := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > most {
		line, cut = string(runes[:most]), true
	}
	if cut {
		line += "…"
	}
	return line
}

// lineStart returns the offset at which the line around off begins.
func lineStart(f *lint.File, off int) int { return strings.LastIndexByte(f.Raw.Data[:off], '\n') + 1 }

// cursor tells about the lines of a text, for offsets in ascending order, so that
// a long line is read once.
type cursor struct {
	data       string
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
	text := strings.TrimLeft(c.data[c.start:], " \t")
	c.comment = len(text) > 0 && text[0] == '#'
}

// to moves to the line of an offset.
func (c *cursor) to(off int) *cursor {
	skipped := c.data[c.off:max(off, c.off)]
	if i := strings.LastIndexByte(skipped, '\n'); i >= 0 {
		c.line += strings.Count(skipped, "\n")
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
	{phrase.Pattern(`^\$\{\w+[-+?]`), "write a colon before the operators - + ?"},
	{phrase.Pattern(`^\$\{\{`), "for another template language write $${{"},
	{phrase.Pattern(`^\$\{!`), "clusterctl does not support indirection"},
	{phrase.Pattern(`^\$\{\}`), "the name is missing"},
	{phrase.Pattern(`^\$\{\s+\w+\s*[^\w\s}]|^\$\{\w+\s`), "remove the spaces around the name"},
	{phrase.Pattern(`^\$\{\w+/[^/]*\}`), "a replacement needs a second slash: ${A/old/new}"},
	{phrase.Pattern(`^\$\{\w+\[`), "clusterctl does not support arrays"},
	{phrase.Pattern(`^\$\{[\w.]+\}`), "a name consists of letters, digits and _"},
	{phrase.Pattern(`^\$\{[^}\n]*(\n|$)`), "the closing brace is missing"},
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR001", Name: "variable-syntax", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Every ${ must begin an expression that clusterctl can read",
	Source: "drone/envsubst/v2 parse/parse.go; clusterctl client/yamlprocessor/simple_processor.go",
	Why:    "clusterctl refuses the whole file, with a message that names neither line nor variable. It also reads comments and scripts.",
	Fix:    "Correct the expression, or write $${ for a literal ${.",
	Check:  variableSyntax,
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
		if h.form().MatchString(text) {
			hint = ": " + h.hint
			break
		}
	}
	where := ""
	if newCursor(p.File).to(bad.Offset).comment {
		where = ", even in a comment"
	}
	p.Span(bad.Offset, end,
		"clusterctl cannot read %s%s%s; it reports %q and refuses the whole file", short(text), where, hint, bad.Err)
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR002", Name: "variable-in-comment", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Comments and descriptions should not contain variables that are used nowhere else",
	Source: "clusterctl client/yamlprocessor/simple_processor.go, GetVariables",
	Why:    "Users must set the variable although nothing uses it, because clusterctl also replaces variables in comments.",
	Fix:    "Write $${NAME}, or the name without ${}.",
	Check:  variableInComment,
})

func variableInComment(p *lint.Pass) {
	rs := view.Refs(p.File)
	required := firsts(rs)
	maps.DeleteFunc(required, func(name string, r *vars.Ref) bool { return r.Default != "" || p.File.IsOption(name) })
	if len(required) == 0 {
		return
	}
	prose := descriptions(p.File)
	outside := map[string]bool{}
	at := newCursor(p.File)
	for _, r := range rs {
		if at.to(r.Start); !at.comment && !prose.has(at.line) {
			outside[r.Name] = true
		}
	}
	for name, r := range required {
		if !outside[name] {
			p.Span(r.Start, r.End, "%s only occurs in comments or descriptions, but clusterctl requires a value for it", name)
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR003", Name: "not-like-bash", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "The operators :+ and :? should not be used",
	Source: "drone/envsubst/v2 funcs.go, toDefault",
	Why:    "Both mean the same as :- in clusterctl. ${A:+x} gives the value of A instead of x, and ${A:?text} gives the text instead of an error.",
	Fix:    "Write ${A:=default}, or ${A} for a required variable.",
	Check: func(p *lint.Pass) {
		for _, r := range view.Refs(p.File) {
			switch r.Op {
			case ":+":
				p.Span(r.Start, r.End,
					"%s uses the text %q when %s is not set, not when it is set", expression(p.File, &r), r.Default, r.Name)
			case ":?":
				p.Span(r.Start, r.End,
					"%s does not fail when %s is not set; its value becomes %q", expression(p.File, &r), r.Name, r.Default)
			}
		}
	},
})

var _ = variableRules.Add(lint.Rule{
	ID: "VAR004", Name: "nested-only-variable", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A variable inside a default should also occur outside",
	Source: "clusterctl client/yamlprocessor/simple_processor.go, inspectVariables",
	Why:    "Users are not asked for the variable, and without a value it is silently empty, because clusterctl only lists variables at the outermost level.",
	Fix:    "Use the inner variable once on its own, for example in an annotation, or make it the outer one.",
	Check: func(p *lint.Pass) {
		rs := view.Refs(p.File)
		listed := firsts(rs)
		reported := map[string]bool{}
		for _, r := range rs {
			if r.Depth == 0 || listed[r.Name] != nil || p.File.IsOption(r.Name) || reported[r.Name] {
				continue
			}
			reported[r.Name] = true
			f := lint.Spanning(p.File, r.Start, r.End, "%s only occurs inside other expressions: clusterctl does not list it, and without a value it is empty", r.Name)
			if r.IsDefault() && r.Default != "" {
				f.Message = fmt.Sprintf("%s only occurs inside other expressions, so clusterctl does not list it", r.Name)
				f.Severity = lint.Info
			}
			p.Report(f)
		}
	},
})

var _ = variableRules.Add(lint.Rule{
	ID: "VAR005", Name: "empty-default", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A default should not be empty",
	Source: "clusterctl client/yamlprocessor/simple_processor.go, GetVariableMap",
	Why:    "Users must set the variable, because clusterctl treats an empty default as no default.",
	Fix:    `Write ${A:=""} in a value without quotes, which gives an empty string.`,
	Check: func(p *lint.Pass) {
		for name, r := range firsts(view.Refs(p.File)) {
			if r.IsDefault() && r.Default == "" && !p.File.IsOption(name) {
				p.Span(r.Start, r.End,
					"clusterctl treats the empty default of %s as no default and requires a value", expression(p.File, r))
			}
		}
	},
})

var _ = variableRules.Add(lint.Rule{
	ID: "VAR006", Name: "default-not-everywhere", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A variable must have its default in every use or in none",
	Source: "clusterctl client/yamlprocessor/simple_processor.go, inspectVariables",
	Why:    "The first use decides whether the variable is required. If it has a default, later uses without one become empty; if it has none, later defaults are never used.",
	Fix:    "Repeat the same default in every use, or remove it everywhere.",
	Check:  defaultNotEverywhere,
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
		optional := first.IsDefault() && first.Default != ""
		switch {
		case optional && !r.IsDefault():
			f := lint.Spanning(p.File, r.Start, r.End,
				"%s is empty here if %s is not set, because only other uses have a default, such as %s on line %d",
				expression(p.File, &r), r.Name, expression(p.File, first), p.File.Raw.Pos(first.Start).Line)
			if r.Op == "len" {
				f.Message = strings.Replace(f.Message, "is empty here", "is 0 here", 1)
			}
			if r.Depth > 0 || r.Op == "len" {
				f.Severity = lint.Warning // it may not be looked at, and a number is no damage
			}
			p.Report(f)
		case first.Default == "" && r.IsDefault() && r.Default != "" && r.Depth == 0:
			p.Report(lint.Spanning(p.File, r.Start, r.End,
				"the default in %s is never used, because %s on line %d has none and makes the variable required",
				expression(p.File, &r), expression(p.File, first), p.File.Raw.Pos(first.Start).Line).As(lint.Warning))
		default:
			continue
		}
		reported[r.Name] = true
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR007", Name: "different-defaults", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A variable should have the same default everywhere",
	Source: "clusterctl client/yamlprocessor/simple_processor.go, inspectVariables",
	Why:    `Users see only the first default in "clusterctl generate cluster --list-variables", but each use has its own.`,
	Fix:    "Use one default, or two variables.",
	Check:  differentDefaults,
})

func differentDefaults(p *lint.Pass) {
	first := map[string]*vars.Ref{}
	reported := map[string]bool{}
	rs := view.Refs(p.File)
	for i, r := range rs {
		if !r.IsDefault() || p.File.IsOption(r.Name) {
			continue
		}
		switch other := first[r.Name]; {
		case other == nil:
			first[r.Name] = &rs[i]
		case strings.Trim(other.Default, `"'`) != strings.Trim(r.Default, `"'`) && !reported[r.Name]:
			reported[r.Name] = true
			p.Span(r.Start, r.End, "the default of %s is %q here and %q on line %d",
				r.Name, r.Default, other.Default, p.File.Raw.Pos(other.Start).Line)
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR008", Name: "function-as-default", Severity: lint.Info, Proof: lint.Clusterctl,
	Title:  "The first use of a required variable has no function with arguments",
	Source: "clusterctl client/yamlprocessor/simple_processor.go, inspectVariables",
	Why:    "Users are told that the variable is optional, and without a value it becomes empty: clusterctl treats the argument of any function as a default.",
	Fix:    "Use the variable without a function on an earlier line, for example in an annotation.",
	Check: func(p *lint.Pass) {
		for name, r := range firsts(view.Refs(p.File)) {
			if r.Op != "" && !r.IsDefault() && r.Default != "" && !p.File.IsOption(name) {
				p.Span(r.Start, r.End, "clusterctl lists %s as optional with default %q, the argument in %s; without a value it is empty", name, r.Default, expression(p.File, r))
			}
		}
	},
})

var _ = variableRules.Add(lint.Rule{
	ID: "VAR009", Name: "negative-length", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A substring must not have a negative length",
	Source: "drone/envsubst/v2 funcs.go, toSubstr",
	Why:    "clusterctl crashes with a Go stack trace; only a shell counts from the end.",
	Fix:    "Give the number of characters, or trim the end with ${A%pattern}.",
	Check: func(p *lint.Pass) {
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
	},
})

// crashAt returns the offset of an expression that clusterctl crashes on, or -1.
func crashAt(f *lint.File) int {
	if at := f.Fault(); at != nil && errors.Is(at.Err, vars.ErrCrash) {
		return at.Offset
	}
	return -1
}

// shellName is what a shell can export.
var shellName = phrase.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

var _ = variableRules.Add(lint.Rule{
	ID: "VAR010", Name: "variable-case", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Variables must be ones that users can set: in upper case, and not those of scripts",
	Source: "clusterctl client/config/reader_viper.go, Get",
	Why:    "Users who export the variable as listed are told that it is not set, or get the default, because clusterctl looks for the upper-case name in the environment.",
	Fix:    "Rename the variable to upper case. If it belongs to a script, write $${name} so that the script gets ${name}.",
	Check: func(p *lint.Pass) {
		for name, r := range firsts(view.Refs(p.File)) {
			upper := strings.ToUpper(name)
			if name == upper && r.Default == "" && !p.File.IsOption(name) && isAssigned(p.File, name) {
				p.Report(lint.Spanning(p.File, r.Start, r.End, "a script assigns %s, but clusterctl requires it from the user and puts that value in its place", name).As(lint.Warning))
			}
			if name == upper || !shellName().MatchString(name) {
				continue
			}
			f := lint.Spanning(p.File, r.Start, r.End, "%s is required, but clusterctl looks for %s in the environment, so exporting %s does not help", name, upper, name)
			if r.Default != "" {
				f.Message = fmt.Sprintf("clusterctl looks for %s in the environment, so exporting %s has no effect", upper, name)
				f.Severity = lint.Warning
			}
			p.Report(f)
		}
	},
})

// assignment is a line with a command of a shell that sets a variable, and to what.
var assignment = phrase.Pattern(`^(?:[ \t-]*|[^#\n]*?(?:[;&|][ \t]*|\b(?:export|local|readonly|do|then|for)[ \t]+))([A-Z_][A-Z0-9_]*)(?:=(?:[^=]|$)|[ \t]+in[ \t])(.*)`)

// isAssigned reports whether a script in a file sets a variable.
func isAssigned(f *lint.File, name string) bool {
	type key struct{}
	return f.Memo(key{}, func() any {
		out := map[string]bool{}
		for _, sign := range [...]string{"=", " in "} {
			for line := range phrase.LinesWith(f.Raw.Data, sign) {
				if !followsName(line, sign) {
					continue
				}
				if m := assignment().FindStringSubmatch(line); m != nil {
					out[m[1]] = out[m[1]] || !strings.Contains(m[2], "{"+m[1]) // which hands on the user's value
				}
			}
		}
		return out
	}).(map[string]bool)[name]
}

// followsName reports whether a sign in a line may follow the name of a variable; most do not,
// and patterns are slow.
func followsName(line, sign string) bool {
	before, rest, found := strings.Cut(line, sign)
	for ; found; before, rest, found = strings.Cut(rest, sign) {
		if n := len(before); n > 0 && strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", before[n-1]) >= 0 {
			return true
		}
	}
	return false
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR011", Name: "variables-differ-by-case", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Variables must not differ only by case",
	Source: "clusterctl client/config/reader_viper.go, Get",
	Why:    "Both variables get the same value, because clusterctl ignores case in variable names.",
	Fix:    "Rename one of them.",
	Check: func(p *lint.Pass) {
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
				p.Span(r.Start, r.End, "%s and %s (line %d) are the same variable for clusterctl",
					r.Name, other.Name, p.File.Raw.Pos(other.Start).Line)
			}
		}
	},
})

// takenNames tells where the value of a variable comes from that is always set.
var takenNames = map[string]string{
	"PROVIDERS":           "the list in clusterctl.yaml, if there is one, which gives an empty string",
	"IMAGES":              "the overrides in clusterctl.yaml, if there are any, which give an empty string",
	"OVERRIDESFOLDER":     "the overrides folder of clusterctl",
	"GITHUB_TOKEN":        "the user's own token",
	"GITLAB_ACCESS_TOKEN": "the user's own token",
	"HOME":                "the user's environment",
	"PATH":                "the user's environment",
	"PWD":                 "the user's environment",
	"USER":                "the user's environment",
	"LOGNAME":             "the user's environment",
	"SHELL":               "the user's environment",
	"HOSTNAME":            "the user's environment",
	"LANG":                "the user's environment",
	"TERM":                "the user's environment",
	"KUBECONFIG":          "the user's environment",
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR012", Name: "variable-name-taken", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A variable should not have a name that is already set",
	Source: "clusterctl client/config/reader_viper.go, Get; client/config/variables_client.go",
	Why:    "clusterctl silently uses the existing value: an empty string for lists such as providers, or the user's home folder or token.",
	Fix:    "Choose a name with the provider's name as a prefix. If it belongs to a script, write $${NAME}.",
	Check: func(p *lint.Pass) {
		seen := map[string]bool{}
		for _, r := range view.Refs(p.File) {
			if from := takenNames[strings.ToUpper(r.Name)]; from != "" && !seen[r.Name] {
				seen[r.Name] = true
				p.Span(r.Start, r.End, "the value of %s comes from %s", r.Name, from)
			}
		}
	},
})

// wellKnown are variables that belong to no provider: those of clusterctl, and
// the switches and settings that Cluster API shares between providers.
var wellKnown = phrase.Pattern(`^(CLUSTER_NAME|NAMESPACE|KUBERNETES_VERSION|CONTROL_PLANE_MACHINE_COUNT|WORKER_MACHINE_COUNT|CLUSTER_CLASS_NAME|CLUSTER_CLASS_NAMESPACE|(EXP|CAPI|CLUSTER_TOPOLOGY)(_.*)?)$`)

// abbreviation is how Cluster API providers call themselves: CAPA, CAPZ, CABPK.
var abbreviation = phrase.Pattern(`^CA(P|BP|CP|IP)[A-Z0-9]+_`)

var _ = variableRules.Add(lint.Rule{
	ID: "VAR013", Name: "variable-prefix", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Variable names in components should begin with the name of the provider",
	Source: "clusterctl provider contract, section Components YAML, Variables",
	Why:    "Users who set a general name such as REGION for one provider set it for all providers of the management cluster.",
	Fix:    "Use the name of the provider as a prefix, or the prefix of its kinds' names.",
	Scope:  lint.ScopeRelease, Check: variablePrefix,
})

// variablePrefix reports each variable of a release once.
func variablePrefix(p *lint.Pass) {
	words := providerWords(p)
	told := map[string]bool{}
	for _, f := range p.Release.Files {
		if !slices.Contains(view.Installed, f.Kind) {
			continue
		}
		for _, r := range view.Refs(f) {
			if told[r.Name] || wellKnown().MatchString(r.Name) || !shellName().MatchString(r.Name) || abbreviation().MatchString(r.Name) {
				continue
			}
			name := strings.ReplaceAll(strings.ToUpper(r.Name), "_", "")
			parts := strings.Split(strings.ToUpper(r.Name), "_")
			if !slices.ContainsFunc(words, func(w string) bool {
				return len(w) > 2 && strings.Contains(name, w) || slices.Contains(parts, w)
			}) {
				told[r.Name] = true
				p.Report(lint.Spanning(f, r.Start, r.End, "%s has no prefix for %s, so another provider may use the same variable",
					r.Name, p.Release.Provider.Label()).Because(p.Rule.ID).Without("Namespace "))
			}
		}
	}
}

// roleSuffixes end the names of kinds, after what stands for the provider.
var roleSuffixes = []string{"MachinePoolMachine", "MachinePool", "ControlPlane", "Cluster", "Machine", "Config", "Remediation", "IPPool"}

// providerWords are what the names of a provider's variables may begin with, in
// upper case: the parts of its name, and of the names of its kinds and namespace
// what stands for it (DOCluster, capdo-system).
func providerWords(p *lint.Pass) []string {
	words := strings.Split(strings.ToUpper(p.Release.Provider.Name), "-")
	for _, k := range p.Release.Roles() {
		for _, suffix := range roleSuffixes {
			if prefix, ok := strings.CutSuffix(k.Base(), suffix); ok && len(prefix) > 1 {
				words = append(words, strings.ToUpper(prefix))
				break
			}
		}
	}
	for _, o := range p.Release.Installed().Kind("", "Namespace") {
		if prefix, ok := strings.CutSuffix(o.Name, "-system"); ok && !strings.Contains(prefix, "-") && len(prefix) > 2 {
			words = append(words, strings.ToUpper(prefix))
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// prose says which lines, counted from 1, belong to the value of a key named
// description. Nothing reads them but people.
type prose []bool

func (p prose) has(line int) bool { return line < len(p) && p[line] }

func descriptions(f *lint.File) prose {
	type key struct{}
	return f.Memo(key{}, func() any { return proseOf(f.Raw.Data) }).(prose)
}

func proseOf(data string) prose {
	if !strings.Contains(data, "description:") {
		return nil
	}
	out := make(prose, 1, strings.Count(data, "\n")+2)
	inside, indent := false, 0
	for line := range strings.Lines(data) {
		depth := 0
		for depth < len(line) && (line[depth] == ' ' || line[depth] == '-') {
			depth++
		}
		if text := line[depth:]; !(inside && depth > indent) && !isBlank(text) {
			inside, indent = strings.HasPrefix(text, "description:"), depth
		}
		out = append(out, inside)
	}
	return out
}

// isBlank reports whether a text has only white space. Most begin with a letter.
func isBlank(text string) bool {
	if len(text) > 0 && ' ' < text[0] && text[0] < utf8.RuneSelf {
		return false
	}
	return len(strings.TrimSpace(text)) == 0
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR014", Name: "collapsing-dollars", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Two dollar signs should stand for one",
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "clusterctl turns every $$ into $, even where no variable follows: the Kubernetes escape $$(NAME) becomes a reference, and a script loses $$, its process ID.",
	Fix:    "Write four dollar signs to get two, or one to get one.",
	Check:  collapsingDollars,
})

// escapedName is what follows $$ in Kubernetes' escape of a variable; names are taken to be
// in upper case.
var escapedName = phrase.Pattern(`^\([A-Z_][A-Z0-9_]*\)`)

func collapsingDollars(p *lint.Pass) {
	t, _ := p.File.Template()
	if t == nil {
		return
	}
	data := p.File.Raw.Data
	escapes := t.Escapes()
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
		if at.to(e.Start); at.comment || strings.HasPrefix(after, "{") {
			continue
		}
		what := "a string with two dollar signs"
		switch {
		case escapedName().MatchString(after):
			what = "Kubernetes' escape $$("
		case strings.HasPrefix(after, "("):
			continue // of a script, to which $(command) is left
		case len(after) > 0 && (after[0] == '_' || 'A' <= after[0]&^0x20 && after[0]&^0x20 <= 'Z'):
			continue // no shell means anything else by it than the escape
		}
		if descriptions(p.File).has(at.line) {
			continue
		}
		p.Span(e.Start, e.End, "clusterctl turns $$ into $, so %s loses one", what)
	}
}

// dollarWord is a variable in the notation that clusterctl does not know.
var dollarWord = phrase.Pattern(`\$[A-Za-z_][A-Za-z0-9_]*`)

var _ = variableRules.Add(lint.Rule{
	ID: "VAR015", Name: "dollar-in-default", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A variable inside a default should have braces",
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "Users get the literal text $B-net from ${A:=$B-net}, because only ${NAME} is a variable.",
	Fix:    "Write ${A:=${B}-net}.",
	Check: func(p *lint.Pass) {
		for _, r := range view.Refs(p.File) {
			if !r.IsDefault() {
				continue
			}
			if word := dollarWord().FindString(r.Default); word != "" {
				p.Span(r.Start, r.End, "%s in the default of %s is literal text; a variable would be ${%s}", word, r.Name, word[1:])
			}
		}
	},
})

var _ = variableRules.Add(lint.Rule{
	ID: "VAR016", Name: "brace-in-default", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A default should not contain braces",
	Source: "drone/envsubst/v2 parse/parse.go",
	Why:    "The rest of the default is appended to every value that a user sets, because the first } ends the expression.",
	Fix:    "Use the variable for a smaller part, or write the default in a notation without braces.",
	Check: func(p *lint.Pass) {
		data := p.File.Raw.Data
		for _, r := range view.Refs(p.File) {
			// Nested expressions are shown as ${NAME}.
			if !r.IsDefault() || strings.Count(r.Default, "{") == strings.Count(r.Default, "}") {
				continue
			}
			rest, _, _ := strings.Cut(data[r.End:], "\n")
			if close := strings.IndexByte(rest, '}'); close >= 0 {
				p.Report(lint.Spanning(p.File, r.Start, r.End, "the expression ends at the first }, so the default of %s is %q and %q follows every value",
					r.Name, r.Default, short(rest[:close+1])).Because(view.Default(p.File, r.Name)))
			}
		}
	},
})

// spacedName is what follows an escaped dollar where spaces will be lost.
var spacedName = phrase.Pattern(`^\{(\s+\w+\s*|\w+\s+)\}`)

var _ = variableRules.Add(lint.Rule{
	ID: "VAR017", Name: "spaces-in-variable", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "${} should not contain spaces",
	Source: "clusterctl client/yamlprocessor/simple_processor.go, convertLegacyVars",
	Why:    "clusterctl only removes spaces around a single name, and refuses them next to a default. It also removes them in an escaped $${ A }.",
	Fix:    "Write ${NAME}, or $${NAME} where the dollar sign is escaped.",
	Check:  spacesInVariable,
})

func spacesInVariable(p *lint.Pass) {
	t, _ := p.File.Template()
	if t == nil {
		return
	}
	for _, r := range t.Refs() {
		if r.Legacy {
			f := lint.Spanning(p.File, r.Start, r.End, "the spaces in %s are a deprecated notation that clusterctl accepts only without a default", expression(p.File, &r))
			f.Edit = &lint.Edit{Start: r.Start, End: r.End, Text: "${" + r.Name + "}"}
			p.Report(f)
		}
	}
	for _, e := range t.Escapes() {
		const longest = 200
		data := p.File.Raw.Data
		if m := spacedName().FindString(data[e.End:min(len(data), e.End+longest)]); m != "" {
			p.Span(e.Start, e.End+len(m), "clusterctl removes the spaces in the escaped $$%s", short(m))
		}
	}
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR018", Name: "backslash-escape", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A literal ${ should be escaped with $, not with a backslash",
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "clusterctl replaces the variable and keeps the backslash in front of its value.",
	Fix:    "Write $${NAME}.",
	Check: func(p *lint.Pass) {
		for _, r := range view.Refs(p.File) {
			before := p.File.Raw.Data[:r.Start]
			n := len(before) - len(strings.TrimRight(before[max(0, len(before)-8):], `\`)) - max(0, len(before)-8)
			if n%2 == 1 && r.Depth == 0 {
				p.Span(r.Start-1, r.End, `\%s is not an escape: clusterctl replaces the variable and keeps the backslash`,
					expression(p.File, &r))
			}
		}
	},
})

var _ = variableRules.Add(lint.Rule{
	ID: "VAR019", Name: "nul-byte", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A file must not contain a NUL byte",
	Source: "drone/envsubst/v2 parse/scan.go",
	Why:    "clusterctl silently drops everything after a NUL byte.",
	Fix:    "Remove the byte.",
	Check: func(p *lint.Pass) {
		data := p.File.Raw.Data
		if i := strings.IndexByte(data, 0); i >= 0 {
			p.Span(i, i+1, "clusterctl drops the %d bytes that start with this NUL byte", len(data)-i)
		}
	},
})

// scalarsFromDefaults visits the scalars that a default became a part of, for
// the expressions that match. Only the first expression of a scalar counts. It walks the
// documents only if there are any.
func scalarsFromDefaults(f *lint.File, match func(r *vars.Ref) bool, visit func(d *yamldoc.Document, n *yamldoc.Node, r vars.Ref)) {
	wanted := map[string]bool{}
	for name, r := range firsts(view.Refs(f)) {
		if r.IsDefault() && r.Default != "" && !f.IsOption(name) && match(r) {
			wanted[name] = true
		}
	}
	if len(wanted) == 0 {
		return
	}
	for _, s := range substituted(f) {
		if wanted[s.ref.Name] && s.ref.IsDefault() && match(&s.ref) {
			visit(s.doc, s.node, s.ref)
		}
	}
}

// scalar is one that came, in part or whole, from a variable.
type scalar struct {
	doc  *yamldoc.Document
	node *yamldoc.Node
	ref  vars.Ref
}

// substituted are the scalars of a file that came from variables, in their order.
func substituted(f *lint.File) []scalar {
	type key struct{}
	return f.Memo(key{}, func() any {
		var out []scalar
		text := f.Text()
		if text == nil || f.Docs() == nil {
			return out
		}
		for _, d := range f.Docs().Docs {
			if _, any := text.Substituted(d.Range()); !any {
				continue
			}
			view.Each(d.Root, func(n *yamldoc.Node) {
				if n.Kind == yamldoc.Map || n.Kind == yamldoc.List {
					return
				}
				if r, ok := f.Variable(d, n); ok {
					out = append(out, scalar{d, n, r})
				}
			})
		}
		return out
	}).([]scalar)
}

var _ = variableRules.Add(lint.Rule{
	ID: "VAR020", Name: "default-changes-type", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A default should keep its spelling",
	Source: "sigs.k8s.io/yaml (YAML 1.1)",
	Why:    "Users get a different default than the file shows: without quotes YAML 1.1 reads 1.10 as 1.1, yes as true, and 0777 as 511.",
	Fix:    `Put the expression in quotes: "${A:=1.10}".`,
	Yields: []string{"TOP001", "TPL015", "CC007"}, Check: func(p *lint.Pass) {
		match := func(r *vars.Ref) bool { return r.Default[0] < 0x80 && maybeTyped().MatchString(r.Default) }
		scalarsFromDefaults(p.File, match, func(d *yamldoc.Document, n *yamldoc.Node, r vars.Ref) {
			if n.Style == yamldoc.Plain && n.Text() == r.Default && reread(n) != "" {
				p.Node(d, n, "without quotes the default %s of %s becomes %s", r.Default, r.Name, reread(n))
			}
		})
	},
})

var _ = variableRules.Add(lint.Rule{
	ID: "VAR021", Name: "quotes-in-quotes", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A quoted default must be a whole value, without other quotes",
	Source: "clusterctl client/yamlprocessor, util/yaml/yaml.go ToUnstructured",
	Why:    "clusterctl cannot parse the document, or the value has quotes in it, because those of the default end up inside the value.",
	Fix:    `Write nothing else in the value, and remove the quotes around the expression: ${A:=""}.`,
	Check: func(p *lint.Pass) {
		reportCauses(p)
		match := func(r *vars.Ref) bool { return r.Default == "''" || r.Default == `""` }
		scalarsFromDefaults(p.File, match, func(d *yamldoc.Document, n *yamldoc.Node, r vars.Ref) {
			text := n.Text()
			switch {
			case n.Style != yamldoc.Quoted && n.Style != yamldoc.Plain, !strings.Contains(text, r.Default[:1]):
			case text == r.Default:
				p.Report(lint.At(p.File, d, n, "inside quotes the default %s of %s is a string of two quotes, not an empty string", r.Default, r.Name).As(lint.Warning))
			case !strings.ContainsAny(text, " \t\n{[="): // commands, flags and JSON may have quotes
				p.Report(lint.At(p.File, d, n,
					"the quotes in the default %s of %s become part of the value", r.Default, r.Name).As(lint.Warning))
			}
		})
	},
})

// punctuation is what a plain scalar must not begin with, or hold.
var punctuation = phrase.Pattern("^[*&!|>%@`#]|: | #")

var _ = variableRules.Add(lint.Rule{
	ID: "VAR022", Name: "default-needs-quotes", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A default with YAML punctuation should be in quotes",
	Source: "clusterctl util/yaml/yaml.go ToUnstructured",
	Why:    `The default changes the meaning of the YAML: without quotes a leading * is an alias, a leading & an anchor, and text after " #" a comment.`,
	Fix:    "If the default is text, put the expression in quotes. If it is meant as YAML, such as an anchor, write it outside the variable.",
	Check: func(p *lint.Pass) {
		reportCauses(p)
		match := func(r *vars.Ref) bool {
			return punctuation().MatchString(r.Default) && !strings.Contains(r.Default, "\n")
		}
		scalarsFromDefaults(p.File, match, func(d *yamldoc.Document, n *yamldoc.Node, r vars.Ref) {
			if n.Style == yamldoc.Plain && !strings.Contains(n.Text(), r.Default) {
				p.Report(lint.At(p.File, d, n, "without quotes the default %q of %s becomes %q", r.Default, r.Name, n.Text()).Because(view.Default(p.File, r.Name)))
			}
		})
	},
})

var _ = variableRules.Add(lint.Rule{
	ID: "VAR023", Name: "variable-as-lines", Severity: lint.Info, Proof: lint.Clusterctl,
	Title:  "A variable that stands for several lines is documented",
	Source: "drone/envsubst/v2 template.go",
	Why:    "The document breaks unless users indent all lines but the first to fit this place, because values are inserted literally.",
	Fix:    "Use a single value, for example base64, or document the indentation.",
	Check: func(p *lint.Pass) {
		reported := map[string]bool{}
		for _, r := range view.Refs(p.File) {
			if r.Depth > 0 || reported[r.Name] || !p.File.Alone(r) {
				continue
			}
			reported[r.Name] = true
			if indent := r.Start - lineStart(p.File, r.Start); indent > 0 {
				p.Span(r.Start, r.End, "if %s has several lines, only the first is indented by %d", r.Name, indent)
			} else {
				p.Span(r.Start, r.End, "%s stands for whole lines of YAML, so the document depends on its value", r.Name)
			}
		}
	},
})

// chosen are variables whose values people choose freely.
var chosen = phrase.Pattern("PASSWORD|PASSPHRASE|USERNAME")

var _ = variableRules.Add(lint.Rule{
	ID: "VAR026", Name: "credential-needs-quotes", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "A user name or password in stringData should be in quotes",
	Source: "cluster-api-provider-vsphere issue 980 and pull request 3028; clusterctl util/yaml/yaml.go ToUnstructured",
	Why:    "Users whose password begins with @, [ or a similar character get a YAML error, and the API server refuses one that is a number.",
	Fix:    "Write '${A_PASSWORD}' with single quotes, in which a backslash is just a character.",
	Check:  credentialNeedsQuotes,
})

func credentialNeedsQuotes(p *lint.Pass) {
	for _, o := range p.File.Objects() {
		if !o.Is("", "Secret") {
			continue
		}
		for _, f := range o.Get("stringData").Fields() {
			if from, ok := view.From(o, f.Value); ok && f.Value.Style == yamldoc.Plain && chosen().MatchString(from.Name) {
				p.On(o, f.Value, "without quotes some values of %s are not strings, or break the document", from.Name)
			}
		}
	}
}
