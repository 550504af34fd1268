package vars

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/drone/envsubst/v2"
	"github.com/drone/envsubst/v2/parse"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// The oracle: clusterctl's processing in terms of the library that clusterctl
// uses, with none of the code under test.

var (
	legacyVar  = regexp.MustCompile(`\$\{\s+[A-Za-z0-9_$]+\s*\}|\$\{[A-Za-z0-9_$]+\s+\}`)
	whiteSpace = regexp.MustCompile(`\s`)
)

func oracleConvert(s string) string {
	return legacyVar.ReplaceAllStringFunc(s, func(m string) string { return whiteSpace.ReplaceAllString(m, "") })
}

// oracleVariables returns the default of each variable, "" for none.
func oracleVariables(data []byte) (map[string]string, error) {
	tree, err := parse.Parse(oracleConvert(string(data)))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	todo := []parse.Node{tree.Root}
	for len(todo) > 0 {
		n := todo[0]
		todo = todo[1:]
		switch n := n.(type) {
		case *parse.ListNode:
			todo = append(slices.Clone(n.Nodes), todo...)
		case *parse.FuncNode:
			if _, again := found[n.Param]; again {
				continue
			}
			text := ""
			for _, a := range n.Args {
				switch a := a.(type) {
				case *parse.TextNode:
					text += a.Value
				case *parse.FuncNode:
					text += "${" + a.Param + "}"
				}
			}
			found[n.Param] = text
		}
	}
	return found, nil
}

// errCrash stands for a panic of the library.
var errCrash = errors.New("the library panics")

func oracleProcess(data []byte, lookup environment) (out string, err error) {
	found, err := oracleVariables(data)
	if err != nil {
		return "", err
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, ok := lookup(name); !ok && found[name] == "" {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return "", fmt.Errorf("value for variables [%s] is not set. "+
			"Please set the value using os environment variables or the clusterctl config file", strings.Join(missing, ", "))
	}
	defer func() {
		if p := recover(); p != nil {
			err = errCrash
		}
	}()
	return envsubst.Eval(oracleConvert(string(data)), func(name string) string {
		v, _ := lookup(name)
		return v
	})
}

type environment func(name string) (string, bool)

func always(value string) environment { return func(string) (string, bool) { return value, true } }

func unset(string) (string, bool) { return "", false }

var environments = map[string]environment{
	"unset":  unset,
	"empty":  always(""),
	"short":  always("1"),
	"word":   always("v1.2.3-x/y"),
	"tricky": always("$$ ${A} }\\/ ÀéÎ\x80\nab/cab"),
	"mixed": func(name string) (string, bool) {
		switch len(name) % 4 {
		case 0:
			return "", false
		case 1:
			return "Hello World/hello", true
		case 2:
			return "", true
		}
		return name, true
	},
}

// compare fails the test unless the package does with data what the oracle does.
func compare(t *testing.T, data []byte, environments map[string]environment) {
	t.Helper()
	raw := string(data)
	tmpl, err := Parse(data)
	var at *Error
	if errors.As(err, &at) {
		if !strings.HasPrefix(raw[at.Offset:], "${") {
			t.Fatalf("%q: the error is at byte %d, where no expression starts", data, at.Offset)
		}
		if errors.Is(err, errTooDeep) {
			return
		}
	}
	vars, wantErr := oracleVariables(data)
	if wantErr != nil || err != nil {
		if at == nil || wantErr == nil || at.Err.Error() != wantErr.Error() {
			t.Fatalf("%q: got error %v, want %v", data, err, wantErr)
		}
		return
	}
	got := map[string]string{}
	for _, v := range tmpl.Variables() {
		got[v.Name] = ""
		if v.Default != nil {
			got[v.Name] = *v.Default
		}
	}
	if !maps.Equal(got, vars) {
		t.Fatalf("%q: got variables %q, want %q", data, got, vars)
	}
	if !slices.IsSortedFunc(tmpl.Variables(), func(a, b Variable) int { return strings.Compare(a.Name, b.Name) }) {
		t.Fatalf("%q: variables are not sorted: %v", data, tmpl.Variables())
	}
	checkSpans(t, raw, tmpl)
	for name, env := range environments {
		want, wantErr := oracleProcess(data, env)
		text, err := tmpl.Execute(env)
		switch {
		case wantErr == errCrash:
			if !errors.As(err, &at) || !strings.HasPrefix(raw[at.Offset:], "${") {
				t.Fatalf("%q in %s: got error %v where the library panics", data, name, err)
			}
		case errors.Is(err, errTooLong) && wantErr == nil:
			// Fuzzing finds such values. TestLimits says which are fine.
		case wantErr != nil:
			if err == nil || err.Error() != wantErr.Error() {
				t.Fatalf("%q in %s: got error %v, want %v", data, name, err, wantErr)
			}
		case err != nil:
			t.Fatalf("%q in %s: %v", data, name, err)
		case text.Data != want:
			t.Fatalf("%q in %s:\n got %q\nwant %q", data, name, text.Data, want)
		default:
			checkPositions(t, raw, tmpl, text)
		}
	}
}

// checkSpans tests that spans cut whole expressions and escapes out of raw.
func checkSpans(t *testing.T, raw string, tmpl *Template) {
	t.Helper()
	for i, r := range tmpl.Refs() {
		text := raw[r.Start:r.End]
		own, err := Parse([]byte(text))
		if err != nil || len(own.Refs()) == 0 {
			t.Fatalf("%q: the span %q of %s is no expression: %v", raw, text, r.Name, err)
		}
		if o := own.Refs()[0]; o.Name != r.Name || o.Op != r.Op || o.Default != r.Default || o.ArgRaw != r.ArgRaw || o.Legacy != r.Legacy || o.End != len(text) {
			t.Fatalf("%q: the span of %+v parses as %+v", raw, r, o)
		}
		if r.Op != "" && r.Op != opLen && !strings.HasSuffix(text, r.Op+r.ArgRaw+"}") {
			t.Fatalf("%q: the text of %+v does not end in its argument", raw, r)
		}
		if i > 0 && r.Start <= tmpl.Refs()[i-1].Start {
			t.Fatalf("%q: expression %d is out of order", raw, i)
		}
		switch {
		case r.Parent < 0 && r.Depth == 0:
		case r.Parent < 0 || r.Parent >= i:
			t.Fatalf("%q: %+v has a wrong parent", raw, r)
		default:
			if p := tmpl.Refs()[r.Parent]; r.Start <= p.Start || r.End >= p.End || r.Depth != p.Depth+1 {
				t.Fatalf("%q: %+v is not inside %+v", raw, r, p)
			}
		}
	}
	for _, e := range tmpl.Escapes() {
		if raw[e.Start:e.End] != "$$" {
			t.Fatalf("%q: the escape at %d is %q", raw, e.Start, raw[e.Start:e.End])
		}
	}
}

// checkPositions tests that every byte of text leads to where it came from.
func checkPositions(t *testing.T, raw string, tmpl *Template, text *Text) {
	t.Helper()
	starts := map[int]int{} // raw offsets of the top level
	for i, r := range tmpl.Refs() {
		if r.Depth == 0 {
			starts[r.Start] = i
		}
	}
	last, end := 0, strings.IndexByte(raw+"\x00", 0)
	for i := 0; i < len(text.Data); i += 1 + len(text.Data)>>14 { // samples of a long text
		at, b := text.RawOffset(i), text.Data[i]
		if at < last || at >= end {
			t.Fatalf("%q: byte %d of %q leads to %d, the one before to %d", raw, i, text.Data, at, last)
		}
		want, isValue := starts[at]
		if !isValue && raw[at] != b {
			t.Fatalf("%q: byte %d of %q leads to %q", raw, i, text.Data, raw[at])
		}
		if ref, ok := text.Substituted(i, i+1); isValue && (!ok || ref > want) {
			t.Fatalf("%q: byte %d of %q is from expression %d, Substituted has %d, %v", raw, i, text.Data, want, ref, ok)
		}
		last = at
	}
	if got := text.RawOffset(len(text.Data)); got != end {
		t.Fatalf("%q: the end of %q leads to %d, want %d", raw, text.Data, got, end)
	}
	first := -1
	for i, r := range tmpl.Refs() {
		if r.Depth == 0 {
			first = i
			break
		}
	}
	if ref, ok := text.Substituted(0, len(text.Data)); ok != (first >= 0) || ref != first {
		t.Fatalf("%q: Substituted has %d, %v for the whole text, want %d", raw, ref, ok, first)
	}
}

// texts are valid and invalid uses of the language: every operator, every trap
// of the clusterctl documentation, of the library and of known providers.
var texts = []string{
	"", "a", "no variables\n", "é$", "$", "$A", "$(A)", "$1 $ $", "{A}", "a}b",
	"${A}", "a ${A} b", "${A}${B}${A}", "${1A}", "${É}", "${_}", "${日本}x", "x${A}", "\\${A}",
	// defaults
	"${A:-d}", "${A:=d}", "${A=d}", "${A:+d}", "${A:?d}", "${A==d}", "${A:-}", "${A:=}", "${A=}", "${A:+}", "${A:?}",
	`${A:=""}`, `${A:-''}`, "${A:-d}${A}", "${A}${A:-d}", "${A:-x}${A:-y}", "${A:-$B}", "${A:-$$}", "${A:-$$B$$}", "${A:-$}", "${A:- }",
	`${A:-{"a":"b"}}`, `${A:={"k": {"l": 1}}}`, "${A:-\n}", "${A:-:-}", "${A:-a/b\\/c}", "${A:-é}", "${A:-\xff}", "${A:-\xe2}",
	"${A:-$\xff}", "${A:-$é}", "${N:=$CLUSTER_NAME-vnet}",
	// not supported
	"${A-d}", "${A-}", "${A+d}", "${A?d}", "${A.B}", "${a.b}", "${A[0]}", "${A@Q}", "${A$B}", "${A~}", "${A ", "${A :-x}", "${ A:-x }",
	"${}", "${", "${.x}", "${{ x }}", "${!A}", "${-}", "${:-x}", "${A", "${A:", "${A:-", "${A:-x", "${A=", "${A#", "${A/", "${A^", "${#", "${#A",
	"# ${", "a\n${B\n", "${A}${", "${A:-${B}", "${A:-x${", "${A:-${B.}}", "x ${A:-y ${B:-z ${C-} } }",
	// length
	"${#A}", "${#}", "${##}", "${#A:-x}", "${#A}}", "${# A}", "${#É}",
	// case
	"${A^}", "${A^^}", "${A,}", "${A,,}", "${A^,}", "${A,^}", "${A^^^}", "${A,,,}", "${A^^b}", "${A^b}", "${A,b}", "${A^", "${A,,",
	// substring
	"${A:1}", "${A:1:2}", "${A:0:3}", "${A:-1}", "${A: -1}", "${A: -1:1}", "${A:99}", "${A:99:1}", "${A:x}", "${A:x:y}", "${A:1:y}", "${A::2}",
	"${A:}", "${A:1:}", "${A:1::2}", "${A:1:-1}", "${A:0:-1}", "${A:0:-9}", "${A:1:2:3}", "${A:9223372036854775807:1}", "${A:é}", "${A:€}", "${A:😀}",
	"${A:\xff}", "${A:\xe2\x82}", "${A:${B}}", "${A:${B}:${C}}", "${A:1${B}}", "${A:${B}1}", "${A:1:${B}x}", "${A:1:2${B}}", "${A:$:$}", "${AB:é}",
	// trim
	"${A#v}", "${A##v}", "${A%x}", "${A%%x}", "${A#*}", "${A##*}", "${A%*}", "${A%%*}", "${A#*.}", "${A##*.}", "${A%.*}", "${A%%.*}", "${A#[a-z]}", "${A#?}",
	"${A#[}", "${A#[a-}", "${A#[^a]}", "${A#\\}", "${A#\\v}", "${A%\\}", "${A#[\\]}", "${A###}", "${A%%%}", "${A#}", "${A%}", "${A##}", "${A%%}",
	"${A#${B}}", "${A%${B}}", "${A#v${B}}", "${A#${B}v}", "${A%$$}", "${A#a/b}", "${A%-*}",
	// replace
	"${A/1/n}", "${A//a/n}", "${A/#v/n}", "${A/%y/n}", "${A/1/}", "${A//a/}", "${A/#v/}", "${A/%y/}", "${A/b}", "${A/b} x/y}", "${A/}", "${A//}", "${A///}", "${A////}",
	"${A/a//x}", "${A/a////}", `${A/\//x}`, `${A//\//x}`, `${A/a/\/}`, `${A/\\/x}`, `${A/a\b/x}`, `${A/a/\\}`, `${A/a\}/x}`, "${A/$$/x}", "${A/a/$$}", "${A/$/x}", "${A/a/$}",
	"${A/$$$/x}", "${A/${B}/x}", "${A/a/${B}}", "${A/a/x${B}}", "${A/a${B}/x}", "${A/${B}/${C}}", "${A/${B}x/}", "${A/a/${B}x}", "${A/}/x}", "${A/a/}}",
	`${TALOS_VERSION//[^0-9]/}`, "# export T=\"t${T//[^0-9]/}\"", `${A/\$/x}`, `${A/$\/}/x}`, "${A/a", "${A/a/", "${A/a/b", "${A/\\", "${A/a/$", "${A/$$", "${A/1/é}",
	// nesting
	"${A:-${B:-z}}", "${A:-x${B}y}", "${A:-${B}}", "${A:-${B}${C}}", "${A:-${B^^}}", "${A:-${B:1:-1}}", "${A/a/${B:-${C#v}}}", "${A:-${#B}}", "${A#${B:-${C}}}",
	"${A:-${B}} ${B}", "${A/1/${B/1/${C/1/x}}}", "${A:=${B:=}}", "${A:-${B/a}/b}}",
	// escapes
	"$$", "$$$", "$$$$", "$$A", "$${A}", "$$${A}", "$$$${A}", "$$(X)", "a$$b$$c", "kill $$\n", "${A}$$", "${A}$${B}", "$$${A:1:-1}", "$$\xff$", "é$$é",
	// legacy
	"${ A }", "${ A}", "${A }", "${\tA\n}", "${\r\n A \f}", "${\vA}", "${  A  } ${ B }", "$${ A }", "$${ $$ }", "$${ $ }", "$${$ }", "${ $A }", "${ A$B }", "${ $$ }", "$$${ A }",
	"${A:-${ B }}", "${A/a/${ B }}", "${ É }", "${ }", "${ A", "${ A ${ B }", "${${ A }", "${ A }${A:-d}", "a${ A }b$$c${B }d", "${ A B }", "${A:-${ B }${C }x}", "${ azAZ09_ }", "${ 9z0aZ }",
	// NUL
	"a\x00b", "\x00", "a\x00${", "${A}\x00${", "${A\x00}", "${A:\x00}", "${A:-\x00}", "${A:-x\x00}", "${A/\x00", "$\x00$", "$$\x00", "${ A\x00 }", "\x00${ A }", "${ A }\x00${ B }", "${\x00", "${A:1\x00", "${A#\x00}",
}

func TestAgainstEnvsubst(t *testing.T) {
	for _, text := range texts {
		compare(t, []byte(text), environments)
	}
	for i, a := range texts { // what one text leaves behind must not change the next
		compare(t, []byte(a+" "+texts[(i*7+3)%len(texts)]+"\n"+a), environments)
	}
}

func FuzzAgainstEnvsubst(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text), "v1.2.3-x/y")
	}
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		all := maps.Clone(environments)
		all["value"] = always(value)
		compare(t, data, all)
		checkConversion(t, string(data))
	})
}

func checkConversion(t *testing.T, raw string) {
	t.Helper()
	got, cuts, open := convertLegacy(raw)
	if want := strings.Count(raw, "${"); open != want {
		t.Fatalf("%q: %d expressions may begin, want %d", raw, open, want)
	}
	if want := oracleConvert(raw); got != want {
		t.Fatalf("%q: converted to %q, want %q", raw, got, want)
	}
	for i := range len(got) {
		if got[i] != raw[cuts.raw(i)] {
			t.Fatalf("%q: byte %d of %q leads to %d", raw, i, got, cuts.raw(i))
		}
	}
}

func TestConvertLegacy(t *testing.T) {
	for _, text := range texts {
		checkConversion(t, text)
	}
}

func TestErrorOffset(t *testing.T) {
	for text, want := range map[string]string{
		"é ${A} ${B-x}":               "missing closing brace at byte 8",
		"${A:-x ${B-y} }":             "missing closing brace at byte 7",
		"${A:-x ${B} ":                "unable to parse substitution within function at byte 0",
		"${ A } ${ B } ${":            "unable to parse variable name at byte 14",
		"$$ $${ A } ${A^^b}":          "bad substitution at byte 11",
		strings.Repeat("${A:-", 1001): "expressions are nested more than 1000 deep at byte 5000",
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: got error %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"${ A } ${A:1:-1}":             "clusterctl crashes on this expression: runtime error: slice bounds out of range [1:0] at byte 7",
		"${ A } ${A:-${ A }${A:1:-1}}": "clusterctl crashes on this expression: runtime error: slice bounds out of range [1:0] at byte 18",
	} {
		tmpl := given.Value(Parse([]byte(text)))(t)
		if _, err := tmpl.Execute(always("v")); err == nil || err.Error() != want {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
}

func TestRefs(t *testing.T) {
	const text = "$$ ${ A } ${B:-x${C/a/${ D }}} ${#E}"
	tmpl := given.Value(Parse([]byte(text)))(t)
	want := []Ref{
		{Name: "A", Start: 3, End: 9, Parent: -1, Legacy: true},
		{Name: "B", Start: 10, End: 30, Op: ":-", Default: "x${C}", ArgRaw: "x${C/a/${ D }}", Parent: -1},
		{Name: "C", Start: 16, End: 29, Op: "/", Default: "a${D}", ArgRaw: "a/${ D }", Depth: 1, Parent: 1},
		{Name: "D", Start: 22, End: 28, Depth: 2, Parent: 2, Legacy: true},
		{Name: "E", Start: 31, End: 36, Op: "len", Parent: -1},
	}
	if !slices.Equal(tmpl.Refs(), want) {
		t.Errorf("got  %+v\nwant %+v", tmpl.Refs(), want)
	}
	if want := []escape{{0, 2}}; !slices.Equal(tmpl.Escapes(), want) {
		t.Errorf("got escapes %v, want %v", tmpl.Escapes(), want)
	}
}

func TestSubstituted(t *testing.T) {
	tmpl := given.Value(Parse([]byte("ab ${A} $$ ${B:-${C}}${A} x")))(t)
	text, err := tmpl.Execute(func(name string) (string, bool) { return map[string]string{"A": "12", "C": ""}[name], true })
	given.NoError(t, err)
	if got, want := text.Data, "ab 12 $ 12 x"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	for _, test := range []struct{ start, end, ref int }{
		{0, 2, -1}, {0, 3, 0}, {3, 5, 0}, {4, 4, 0}, {5, 6, 0}, {6, 7, -1}, {7, 8, 1}, {8, 10, 1}, {9, 10, 3}, {10, 11, 3}, {11, 12, -1}, {0, 12, 0},
	} {
		if ref, ok := text.Substituted(test.start, test.end); ref != test.ref || ok != (test.ref >= 0) {
			t.Errorf("[%d,%d): got %d, %v, want %d", test.start, test.end, ref, ok, test.ref)
		}
	}
}

// TestNeeded: a variable is needed unless a default gives it a value. A negative length
// counts as one, because clusterctl crashes on most values.
func TestNeeded(t *testing.T) {
	tmpl := given.Value(Parse([]byte("${A} ${A:=x} ${B:=x} ${C:=} ${D:1:2} ${E:1:-1} ${F:${G}:-1} ${H/x/y} ${I^^} ${I:-x} ${J:1::-1} ${K=x} ${L:+x} ${M:?x} ${N:-1} ${#O}")))(t)
	var needed []string
	for name, is := range tmpl.Needed() {
		if is {
			needed = append(needed, name)
		}
	}
	slices.Sort(needed)
	if want := "A C D F H I O"; strings.Join(needed, " ") != want || len(tmpl.Needed()) != 14 {
		t.Errorf("%v of %d, want %s", needed, len(tmpl.Needed()), want)
	}
}

func TestHolding(t *testing.T) {
	tmpl := given.Value(Parse([]byte(`${A} b ${C} ${D} ${E}`)))(t)
	text := given.Value(tmpl.Execute(func(name string) (string, bool) {
		return map[string]string{"A": "abc", "C": `"long"`, "D": "", "E": `""`}[name], true
	}))(t)
	if want := `abc b "long"  ""`; text.Data != want {
		t.Fatalf("got %s", text.Data)
	}
	for _, test := range []struct {
		start, end int
		text       string
		ref        int
	}{
		{0, 16, "abc", 0}, {0, 3, "abc", 0}, {0, 2, "abc", -1}, {1, 16, "abc", -1}, {0, 16, "xabc", -1}, {0, 16, "b", -1},
		{0, 16, "long", 1}, {0, 16, "so long", 1}, {6, 12, "long", 1}, {6, 11, "long", -1}, {7, 16, "long", -1}, {0, 16, `""`, 3}, {0, 16, "", -1},
	} {
		if ref, ok := text.Holding(test.start, test.end, test.text); ref != test.ref || ok != (test.ref >= 0) {
			t.Errorf("%q in [%d,%d): got %d, %v, want %d", test.text, test.start, test.end, ref, ok, test.ref)
		}
	}
}

func TestNothingToReplaceIsNotCopied(t *testing.T) {
	for _, line := range []string{"plain text\n", "cost: $5 $HOME\n", "a\x00${ not read }\n"} {
		big := strings.Repeat(line, 1<<16)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tmpl := given.Value(Parse(big))(t)
		given.Value(tmpl.Execute(unset))(t)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took >= uint64(len(big)) {
			t.Errorf("%q: %d bytes for a text of %d", line, took, len(big))
		}
	}
}

// shapes are texts of which a careless implementation takes quadratic time.
var shapes = map[string]func(n int) string{
	"escapes":            func(n int) string { return strings.Repeat("a $$ ", n) },
	"dollars":            func(n int) string { return strings.Repeat("$A", n) },
	"variables":          func(n int) string { return strings.Repeat("${A}", n) },
	"legacy":             func(n int) string { return strings.Repeat("${ A }", n) },
	"escaped legacy":     func(n int) string { return strings.Repeat("$${ A ", n) },
	"words":              func(n int) string { return "${A:-" + strings.Repeat("x${B}", n) + "}" },
	"dollars in default": func(n int) string { return "${A:-" + strings.Repeat("$", n) + "}" },
	"escapes in pattern": func(n int) string { return "${A/" + strings.Repeat(`$$\/`, n) + "/x}" },
	"unclosed replace":   func(n int) string { return strings.Repeat("${A/b/}", n) + "${A/b" + strings.Repeat("}", n) + "/}" },
	"names":              func(n int) string { return "${" + strings.Repeat("A", n) + "}" },
	"deep": func(n int) string {
		return strings.Repeat("${A:-x", maxDepth) + strings.Repeat("y", n) + strings.Repeat("}", maxDepth)
	},
	"deep trims": func(n int) string {
		return strings.Repeat("${A#", maxDepth) + strings.Repeat("y", n) + strings.Repeat("}", maxDepth)
	},
	"NUL": func(n int) string { return "$" + strings.Repeat("\x00", n) },
}

// TestLinear counts the memory instead of the time, because it is the same on
// every machine. The sizes are such that quadratic time would hit the timeout
// of the test.
func TestLinear(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			cost := func(n int) uint64 {
				data := []byte(shape(n))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				tmpl := given.Value(Parse(data))(t)
				given.Value(tmpl.Execute(always("")))(t)
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			const n = 1 << 15
			if small, big := cost(n), cost(4*n); big > 6*small+1<<20 {
				t.Errorf("4 times the text takes %.1f times the memory", float64(big)/float64(small))
			}
		})
	}
}

func TestLimits(t *testing.T) {
	for name, test := range map[string]struct{ text, value string }{
		"doubling":     {strings.Repeat("${A//x/", 40) + "x" + strings.Repeat("}", 40), "xx"},
		"long result":  {strings.Repeat("${A}", 1<<9), strings.Repeat("x", 1<<20)},
		"long replace": {"${A//x/" + strings.Repeat("y", 1<<15) + "}", strings.Repeat("x", 1<<15)},
		"trim":         {"${A%*.*.*}", strings.Repeat(".x", 1<<15)},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, err := Parse([]byte(test.text))
			given.NoError(t, err)
			var at *Error
			if _, err = tmpl.Execute(always(test.value)); !errors.As(err, &at) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestUsualSizesAreWithinLimits(t *testing.T) {
	certificate := strings.Repeat("0123456789abcde\n", 1<<9) + "-----END"
	for text, want := range map[string]string{
		"${A%-*}":                         strings.TrimSuffix(certificate, "-END"),
		"${A##*---}":                      "END",
		"${A%" + certificate[4096:] + "}": certificate[:4096],
		"${A//\n/\n    }":                 strings.ReplaceAll(certificate, "\n", "\n    "),
		strings.Repeat("${A:-", 500) + "x" + strings.Repeat("}", 500): certificate,
	} {
		tmpl := given.Value(Parse([]byte(text)))(t)
		got, err := tmpl.Execute(always(certificate))
		if err != nil || got.Data != want {
			t.Errorf("%.40q: got %v, %.40q", text, err, got.Data)
		}
	}
}
