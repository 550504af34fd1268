package config

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// tree makes a file system of empty files; "path=text" gives a file content.
func tree(files ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// base is the least configuration of an infrastructure provider; rest is added
// to its entry.
func base(rest string) string {
	return header + "metadata: metadata.yaml\nproviders:\n- type: infrastructure\n  name: example\n  components: {path: config/default}\n" + rest
}

var baseFiles = []string{"metadata.yaml", "config/default/kustomization.yaml"}

// sources lists the outputs as name = source.
func sources(p PlannedProvider) []string {
	var out []string
	for _, o := range p.Outputs {
		out = append(out, o.Name+" = "+o.Source())
	}
	return out
}

func TestResolveOutputs(t *testing.T) {
	tests := map[string]struct {
		config string
		files  []string
		want   []string // besides components and metadata
	}{
		"files": {"  templates:\n  - files: templates/cluster-template*.yaml\n",
			[]string{"templates/cluster-template.yaml", "templates/cluster-template-ha.yaml", "templates/other.yaml", "templates/deep/cluster-template-x.yaml"},
			[]string{"cluster-template-ha.yaml = templates/cluster-template-ha.yaml", "cluster-template.yaml = templates/cluster-template.yaml"}},
		"exclude": {"  templates:\n  - files: templates/*.yaml\n    exclude: [templates/base*.yaml]\n",
			[]string{"templates/cluster-template.yaml", "templates/base.yaml"},
			[]string{"cluster-template.yaml = templates/cluster-template.yaml"}},
		"another name": {"  templates:\n  - {files: examples/cluster.yaml, flavor: default}\n",
			[]string{"examples/cluster.yaml"}, []string{"cluster-template.yaml = examples/cluster.yaml"}},
		"name from the stars": {"  templates:\n  - {files: examples/*/cluster.yaml, flavor: \"{1}\"}\n",
			[]string{"examples/ha/cluster.yaml", "examples/default/cluster.yaml"},
			[]string{"cluster-template-ha.yaml = examples/ha/cluster.yaml", "cluster-template.yaml = examples/default/cluster.yaml"}},
		"kustomizations": {"  templates:\n  - kustomize: templates/flavors/*\n    exclude: [templates/flavors/base*]\n",
			[]string{"templates/flavors/default/kustomization.yaml", "templates/flavors/ha/kustomization.yml", "templates/flavors/base-x/Kustomization", "templates/flavors/no/readme"},
			[]string{"cluster-template-ha.yaml = templates/flavors/ha", "cluster-template.yaml = templates/flavors/default"}},
		"two levels": {"  templates:\n  - kustomize: flavors/*/*\n    rename: {kubeadm: default}\n",
			[]string{"flavors/k3s/default/kustomization.yaml", "flavors/k3s/full-vpcless/kustomization.yaml", "flavors/kubeadm/default/kustomization.yaml", "flavors/k3s/kustomization.yaml"},
			[]string{"cluster-template-k3s-full-vpcless.yaml = flavors/k3s/full-vpcless", "cluster-template-k3s.yaml = flavors/k3s/default", "cluster-template.yaml = flavors/kubeadm/default"}},
		"two levels, other order": {"  templates:\n  - {kustomize: flavors/*/*, flavor: \"{2}-on-{1}\"}\n",
			[]string{"flavors/k3s/ha/kustomization.yaml"}, []string{"cluster-template-ha-on-k3s.yaml = flavors/k3s/ha"}},
		"fixed sub-overlay": {"  templates:\n  - kustomize: overlays/*/basic-auth\n",
			[]string{"overlays/ha/basic-auth/kustomization.yaml", "overlays/ha/api-key/kustomization.yaml"},
			[]string{"cluster-template-ha.yaml = overlays/ha/basic-auth"}},
		"alias": {"  templates:\n  - kustomize: flavors/*\n    aliases: {ha: [default, high-availability]}\n",
			[]string{"flavors/ha/kustomization.yaml"},
			[]string{"cluster-template-ha.yaml = flavors/ha", "cluster-template-high-availability.yaml = flavors/ha", "cluster-template.yaml = flavors/ha"}},
		"any depth": {"  templates:\n  - kustomize: flavors/**/out\n    flavor: \"{1}\"\n",
			[]string{"flavors/a/out/kustomization.yaml", "flavors/out/kustomization.yaml"},
			[]string{"cluster-template-a.yaml = flavors/a/out", "cluster-template.yaml = flavors/out"}},
		"classes": {"  clusterClasses:\n  - files: templates/clusterclass-*.yaml\n  - kustomize: classes/*\n",
			[]string{"templates/clusterclass-quick-start.yaml", "classes/small/kustomization.yaml"},
			[]string{"clusterclass-quick-start.yaml = templates/clusterclass-quick-start.yaml", "clusterclass-small.yaml = classes/small"}},
		"assets": {"  assets:\n  - files: templates/*.rc\n  - {files: hack/install.sh, name: \"install-{number}.sh\"}\n  - {run: [policies], name: policy.json}\n  - {concat: [{file: a.yaml}, {output: infrastructure-example/infrastructure-components.yaml}], name: all.yaml}\n",
			[]string{"templates/env.rc", "hack/install.sh", "a.yaml"},
			[]string{"all.yaml = several files", "env.rc = templates/env.rc", "install-1.2.3.sh = hack/install.sh", "policy.json = policies"}},
		"variant": {"  variants:\n  - {path: config/super, file: infrastructure-components-supervisor.yaml}\n",
			[]string{"config/super/kustomization.yaml"}, []string{"infrastructure-components-supervisor.yaml = config/super"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := given.Value(Decode("c.yaml", []byte(base(tt.config))))(t)
			plan := given.Value(Resolve(tree(append(tt.files, baseFiles...)...), c, all("v1.2.3")))(t)
			p := plan.Providers[0]
			want := append([]string{"infrastructure-components.yaml = config/default", "metadata.yaml = metadata.yaml"}, tt.want...)
			if diff := cmp.Diff(want, sources(p), cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if o := p.Output(p.ComponentsFile); o == nil || o.Kustomize != "config/default" || o.Kind != layouts.Components {
				t.Errorf("components: %+v", o)
			}
		})
	}
}

func TestResolveTexts(t *testing.T) {
	c, err := Decode("c.yaml", []byte(base(`  sourceReplacements:
  - {file: ./config/image.yaml, old: "c:main", new: "c:{version}"}
  images:
  - name: c
    newTag: "{version}"
    places: [{kind: Secret, key: agent, value: "agent/{tag} {number}"}]
  replacements:
  - {files: "infra*", old: x, new: "${version} {label} {other} {version}"}
- {type: bootstrap, name: a, components: {path: config/default}}
`)))
	given.NoError(t, err)
	plan := given.Value(Resolve(tree(append(baseFiles, "config/image.yaml=image: c:main")...), c, all("v1.2.3")))(t)
	p := plan.Providers[1] // in the order of the labels
	got := []string{p.SourceReplacements[0].File, p.SourceReplacements[0].New, p.Images[0].NewTag, p.Images[0].Places[0].Value, p.Replacements[0].New}
	want := []string{"config/image.yaml", "c:v1.2.3", "v1.2.3", "agent/{tag} 1.2.3", "${version} infrastructure-example {other} v1.2.3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Providers[0].Images[0].NewTag != "{version}" || c.Providers[0].Images[0].Places[0].Value != "agent/{tag} {number}" {
		t.Error("Resolve changed the configuration")
	}
}

func TestResolveMistakes(t *testing.T) {
	const two, other = "infrastructure-example: two sources for ", "; leave one out with exclude or give it another name"
	tests := map[string]struct {
		config string
		files  []string
		want   []string
	}{
		"no components": {header + "metadata: metadata.yaml\nproviders:\n- {type: addon, name: x}\n", baseFiles, []string{
			"c.yaml:5:3: addon-x: the source of its components is unknown; add components: {path: FOLDER} with the folder of the kustomization"}},
		"missing folder": {base(""), []string{"metadata.yaml"}, []string{
			"c.yaml:7:22: infrastructure-example: config/default is neither a manifest nor a folder with a kustomization.yaml"}},
		"missing metadata": {base(""), baseFiles[1:], []string{
			"c.yaml:5:3: infrastructure-example: the metadata file metadata.yaml does not exist"}},
		"nothing matches": {base("  templates:\n  - files: templates/*.yaml\n  - kustomize: templates/*\n"), baseFiles, []string{
			"c.yaml:9:12: infrastructure-example: no file in the tree matches templates/*.yaml",
			"c.yaml:10:16: infrastructure-example: no folder with a kustomization.yaml in the tree matches templates/*"}},
		"bad template name": {base("  templates:\n  - files: t/*.yaml\n"), append(baseFiles, "t/cluster-templates.yaml"), []string{
			"c.yaml:9:12: t/cluster-templates.yaml is not named cluster-template.yaml or cluster-template-FLAVOR.yaml; set the name with flavor, or leave the file out with exclude"}},
		"collision": {base("  templates:\n  - {kustomize: a/*}\n  - {kustomize: b/*}\n"), append(baseFiles, "a/x/kustomization.yaml", "b/x/kustomization.yaml"), []string{
			"c.yaml:10:5: " + two + "cluster-template-x.yaml: a/x and b/x" + other}},
		"names taken": {base("  metadata: x.yaml\n" +
			"  variants: [{path: v, file: metadata.yaml}, {path: v, file: infrastructure-components.yaml}]\n" +
			"  assets: [{run: [a, b], name: infrastructure-components.yaml}]\n"),
			append(baseFiles, "v/kustomization.yaml", "x.yaml"), []string{
				"c.yaml:9:62: " + two + "infrastructure-components.yaml: config/default and v" + other,
				"c.yaml:8:13: " + two + "metadata.yaml: v and x.yaml" + other,
				"c.yaml:10:32: " + two + "infrastructure-components.yaml: config/default and a b" + other}},
		"useless rename": {base("  templates:\n  - kustomize: a/*\n    rename: {y: z}\n    aliases: {w: [v]}\n"), append(baseFiles, "a/x/kustomization.yaml"), []string{
			`c.yaml:10:17: nothing is named "y", so it cannot be renamed`,
			`c.yaml:11:18: nothing is named "w", so it cannot be given another name`}},
		"metadata as an asset": {base("  assets:\n  - files: x/metadata.yaml\n"), append(baseFiles, "x/metadata.yaml"), []string{
			"c.yaml:9:5: metadata.yaml is created by the build and cannot be an asset"}},
		"asset without a name": {base("  assets:\n  - run: [x]\n"), baseFiles, []string{
			"c.yaml:9:5: an asset that is not a copy of a file needs a name"}},
		"parts": {base("  assets:\n  - {name: a, concat: [{file: x.yaml}, {output: infrastructure-example/y.yaml}, {output: infrastructure-example/a}]}\n"), baseFiles, []string{
			"c.yaml:9:31: a: the file x.yaml does not exist",
			"c.yaml:9:49: a: the build does not create infrastructure-example/y.yaml",
			"c.yaml:9:90: a: infrastructure-example/a is itself merged from parts; name the parts"}},
		"variant without a name": {base("  variants: [{path: config/default}]\n"), baseFiles, []string{
			"c.yaml:8:14: a variant needs a name: set file, such as infrastructure-components-variant.yaml"}},
		"source replacement": {base("  sourceReplacements:\n  - {file: no.yaml, old: a}\n  - {file: metadata.yaml, old: a}\n"), baseFiles, []string{
			"c.yaml:9:12: the source file no.yaml cannot be read: open no.yaml: file does not exist",
			`c.yaml:10:32: metadata.yaml does not contain the string to replace, "a"`}},
		"replacement": {base("  replacements: [{files: x*, old: a}]\n"), baseFiles, []string{
			"c.yaml:8:26: infrastructure-example: no output is named x*"}},
		"tag and digest": {base("  images: [{name: a, newTag: b, digest: 'sha256:00000000000000000000000000000000'}]\n"), baseFiles, []string{
			"c.yaml:8:41: the image a gets both a tag and a digest; give only one"}},
		"generated": {base("generated:\n- files: [a.yaml]\n- files: [metadata.yaml, b.yaml]\n  run: [make, b]\n- files: [c.yaml]\n  run: [./c]\n"), baseFiles, []string{
			"c.yaml:9:11: the generated file a.yaml does not exist; create it before the build",
			`c.yaml:10:26: the generated file b.yaml does not exist; it is created by "make b", which runs only with --allow exec`,
			`c.yaml:12:11: the generated file c.yaml does not exist; it is created by "./c", which runs only with --allow exec`}},
		"label twice": {base("- type: infrastructure\n  name: example\n  components: {path: config/default}\n"), baseFiles, []string{
			"c.yaml:9:9: infrastructure-example is described twice; merge the entries, and use variants for further components files"}},
		"publish": {base("publish: [{to: x, providers: [infrastructure-other]}]\n"), baseFiles, []string{
			`c.yaml:8:31: no provider "infrastructure-other" in this tree`}},
		"core": {strings.Replace(base(""), "infrastructure", "core", 1), baseFiles, []string{
			`c.yaml:6:9: the core provider must be named "cluster-api", not "example"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := given.Value(Decode("c.yaml", []byte(tt.config)))(t)
			_, err := Resolve(tree(tt.files...), c, all("v1.2.3"))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestResolveNoMetadata keeps the advice apart, because it has several lines.
func TestResolveNoMetadata(t *testing.T) {
	c := &Config{Providers: []Provider{{Type: "addon", Name: "x", Components: Components{Path: "config/default"}}}}
	for version, series := range map[string]string{"v2.3.4": "- major: 2   #…\n  minor: 3\n", "v0.0.1": "- major: 0   #…\n  minor: 0\n", "v0.0.0": "- major: 0   #…\n  minor: 1\n"} {
		_, err := Resolve(tree(baseFiles[1]), c, func(string) layouts.Version {
			return given.Value(layouts.ParseVersion(version))(t)
		})
		_, minor, _ := strings.Cut(series, "…")
		if err == nil || !strings.Contains(err.Error(), "addon-x: no metadata.yaml") || !strings.Contains(err.Error(), "\nreleaseSeries:\n"+series[:10]) || !strings.Contains(err.Error(), minor) {
			t.Errorf("%s: error %v lacks the file to create", version, err)
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"a/b", "a/b", true},
		{"a/./b/", "a/b", true},
		{"a/*", "a/b", true},
		{"a/*", "a/b/c", false},
		{"a/**", "a/b/c", true},
		{"**/c", "a/b/c", true},
		{"**/c", "c", true},
		{"a/**/c", "a/c", true},
		{"a/**/c", "a/b/b/c", true},
		{"a?c", "abc", true},
		{"a?c", "a/c", false},
		{"a.c", "abc", false},
		{"*.yaml", "x.yaml", true},
		{"*", "a+b[c](d)", true},
		{"a+b[c](d)", "a+b[c](d)", true},
	}
	for _, tt := range tests {
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// FuzzGlob checks that the search, which prunes the tree, finds exactly what
// the pattern matches.
func FuzzGlob(f *testing.F) {
	for _, p := range []string{"a/*", "**", "*/b/**/c.yaml", "a/b/c.yaml", "?/*", "x", ".", "../a", "/", "a//b"} {
		f.Add(p)
	}
	files := []string{"a/b/c.yaml", "a/c.yaml", "b/b/b/c.yaml", "b/b/c.yaml", "c.yaml", "x"}
	fsys := tree(files...)
	f.Fuzz(func(t *testing.T, pattern string) {
		if checkPath(pattern) != nil {
			return
		}
		got, err := newGlob(pattern).find(fsys, nil, nil)
		if err != nil {
			t.Skip(err) // not a path of a file system
		}
		var names, want []string
		for _, m := range got {
			names = append(names, m.path)
		}
		for _, name := range files {
			if Match(pattern, name) {
				want = append(want, name)
			}
		}
		if diff := cmp.Diff(want, names, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
			t.Errorf("%q (-matching +found):\n%s", pattern, diff)
		}
	})
}

// all gives all providers one version.
func all(version string) func(string) layouts.Version {
	v, _ := layouts.ParseVersion(version)
	return func(string) layouts.Version { return v }
}
