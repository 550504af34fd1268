package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const header = "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\n"

var ignoreOrigin = cmpopts.IgnoreTypes(Origin{})

func TestDecode(t *testing.T) {
	data := given.Read(t, "testdata/full.yaml")
	got := given.Value(Decode("clusterctl-repo.yaml", data))(t)
	want := &Config{
		APIVersion:  APIVersion,
		Kind:        Kind,
		Version:     Version{TagPattern: `^provider/v`, StripPrefix: "provider/"},
		Discovery:   Discovery{Ignore: []string{"virtualcluster"}},
		Metadata:    "release/metadata.yaml",
		RemoteBases: true,
		Generated:   []Generated{{Files: []string{"config/gen.yaml"}, Run: []string{"make", "generate"}, Dir: "hack"}},
		Providers: []Provider{{
			Type: "infrastructure",
			Name: "example",
			Components: Components{
				Path: "config/default", File: "infrastructure-components-development.yaml", LoadRestrictor: NoRestrictions,
			},
			Variants:           []Components{{Path: "config/supervisor", File: "infrastructure-components-supervisor.yaml"}},
			Metadata:           "metadata.yaml",
			SourceReplacements: []SourceReplacement{{File: "config/image.yaml", Old: "controller:main", New: "controller:{version}"}},
			Images: []Image{{
				Name: "controller", NewName: "registry.example.org/controller", NewTag: "{version}", PullPolicy: "IfNotPresent",
				Places: []Place{{Kind: "Deployment", Env: "AGENT_IMAGE"}, {Kind: "Secret", Name: "settings", Key: "agent", Value: "agent/{tag}"}},
			}},
			Patches: []Patch{{
				Target: Selector{Kind: "Deployment", Name: "manager"},
				Patch:  "- op: remove\n  path: /spec/replicas\n",
			}},
			Replacements: []Replacement{{Files: "cluster-template-*.yaml", Old: "${CERTPATH}", New: "/etc/kubernetes/pki"}},
			Templates: []Template{
				{Files: "templates/cluster-template*.yaml", Exclude: []string{"templates/cluster-template-wip.yaml"}},
				{Kustomize: "flavors/*/*", Name: "{1}-{2}", Rename: map[string]string{"kubeadm": "default"}, Aliases: map[string][]string{"ha": {"high-availability"}}, LoadRestrictor: NoRestrictions},
			},
			ClusterClasses: []ClusterClass{{Kustomize: "classes/*", Name: "{1}"}},
			Assets: []Asset{
				{Files: "templates/*.rc", Name: "{1}.env"},
				{Concat: []Part{{File: "a.yaml"}, {Output: "infrastructure-example/infrastructure-components.yaml"}}, Name: "all.yaml"},
				{Run: []string{"go", "run", "./policies"}, Name: "policy-{version}.json"},
			},
		}},
		Rules:   map[string]severity{"LABEL001": severityOff, "META002": severityError},
		Publish: []Destination{{To: "oci://registry.example.org/provider", Providers: []string{"infrastructure-example"}, Files: []string{"*.yaml"}}},
	}
	if diff := cmp.Diff(want, got, ignoreOrigin); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDecodeMistakes holds, for each input, every message in order.
func TestDecodeMistakes(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"empty": {"# nothing\n", []string{
			"c.yaml: the file is empty; it needs at least",
			"apiVersion: clusterctl-repo.dev/v1alpha1",
			"kind: Config",
		}},
		"not YAML":  {"a: [\n", []string{"c.yaml:2:1: not YAML: while parsing a flow node: did not find expected node content"}},
		"no header": {"metadata: m.yaml\n", []string{`c.yaml:1:1: the key "apiVersion" is missing`, `c.yaml:1:1: the key "kind" is missing`}},
		"a list":    {"- a\n", []string{"c.yaml:1:1: the configuration must be a mapping of keys to values, not a list"}},
		"other version": {"apiVersion: clusterctl-repo.dev/v1\nkind: Config\n", []string{
			`c.yaml:1:13: "clusterctl-repo.dev/v1" is not a value of "apiVersion"; it must be clusterctl-repo.dev/v1alpha1`,
		}},
		"two documents": {header + "---\n" + header, []string{"c.yaml:4:1: a second document; the configuration must be one document"}},
		"all at once": {header + "metdata: m.yaml\nremoteBases: ja\nproviders:\n- type: infra\n  name: My_Provider\n  images: controller\n- colour: red\n", []string{
			`c.yaml:3:1: unknown key "metdata"; did you mean "metadata"?`,
			`c.yaml:4:14: "remoteBases" must be true or false, not a string`,
			`c.yaml:6:9: "infra" is not a value of "type"; it must be core, bootstrap, control-plane, infrastructure, ipam, runtime-extension or addon`,
			`c.yaml:7:9: "name": "My_Provider" must consist of lower-case letters, digits and dashes, begin and end with a letter or digit, and have at most 63 characters`,
			`c.yaml:8:11: "images" must be a list, each item on a line with a dash before it, not a string`,
			`c.yaml:9:3: unknown key "colour"; known here: type, name, components, variants, metadata, sourceReplacements, images, patches, replacements, templates, clusterClasses, assets`,
		}},
		"key of another place": {header + "images: []\n", []string{`c.yaml:3:1: unknown key "images"; it belongs to providers[]`}},
		"case":                 {header + "RemoteBases: true\n", []string{`c.yaml:3:1: unknown key "RemoteBases"; did you mean "remoteBases"?`}},
		"twice":                {header + "metadata: a\nmetadata: b\n", []string{`c.yaml:4:1: the key "metadata" was already given on line 3`}},
		"number for text": {header + "providers:\n- images:\n  - name: c\n    newTag: 1.10\n", []string{
			`c.yaml:6:13: "newTag" must be a string, not a number: write it in quotes, "1.10"`,
		}},
		"nothing for string":    {header + "metadata:\n", []string{`c.yaml:3:10: "metadata" must be a string, not empty`}},
		"absolute":              {header + "metadata: /etc/metadata.yaml\n", []string{`c.yaml:3:11: "metadata": "/etc/metadata.yaml" is absolute; paths are relative to the root of the source tree`}},
		"drive":                 {header + "metadata: C:/metadata.yaml\n", []string{`c.yaml:3:11: "metadata": "C:/metadata.yaml" is absolute; paths are relative to the root of the source tree`}},
		"out of the tree":       {header + "metadata: a/../../metadata.yaml\n", []string{`c.yaml:3:11: "metadata": "a/../../metadata.yaml" leads out of the source tree; copy its target into the tree`}},
		"backslash":             {header + `metadata: a\b.yaml` + "\n", []string{`c.yaml:3:11: "metadata": "a\\b.yaml": folders are separated by /, also on Windows`}},
		"variable":              {header + "metadata: '{vresion}/metadata.yaml'\n", []string{`c.yaml:3:11: "metadata": unknown variable "{vresion}"; known: {version}, {number}, {label}, {type}, {name}; did you mean "version"?`}},
		"environment":           {header + "metadata: ${HOME}/metadata.yaml\n", []string{`c.yaml:3:11: "metadata": "${HOME}": the environment is not used here; the variables are {version}, {number}, {label}, {type}, {name}`}},
		"glob out of the tree":  {header + "discovery: {ignore: [ok, ../x]}\n", []string{`c.yaml:3:26: "ignore": "../x" leads out of the source tree; copy its target into the tree`}},
		"folder in a file name": {header + "providers:\n- components: {file: a/b.yaml}\n", []string{`c.yaml:4:22: "file": "a/b.yaml" must be a name without a folder: the files of a release lie next to each other`}},
		"choice, none":          {header + "providers:\n- templates:\n  - flavor: a\n", []string{`c.yaml:5:5: exactly one of "files", "kustomize" must be given in "templates", not none`}},
		"choice, both":          {header + "providers:\n- templates:\n  - {files: a, kustomize: b}\n", []string{`c.yaml:5:5: exactly one of "files", "kustomize" must be given in "templates", not "files", "kustomize"`}},
		"missing":               {header + "providers:\n- images:\n  - newTag: a\n", []string{`c.yaml:5:5: the key "name" is missing in "images"`}},
		"empty but required":    {header + "publish:\n- to: ''\n", []string{`c.yaml:4:7: "to" must not be empty`}},
		"severity":              {header + "rules:\n  LABEL001: warn\n", []string{`c.yaml:4:13: "warn" is not a value of "rules"; it must be off, info, warning or error`}},
		"digest":                {header + "providers:\n- images:\n  - {name: a, digest: 'sha256:12'}\n", []string{`c.yaml:5:23: "digest": "sha256:12" is not a digest such as sha256:4355a46b…`}},
		"regexp":                {header + "version: {tagPattern: '('}\n", []string{"c.yaml:3:23: \"tagPattern\": error parsing regexp: missing closing ): `(`"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Decode("c.yaml", []byte(tt.in))
			if err == nil {
				t.Fatalf("decoded %+v", c)
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestVersionOf(t *testing.T) {
	tests := []struct {
		v       Version
		tag     string
		version string
		ok      bool
	}{
		{Version{}, "v1.2.3", "v1.2.3", true},
		{Version{}, "api/v1.2.3", "api/v1.2.3", false},
		{Version{TagPattern: "^provider/", StripPrefix: "provider/"}, "provider/v1.2.3", "v1.2.3", true},
		{Version{TagPattern: "^provider/", StripPrefix: "provider/"}, "provider/", "", false},
	}
	for _, tt := range tests {
		if version, ok := tt.v.Of(tt.tag); version != tt.version || ok != tt.ok {
			t.Errorf("%+v.Of(%q) = %q, %v; want %q, %v", tt.v, tt.tag, version, ok, tt.version, tt.ok)
		}
	}
}

func FuzzDecode(f *testing.F) {
	full := given.Read(f, "testdata/full.yaml")
	f.Add(full)
	for _, seed := range []string{"", header, "a: [", header + "providers: [{}]", header + "<<: {metadata: a}", header + "rules: &a {b: *a}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode("c.yaml", data)
		if err != nil {
			if c != nil {
				t.Fatal("a configuration beside an error")
			}
			return
		}
		// What was decoded can be written and decoded again.
		text := given.Value(Write(c, nil))(t)
		again, err := Decode("again.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(c, again, ignoreOrigin); diff != "" {
			t.Fatalf("(-first +second):\n%s\n%s", diff, text)
		}
	})
}
