package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// placesOf counts the findings of a rule in a file of a release.
func placesOf(t *testing.T, rule, file, text string) (errors, all int, places []string) {
	t.Helper()
	list, err := examples.Findings(context.Background(), examples.Files{Text: map[string]string{"infrastructure-foo/v1.0.0/" + file: text}})
	given.NoError(t, err)
	for _, f := range list {
		if f.Rule.ID == rule {
			all++
			if f.Severity == lint.Error {
				errors++
			}
			places = append(places, fmt.Sprintf("%d:%d", f.Pos.Line, f.Pos.Column))
		}
	}
	return errors, all, places
}

// TestYAML015 has the cases that the example does not show.
func TestYAML015(t *testing.T) {
	const template, components = "cluster-template.yaml", "infrastructure-components.yaml"
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	key := func(text string, n int) string { return object + "data:\n  " + strings.Repeat(text, n) + ": v\n" }
	for _, row := range []struct {
		file, text string
		want       string // the places
	}{
		{template, object + `data: {a: "\x7f"}` + "\n", "4:11"},
		{template, object + `data: {a: "\x80"}` + "\n", "4:11"},
		{template, object + `data: {a: "\u0080", b: "\uFFFE", c: "\U0000FFFF"}` + "\n", "4:11 4:24 4:37"},
		{template, object + `data: {a: "\u00A0\u2028\uFEFF\e\0"}` + "\n", ""},
		{template, object + `data: {"a\x7f": b}` + "\n", "4:8"},
		{components, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nsubjects:\n- {kind: ServiceAccount, namespace: \"\\x80\", name: \"\\x80\"}\n", "5:51"},
		{template, "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a}\nsubjects:\n- {kind: ServiceAccount, namespace: \"\\x80\"}\n", "5:37"},
		{template, object + `data: {? "a\x7f" : b}` + "\n", "4:10"},
		{template, object + `data: {a: "\x7f", a: b}` + "\n", ""}, // the last one counts
		{template, object + `data: {a: b, a: "\x7f"}` + "\n", "4:17"},
		{template, object + `data: {a: !!binary fw==}` + "\n", "4:11"},
		{template, object + `data: {a: ${A:="\x7f"}}` + "\n", "4:11"},
		{template, object + `data: {a: "${A}\x7f"}` + "\n", "4:11"},
		{template, object + `data: {a: [b, "\x7f"]}` + "\n", "4:15"},
		{template, key("k", 1022), ""},
		{template, key("k", 1023), "5:3"},
		{template, key("<", 170), ""},
		{template, key("<", 172), "5:3"},
		{template, key("${NAMESPACE}", 146), ""},
		{template, object + "data:\n  " + strings.Repeat("${CLUSTER_NAME}", 102) + "abc: v\n", "5:3"}, // "my-cluster" has ten characters
		{template, object + "data:\n  ? " + strings.Repeat("k", 2000) + "\n  : v\n", "5:5"},
		// clusterctl writes its own namespace and label, and drops what its types do not have.
		{template, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: \"\\x7f\"}\n", ""},
		{template, "apiVersion: v1\nkind: Node\nmetadata: {name: a, namespace: \"\\x7f\"}\n", "3:32"},
		{components, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {cluster.x-k8s.io/provider: \"\\x7f\"}}\n", ""},
		{template, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {cluster.x-k8s.io/provider: \"\\x7f\"}}\n", "3:57"},
		{components, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {versions: [{name: v1, schema: {openAPIV3Schema: {foo: \"\\x7f\", description: \"\\x7f\"}}}]}\n", "4:83"},
		{components, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nfoo: \"\\x7f\"\n", ""},
		{components, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {paused: false, template: {metadata: {annotations: {a: \"\\x7f\"}}}}\n", "4:62"},
	} {
		if _, _, places := placesOf(t, "YAML015", row.file, row.text); strings.Join(places, " ") != row.want {
			t.Errorf("%.120q: findings at %v, want %s", row.text, places, row.want)
		}
	}
}

// TestHiddenLabels has values that are not used, and a number that looks like a variable.
func TestHiddenLabels(t *testing.T) {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n"
	for text, want := range map[string]string{
		object + "    <<: [{a: x}, {a: y}]\n": "",
		object + "    <<: [{a: y}, {a: x}]\n": "6:14",
		object + "    a: x${#B}\n":            "",
		object + "    a: ${#B}\n":             "6:8",
		object + "    a: ${B}\n":              "",
	} {
		if _, _, places := placesOf(t, "YAML009", "cluster-template.yaml", text); strings.Join(places, " ") != want {
			t.Errorf("%q: findings at %v, want %s", text, places, want)
		}
	}
}

// TestSlashEscape is about the escape that many encoders of JSON write.
func TestSlashEscape(t *testing.T) {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for text, want := range map[string]string{
		object + `data: {a: "https:\/\/x"}` + "\n":        "4:18",
		object + "data:\n  \"b\\/\": 'c\\/'\n":            "5:5",
		"{\"a\": \"b\\\\/\",\n \"c\": \"\\\\\\/\"}\n":     "2:10",
		object + `data: {a: 'https:\/\/x'}` + "\n":        "",
		object + `data: {a: https:\/\/x}` + "\n":          "",
		object + "data: # \"\\/\"\n  a: |\n    \"\\/\"\n": "",
	} {
		errors, _, places := placesOf(t, "YAML001", "cluster-template.yaml", text)
		if strings.Join(places, " ") != want || errors != len(places) {
			t.Errorf("%q: %d errors, findings at %v, want %s", text, errors, places, want)
		}
	}
}

// TestVariablesBeforeTheBreak is about documents that no plausible value of a variable
// repairs, and those that one does.
func TestVariablesBeforeTheBreak(t *testing.T) {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for _, row := range []struct {
		text        string
		errors, all int
	}{
		{object + "a: ${KUBERNETES_VERSION}\n    b: c\n", 1, 1},
		{object + "a: ${SOME_VALUE}\n    b: c\n", 1, 1},
		{object + "a: ${SOME_VALUE} # comment\n    b: c\n", 1, 1},
		{object + "a:\n- ${SOME_VALUE}\n    b: c\n", 1, 1},
		{object + "a: \"${SOME_VALUE}\"\n    b: c\n", 1, 1},
		{object + "a: [${SOME_VALUE}\nb: c\n", 1, 1},
		{object + "a: ${SOME_VALUE}\nc: [${OTHER}\n", 1, 1},
		{object + "a: ${SOME_VALUE}\n", 0, 0},
		{object + "${LINES}\n  b: c\n", 0, 1},     // LINES=a:
		{object + "${COMMENT}a: b: c\n", 1, 1},    // nothing but # would help
		{object + "a:\n${LINES}\n  b: c\n", 0, 0}, // nothing
		{object + "a: ${SOME_VALUE}-x\nb: {${OTHER}: 1}\n", 0, 0},
		{object + "a: ${A}-x\nb: ${B}c\n", 0, 0},
	} {
		errors, all, _ := placesOf(t, "YAML001", "cluster-template.yaml", row.text)
		if errors != row.errors || all != row.all {
			t.Errorf("%q: %d findings, %d of them errors; want %d, %d", row.text, all, errors, row.all, row.errors)
		}
	}
}

// TestVAR021 has the places where the quotes of a default do harm, and those where they do not.
func TestVAR021(t *testing.T) {
	for value, want := range map[string][2]int{ // errors and all
		`${A:=""}`:                             {0, 0},
		`${A:=""} # comment`:                   {0, 0},
		`[${A:=""}]`:                           {0, 0},
		`"x${A:=""}"`:                          {1, 1},
		`${A:=""}x`:                            {1, 1},
		`${A:=''}${B:=''}x`:                    {1, 1},
		`'${A:=""}'`:                           {0, 1},
		`'x${A:=""}y'`:                         {0, 1},
		`x${A:=''}`:                            {0, 1},
		`'${A:=''}'`:                           {0, 1}, // one quote
		`echo ${A:=""}`:                        {0, 0}, // a command
		`--a=${A:=""}`:                         {0, 0}, // a flag
		`'{"b":${A:=""}}'`:                     {0, 0}, // JSON
		"|\n    A=${A:=\"\"}":                  {0, 0},
		"'x${A:=\"\"}y'\nb: ]":                 {0, 0}, // YAML001
		"'x-${A:=\"\"}y'\nb: ]":                {0, 0},
		`${A:="x"}:80`:                         {1, 1},
		`{b: ${A:="x"}:80}`:                    {1, 1},
		`{'b':${A:=""}x}`:                      {1, 1},
		"\n  \"b\":${A:=\"x\"}y":               {0, 0}, // YAML001
		`{"b":${A:=""}x}`:                      {1, 1},
		"{${A:=\"x\"}:80}\nb: ]":               {0, 0}, // YAML001
		"x\nb: '${CLUSTER_NAME}${A:=\"c d\"}'": {0, 0},
	} {
		errors, all, _ := placesOf(t, "VAR021", "cluster-template.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\na: "+value+"\n")
		if got := [2]int{errors, all}; got != want {
			t.Errorf("%s: errors and findings %v, want %v", value, got, want)
		}
	}
}
