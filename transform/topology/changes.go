package topology

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Change is a value of an object that an operation of a patch adds, removes or replaces.
type Change struct {
	Path string
	// Before and After are nil where there is none.
	Before, After any
	// Cause names the patch and the variables that it reads.
	Cause string
}

// changes applies the operations to a template again, one by one, and compares what is made
// of it before and after each. Fields that Cluster API puts back do not change.
func (g *generator) changes(p *extension.Part, t *patch.Template) (out []Change) {
	now, before := encoded(p.Template), plain(p.Patched(plain(p.Template)))
	for _, w := range t.Writes {
		next, err := patch.ApplyJSON(now, encoded([]any{w.Step}))
		if err == nil {
			next, err = patch.Keep(now, next, contract.NewestCore)
		}
		if err != nil {
			continue // it works only together with those around it
		}
		after := plain(p.Patched(plain(json.RawMessage(next))))
		paths, _ := extension.Changed(encoded(before), encoded(after)) // both are JSON
		slices.SortFunc(paths, slices.Compare)
		for _, path := range paths {
			a, _ := extension.Get(before, path...)
			b, _ := extension.Get(after, path...)
			out = append(out, Change{crd.Join(path), a, b, cause(w)})
		}
		now, before = next, after
	}
	return out
}

// cause names the patch of an operation, and the variables that decide about it.
func cause(w patch.Write) string {
	text := fmt.Sprintf("patch %q", w.Patch.Name)
	if names := w.Reads(); len(names) == 1 {
		text += ", variable " + names[0]
	} else if len(names) > 1 {
		text += ", variables " + phrase.And(names)
	}
	if names := clusterclass.Reads(w.Patch.EnabledIf.Str()); len(names) > 0 {
		text += ", enabled by " + phrase.And(names)
	}
	return text
}
