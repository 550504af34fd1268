package view

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// TestMeant suggests a field for one that is unknown: another case of letters before
// other letters, and nothing that is far away.
func TestMeant(t *testing.T) {
	parse := func(text string) *yamldoc.Node {
		return yamldoc.Parse(yamldoc.NewFile("a", []byte(text))).Docs[0].Root
	}
	schema := crd.Schema{Node: parse("{type: object, properties: {isPrivateNetwork: {type: string}, region: {type: string}, id: {type: string}, IDs: {type: string}}}")}
	for field, want := range map[string]string{
		"IsPRIVATEnetwork": "isPrivateNetwork", "regoin": "region", "zone": "", "ids": "IDs", "x": "",
	} {
		list := new(crd.Checker).Check(schema, parse("{"+field+": a}"), true)
		if len(list) != 1 || Meant(list[0]) != want {
			t.Errorf("%s: %v, want %q", field, list, want)
		}
	}
}
