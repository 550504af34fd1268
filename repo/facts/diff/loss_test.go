package diff

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// wholeRelease is a release with everything that can be lost.
func wholeRelease() map[string]string {
	return map[string]string{
		"infrastructure-components.yaml": `apiVersion: v1
kind: Namespace
metadata: {name: foo-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: foo-controller-manager, namespace: foo-system}
spec:
  template:
    spec:
      containers:
      - {name: kube-rbac-proxy, image: "registry.example.com/kube-rbac-proxy:v1.0.0"}
      - {name: manager, image: "ghcr.io/acme/foo:v1.0.0"}
---
` + strings.TrimSuffix(schemaIn("{type: object}"), "\n") + `
---
apiVersion: v1
kind: Secret
metadata: {name: a}
---
apiVersion: v1
kind: Secret
metadata: {name: b}
---
apiVersion: v1
kind: Secret
metadata: {name: c}
`,
		"metadata.yaml":            "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n- {major: 1, minor: 1, contract: v1beta2}\n",
		"cluster-template.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\n",
		"cluster-template-ha.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\n",
		"clusterclass-quick.yaml":  "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: quick}\n",
	}
}

// TestLosses makes a second version of a release with one thing lost or wrong, and
// second versions in order.
func TestLosses(t *testing.T) {
	const components = "infrastructure-components.yaml"
	edit := func(file, old, new string) func(map[string]string) {
		return func(files map[string]string) {
			if !strings.Contains(files[file], old) {
				panic(old + " is not in " + file)
			}
			files[file] = strings.ReplaceAll(files[file], old, new)
		}
	}
	without := func(name string) func(map[string]string) {
		return func(files map[string]string) { delete(files, name) }
	}
	all := func(list ...func(map[string]string)) func(map[string]string) {
		return func(files map[string]string) {
			for _, f := range list {
				f(files)
			}
		}
	}
	tagged := edit(components, "acme/foo:v1.0.0", "acme/foo:v1.1.0")
	const other = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other, namespace: foo-system}\nspec: {template: {spec: {containers: [{name: manager, image: \"registry.example.com/other:v2.5.0\"}]}}}\n"
	for name, c := range map[string]struct {
		old, new func(map[string]string)
		want     string // name: message
	}{
		"a flavor":            {nil, all(tagged, without("cluster-template-ha.yaml")), "flavor ha: cluster-template-ha.yaml is gone; v1.0.0 has it"},
		"the default flavor":  {nil, all(tagged, without("cluster-template.yaml")), "flavor default: cluster-template.yaml is gone"},
		"a class":             {nil, all(tagged, without("clusterclass-quick.yaml")), "class quick: ClusterClass quick is gone; v1.0.0 has it in clusterclass-quick.yaml"},
		"the name of a class": {nil, all(tagged, edit("clusterclass-quick.yaml", "name: quick", "name: slow")), "class quick: ClusterClass quick is gone"},
		"a CRD":               {nil, all(tagged, edit(components, "name: foos.example.com", "name: bars.example.com")), "crd foos.example.com: CRD foos.example.com is gone; v1.0.0 has it"},
		"a served version":    {nil, all(tagged, edit(components, "served: true", "served: false")), "version foos.example.com/v1: CRD foos.example.com no longer serves v1; v1.0.0 serves it"},
		"the old image again": {nil, all(), "image ghcr.io/acme/foo:[^ ]*: container manager of Deployment foo-system/foo-controller-manager runs ghcr.io/acme/foo:v1.0.0; want the tag v1.1.0, because v1.0.0 has the tag v1.0.0"},
		"a tag without v":     {nil, edit(components, "acme/foo:v1.0.0", "acme/foo:1.1.0"), "image ghcr.io/acme/foo:[^ ]*: .* runs ghcr.io/acme/foo:1.1.0; want the tag v1.1.0"},
		"a tag with v":        {edit(components, "acme/foo:v1.0.0", "acme/foo:1.0.0"), tagged, "image ghcr.io/acme/foo:[^ ]*: .* runs ghcr.io/acme/foo:v1.1.0; want the tag 1.1.0"},
		"a moving tag":        {nil, edit(components, "acme/foo:v1.0.0", "acme/foo:latest"), "image ghcr.io/acme/foo:[^ ]*: .* runs ghcr.io/acme/foo:latest; want the tag v1.1.0"},
		"another image":       {nil, edit(components, "acme/foo:v1.0.0", "acme/controller:v1.1.0"), "image ghcr.io/acme/foo:[^ ]*: .* runs ghcr.io/acme/controller:v1.1.0; v1.0.0 runs ghcr.io/acme/foo:v1.0.0"},
		"a variable":          {nil, edit(components, "ghcr.io/acme/foo:v1.0.0", "${IMAGE}"), "image ghcr.io/acme/foo:[^ ]*: container manager of .* runs .*IMAGE.*; v1.0.0 runs ghcr.io/acme/foo:v1.0.0"},
		"another registry":    {nil, edit(components, "ghcr.io/acme/foo:v1.0.0", "localhost:5000/foo:v1.1.0"), "image ghcr.io/acme/foo:[^ ]*: .* runs localhost:5000/foo:v1.1.0; v1.0.0 runs"},
		"a pinned tag again":  {edit(components, "acme/foo:v1.0.0", "acme/foo:abc123"), edit(components, "acme/foo:v1.0.0", "acme/foo:abc123"), "image ghcr.io/acme/foo:[^ ]*: .* runs ghcr.io/acme/foo:abc123, which is the image of v1.0.0"},
		"no controller":       {nil, edit(components, "kind: Deployment", "kind: Gone"), "image ghcr.io/acme/foo:[^ ]*: container manager of Deployment .* is gone; v1.0.0 runs ghcr.io/acme/foo:v1.0.0 in it"},
		"another namespace":   {nil, all(tagged, edit(components, "name: foo-system", "name: bar-system")), "namespace foo-system: the Namespace is bar-system; v1.0.0 has foo-system"},
		"a lower contract":    {nil, all(tagged, edit("metadata.yaml", "minor: 1, contract: v1beta2", "minor: 1, contract: v1beta1")), "contract v1beta2: metadata.yaml gives v1.1.0 contract v1beta1; v1.0.0 has v1beta2"},
		"most of a kind":      {nil, all(tagged, edit(components, "kind: Secret\nmetadata: {name: a}", "kind: X"), edit(components, "kind: Secret\nmetadata: {name: b}", "kind: X")), "objects Secret: the components hold 1 Secret; v1.0.0 has 3"},
		"the components":      {nil, all(tagged, without(components)), "components " + components},

		"all of one or two": {nil, all(tagged, func(files map[string]string) {
			files[components] = strings.ReplaceAll(files[components], "kind: Namespace", "kind: Place")
		}), "objects Namespace: the components hold 0 Namespaces; v1.0.0 has 1"},

		"the next version":         {nil, tagged, ""},
		"a manager of others":      {func(files map[string]string) { files[components] += other }, all(tagged, func(files map[string]string) { files[components] += other }), ""},
		"a tag of another version": {edit(components, "kube-rbac-proxy:v1.0.0", "kube-rbac-proxy:v11.0.0"), all(tagged, edit(components, "kube-rbac-proxy:v1.0.0", "kube-rbac-proxy:v11.0.0")), ""},
		"a candidate's tag":        {edit(components, "acme/foo:v1.0.0", "acme/foo:v1.0.0-rc.0"), tagged, ""},
		"a new flavor":             {nil, all(tagged, func(files map[string]string) { files["cluster-template-new.yaml"] = "a: b\n" }), ""},
		"tags without v":           {edit(components, "acme/foo:v1.0.0", "acme/foo:1.0.0"), edit(components, "acme/foo:v1.0.0", "acme/foo:1.1.0"), ""},
		"tags with a suffix":       {edit(components, "acme/foo:v1.0.0", "acme/foo:v1.0.0-debian"), edit(components, "acme/foo:v1.0.0", "acme/foo:v1.1.0-debian"), ""},
		"moving tags":              {edit(components, "acme/foo:v1.0.0", "acme/foo:main"), edit(components, "acme/foo:v1.0.0", "acme/foo:main"), ""},
		"other pinned tags":        {edit(components, "acme/foo:v1.0.0", "acme/foo:abc"), edit(components, "acme/foo:v1.0.0", "acme/foo:def"), ""},
		"an image of others stays": {nil, tagged, ""},
		"an image of others goes":  {nil, all(tagged, edit(components, "      - {name: kube-rbac-proxy, image: \"registry.example.com/kube-rbac-proxy:v1.0.0\"}\n", "")), ""},
		"a higher contract":        {edit("metadata.yaml", "minor: 0, contract: v1beta2", "minor: 0, contract: v1beta1"), tagged, ""},
		"a class in another file": {nil, all(tagged, func(files map[string]string) {
			files["clusterclass-other.yaml"] = files["clusterclass-quick.yaml"]
			delete(files, "clusterclass-quick.yaml")
		}), ""},
		"another Deployment's name": {nil, all(tagged, edit(components, "name: foo-controller-manager", "name: foo-manager")), ""},
		"one of three is gone":      {nil, all(tagged, edit(components, "kind: Secret\nmetadata: {name: a}", "kind: X")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			old, new := wholeRelease(), wholeRelease()
			if c.old != nil {
				c.old(old)
			}
			c.new(new)
			found := given.Value(Losses(t.Context(), []*repo.Release{release("v1.0.0", old)}, []*repo.Release{release("v1.1.0", new)}))(t)
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "|")
			}
			var names []string
			for _, l := range found {
				names = append(names, l.Name+": "+l.Message)
				if l.Fix == "" || l.Path == "" || l.Release == nil {
					t.Errorf("no fix or place: %+v", l)
				}
			}
			if len(names) != len(want) || slices.ContainsFunc(want, func(w string) bool {
				return !slices.ContainsFunc(names, regexp.MustCompile("^"+w).MatchString)
			}) {
				t.Errorf("got %q, want %q", names, want)
			}
		})
	}
}

// TestLostProvider: the components of a second provider, and another label on the same
// components.
func TestLostProvider(t *testing.T) {
	first, second := release("v1.0.0", wholeRelease()), release("v1.0.0", map[string]string{"bootstrap-components.yaml": "a: b\n"})
	second.Provider = layouts.Provider{Type: layouts.Bootstrap, Name: "foo"}
	renamed := *first
	renamed.Provider.Name = "bar"
	for name, c := range map[string]struct {
		last, next []*repo.Release
		want       string
	}{
		"both":              {[]*repo.Release{first, second}, []*repo.Release{first, second}, ""},
		"one":               {[]*repo.Release{first, second}, []*repo.Release{first}, "components bootstrap-components.yaml: v1.0.0 of bootstrap-foo has bootstrap-components.yaml; this release has only infrastructure-foo"},
		"two with one name": {[]*repo.Release{first, &renamed}, []*repo.Release{&renamed}, "components infrastructure-components.yaml: v1.0.0 of infrastructure-foo has infrastructure-components.yaml; this release has only infrastructure-bar"},
		"relabels":          {[]*repo.Release{first}, []*repo.Release{&renamed}, "provider infrastructure-foo: the provider label is infrastructure-bar; v1.0.0 has infrastructure-foo"},
	} {
		var got []string
		for _, l := range given.Value(Losses(t.Context(), c.last, c.next))(t) {
			if !strings.HasPrefix(l.Name, "image ") { // the same version twice
				got = append(got, l.Name+": "+l.Message)
			}
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestCorpusLosesNothing: a real release against itself with another version has lost
// nothing, but for images that have the version as their tag.
func TestCorpusLosesNothing(t *testing.T) {
	all := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	for _, p := range all.Providers {
		r := p.Releases[0]
		next := *r
		found, err := Losses(t.Context(), []*repo.Release{r}, []*repo.Release{&next})
		if err != nil {
			t.Error(err)
		}
		for _, l := range found {
			if !strings.HasPrefix(l.Name, "image ") {
				t.Errorf("%s: %s", p.Label(), l.Message)
			}
		}
	}
}
