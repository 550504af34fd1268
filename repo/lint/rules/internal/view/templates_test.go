package view

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// TestMeant suggests a field for one that is unknown: another case of letters before
// other letters, and nothing that is far away.
func TestMeant(t *testing.T) {
	parse := func(text string) *yamldoc.Document {
		return yamldoc.Parse(yamldoc.NewFile("a", []byte(text))).Docs[0]
	}
	schema := crd.Schema{Node: parse("{type: object, properties: {isPrivateNetwork: {type: string}, region: {type: string}, id: {type: string}, IDs: {type: string}}}").Root}
	for field, want := range map[string]string{
		"IsPRIVATEnetwork": "isPrivateNetwork", "regoin": "region", "zone": "", "ids": "IDs", "x": "", "region: b, regoin": "",
	} {
		d := parse("{" + field + ": a}")
		list := new(crd.Checker).Check(schema, d.Root, true)
		if len(list) != 1 || Meant(list[0]) != want {
			t.Errorf("%s: %v, want %q", field, list, want)
		}
	}
}
