package contract

import (
	"embed"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// CoreRelease is the one of Cluster API that the schemas of CoreSchema are from.
const CoreRelease = "v1.14"

// schemas hold one file for each group, kind and version, made by the test that
// keeps them up to date (test/oracle, TestCoreSchemas).
//
//go:embed schemas/*.yaml
var schemas embed.FS

// parsed are the schemas by the name of their file.
var parsed sync.Map

// CoreSchema returns what Cluster API says about the objects of a kind that providers use:
// those of the core and of the kubeadm providers. Ok is false for kinds and versions that it
// does not know.
func CoreSchema(group, kind, version string) (s crd.Schema, ok bool) {
	name := "schemas/" + group + "_" + kind + "_" + version + ".yaml"
	load, known := parsed.Load(name)
	if !known {
		load, _ = parsed.LoadOrStore(name, sync.OnceValue(func() crd.Schema {
			data, err := schemas.ReadFile(name)
			if err != nil {
				return crd.Schema{}
			}
			return crd.Schema{Node: yamldoc.Parse(yamldoc.NewFile(name, data)).Docs[0].Root}
		}))
	}
	s = load.(func() crd.Schema)()
	return s, s.Node != nil
}
