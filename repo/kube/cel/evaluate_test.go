package cel_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func document(text string) *yamldoc.Node {
	return yamldoc.Parse(yamldoc.NewFile("value", []byte(text))).Docs[0].Root
}

// TestEvaluate evaluates one rule of an object; an empty text says that the value is in order.
func TestEvaluate(t *testing.T) {
	const fields = `type: object
properties:
  name: {type: string, maxLength: 63}
  old-name: {type: string, nullable: true}
  count: {type: integer, default: 2}
  share: {type: number}
  either: {x-kubernetes-int-or-string: true}
  wait: {type: string, format: duration}
  tags: {type: object, additionalProperties: {type: string}}
  parts: {type: array, maxItems: 3, items: {type: object, properties: {size: {type: integer}}, x-kubernetes-validations: [{rule: self.size > 0, message: size is positive}]}}
x-kubernetes-validations:
- `
	for _, c := range []struct{ rule, value, want string }{
		{`rule: self.name != ''`, `{name: a}`, ""},
		{`rule: self.name != ''`, `{name: ''}`, "net breaks a validation rule: self.name != ''"},
		{`{rule: self.name != '', message: Name it.}`, `{name: ''}`, "net breaks a validation rule: Name it."},
		{`{rule: self.name != '', messageExpression: "'count ' + string(self.count)"}`, `{name: ''}`, "net breaks a validation rule: count 2"},
		{`rule: self.name != ''`, `{count: 3}`, "no such key: name"},
		{`rule: "!has(self.name) || self.count == 2"`, `{}`, ""},
		{`rule: self.count > 2`, `{}`, "self.count > 2"},
		{`rule: has(self.old__dash__name) && self.old__dash__name == null`, `{old-name: null}`, ""},
		{`rule: self.share < 1.5`, `{share: 1}`, ""},
		{`rule: "type(self.either) == int && self.either == 1"`, `{either: 1}`, ""},
		{`rule: "self.wait > duration('1m')"`, `{wait: 1h}`, ""},
		{`rule: "self.wait > duration('1m')"`, `{wait: 1s}`, "self.wait > duration('1m')"},
		{`rule: "self.tags.all(k, self.tags[k] != '')"`, `{tags: {a: b}}`, ""},
		{`rule: "'a' in self.tags"`, `{tags: {b: a}}`, "'a' in self.tags"},
		{`rule: self.name == oldSelf.name`, `{name: a}`, ""},
		{`{rule: "oldSelf.hasValue() || self.name == 'a'", optionalOldSelf: true}`, `{name: b}`, "oldSelf.hasValue()"},
		{`rule: size(self.parts) < 2`, `{parts: [{size: 1}, {size: 0}]}`, "net breaks a validation rule: size(self.parts) < 2; net.parts[1] breaks a validation rule: size is positive"},
		{`rule: self.name == ${NAME}`, `{name: a}`, ""}, // does not compile
		{`rule: self.name == 'b'`, `{name: open}`, ""},
		{`rule: self.count == 3`, `{name: open}`, "self.count == 3"},
		{`rule: self == self && self.count == 3`, `{name: open}`, ""},
	} {
		of := cel.Values{Filled: true, Open: func(n *yamldoc.Node) bool { return n.Str() == "open" }}
		var got []string
		for _, v := range cel.Evaluate(document(fields+c.rule+"\n"), document(c.value), of, "net") {
			got = append(got, strings.ReplaceAll(strings.Join(v.Path, "."), ".[", "[")+" "+v.Message)
		}
		if text := strings.Join(got, "; "); !strings.Contains(text, c.want) || c.want == "" && text != "" {
			t.Errorf("%s with %s: %q, want %q", c.rule, c.value, text, c.want)
		}
	}
}

// TestEvaluateDefault tries a default as a new value and as one that does not change.
func TestEvaluateDefault(t *testing.T) {
	for rule, want := range map[string]int{"self > oldSelf": 1, "self == oldSelf": 0, "self > 1": 1} {
		schema := document("type: integer\nx-kubernetes-validations:\n- rule: " + rule + "\n")
		value := document("default: 1").Get("default")
		if got := cel.Evaluate(schema, value, cel.Values{Unchanged: true}); len(got) != want || want > 0 && got[0].Node != value {
			t.Errorf("%s: %v", rule, got)
		}
	}
}

// TestEvaluateObject knows the fields that all objects have.
func TestEvaluateObject(t *testing.T) {
	schema := document("type: object\nproperties: {spec: {type: object, properties: {name: {type: string, default: x}}}}\nx-kubernetes-validations:\n- rule: self.metadata.name == self.spec.name && self.kind == 'Foo'\n")
	for text, want := range map[string]int{
		"{kind: Foo, metadata: {name: x, labels: {}}, spec: {name: null}}": 0,
		"{kind: Foo, metadata: {name: x}, spec: {name: other}}":            1,
	} {
		if got := cel.Evaluate(schema, document(text), cel.Values{Received: true, Resource: true}); len(got) != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestEvaluateFunctions evaluates the functions of Kubernetes that have a binding;
// rules with others are passed over.
func TestEvaluateFunctions(t *testing.T) {
	for _, c := range []struct {
		rule, value string
		broken      bool
	}{
		{"isURL(self)", "https://a", false},
		{"isURL(self)", "a", true},
		{"url(self).getScheme() == 'https' && url(self).getHost() == 'a:1' && url(self).getHostname() == 'a' && url(self).getPort() == '1' && url(self).getEscapedPath() == '/b'", "https://a:1/b#c", false},
		{"url(self).getPort() == ''", "a", true},
		{"isIP(self) && ip(self).family() == 4", "10.0.0.1", false},
		{"ip(self).family() == 6", "10.0.0.1", true},
		{"isIP(self)", "::ffff:10.0.0.1", true},
		{"ip(self).family() == 6", "a", true},
		{"isCIDR(self)", "10.0.0.0/8", false},
		{"isCIDR(self)", "10.0.0.0", true},
		{"isCIDR(self)", "::ffff:10.0.0.0/104", true},
		{"isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi')) && quantity(self).isLessThan(quantity('3Gi'))", "2Gi", false},
		{"quantity(self).compareTo(quantity('1Gi')) == 0", "1.5Gi", true},
		{"quantity(self).compareTo(quantity('1Gi')) == 0", "a", true},
		{"self.find('[0-9]+') == '12'", "a12b3", false},
		{"self.find('[0-9]+') == '3'", "a12b3", true},
		{"cidr(self).prefixLength() == 9", "10.0.0.0/8", false},
	} {
		schema := document("type: string\nmaxLength: 40\nx-kubernetes-validations:\n- rule: \"" + c.rule + "\"\n")
		value := document("value: '" + c.value + "'").Get("value")
		if got := cel.Evaluate(schema, value, cel.Values{}); (len(got) > 0) != c.broken {
			t.Errorf("%s for %s: %v", c.rule, c.value, got)
		}
	}
}
