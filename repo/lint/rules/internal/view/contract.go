package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/renamed"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// Renamed is the advice for objects of Cluster API that are in a deprecated version: what
// becomes of their fields, or "" if all fields stay.
func Renamed(objects ...*manifest.Object) string {
	var all []string
	for _, o := range objects {
		k := renamed.Find(o.Get("apiVersion").Str(), o.Kind)
		if k == nil {
			continue
		}
		for _, f := range k.In(o.Doc.Root) {
			text := f.Path + " of " + o.Kind
			switch {
			case f.To == "":
				text += " is gone: " + f.Note
			case f.To == f.Path:
				text += " is " + f.Note
			case f.Note == "":
				text += " is " + f.To
			default:
				text += " is " + f.To + ", " + f.Note
			}
			if !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	const most = 3
	if more := len(all) - most; more > 1 {
		all = append(all[:most], fmt.Sprintf("and %d more fields change", more))
	}
	return "Convert them to v1beta2, where " + strings.Join(all, "; ") + "."
}
