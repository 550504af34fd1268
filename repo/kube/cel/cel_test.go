package cel_test

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// check judges a schema of an object with a few fields and one rule.
func check(rule string) (messages []string) {
	text := `type: object
required: [name]
properties:
  name: {type: string, maxLength: 63}
  tags: {type: array, items: {type: string}}
  parts: {type: array, maxItems: 3, items: {type: object, properties: {size: {type: integer}}, x-kubernetes-validations: [{rule: self.size > 0}]}}
x-kubernetes-validations:
- ` + rule + "\n"
	for _, f := range cel.Check(document(text), "net") {
		messages = append(messages, f.Message)
	}
	return messages
}

// TestPolicyVariables uses a variable where a boolean is needed. One whose type is not
// known here may be a boolean; one of any type is refused.
func TestPolicyVariables(t *testing.T) {
	for text, refused := range map[string]bool{
		"true": false, "1": true, "object.spec": true, "namespaceObject.metadata": false,
		"authorizer.serviceAccount('a', 'b')": false,
	} {
		c := cel.NewPolicy()
		given.NoError(t, c.Declare("v", text))
		if err := c.Condition("variables.v", "bool"); (err != nil) != refused {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCheck says what is wrong in a rule; an empty text is nothing.
func TestCheck(t *testing.T) {
	for rule, want := range map[string]string{
		`rule: self.name != ''`: "",
		`{rule: "self.name == oldSelf.name", optionalOldSelf: false}`:     "",
		`{rule: self == oldSelf, messageExpression: "'no ' + self.name"}`: "",
		`rule: self ==`:        "a rule of net does not compile: column 8",
		`rule: self.nope == 1`: "undefined field 'nope'",
		`rule: self.name == 1`: "no matching overload",
		`rule: self.name`:      "returns string, but must return bool",
		`rule: "self.tags.all(a, self.tags.all(b, a == b))"`:                              "costs more than 100 times",
		`{rule: self.name != '', messageExpression: "1"}`:                                 "returns int, but must return string",
		`{rule: self.name != '', fieldPath: .nope}`:                                       `fieldPath ".nope" does not name`,
		`{rule: self.name != '', fieldPath: ".name"}`:                                     "",
		`{rule: self.name != '', reason: Wrong}`:                                          `reason of a rule of net is "Wrong"`,
		`{rule: self.name != '', message: " "}`:                                           "is blank",
		`{rule: "self.name !=\n ''"}`:                                                     "line breaks but no message",
		`{message: x}`:                                                                    "is empty",
		`{rule: self.name != '', optionalOldSelf: true}`:                                  "does not use oldSelf",
		`rule: "quantity(self.name).isGreaterThan(quantity('1Gi'))"`:                      "",
		`rule: "ip(self.name).family() == 4 && cidr('10.0.0.0/8').containsIP(self.name)"`: "",
		`rule: "semver(self.name, true).major() == 1 && url(self.name).getHost() == ''"`:  "",
	} {
		faults := check(rule)
		switch {
		case want == "" && len(faults) > 0:
			t.Errorf("%s: %s", rule, faults[0])
		case want != "" && (len(faults) != 1 || !strings.Contains(faults[0], want)):
			t.Errorf("%s: %v, want %s", rule, faults, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("rule: self.name")
	f.Add("{rule: '(', fieldPath: \"['\", reason: [], message: {}}")
	f.Fuzz(func(_ *testing.T, rule string) {
		if docs := yamldoc.Parse(yamldoc.NewFile("rule", []byte(rule))).Docs; len(docs) == 1 && docs[0].Err == nil {
			check(rule)
		}
	})
}
