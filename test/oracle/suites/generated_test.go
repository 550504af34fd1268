package suites

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// plain is a configuration that both take.
const plain = `images:
- name: example.com/controller-{OS}:dev
providers:
- name: cluster-api
  type: CoreProvider
  versions:
  - name: v1.14.99
    value: core
    replacements:
    - {old: 'v(\d)', new: 'w$1z'}
    files:
    - sourcePath: metadata.yaml
- name: kubeadm
  type: BootstrapProvider
  files:
  - sourcePath: metadata.yaml
  versions:
  - name: v1.13.0
    type: url
    value: https://example.com/v1.13.0/bootstrap-components.yaml
    contract: v1beta1
  - name: v1.14.99
    value: core
    contract: v1beta2
- name: kubeadm
  type: ControlPlaneProvider
  versions:
  - name: '{go://sigs.k8s.io/cluster-api@v1.12}'
    type: url
    value: https://example.com/{go://sigs.k8s.io/cluster-api@v1.12}/control-plane-components.yaml
- name: docker
  type: InfrastructureProvider
  files:
  - sourcePath: templates/cluster-template.yaml
  versions:
  - name: v1.14.99
    type: url
    value: file://built.yaml
    files:
    - sourcePath: templates/other.yaml
      targetName: cluster-template-other.yaml
variables:
  TEXT: "1.30"
intervals:
  default/wait: ["5m", "10s"]
`

// TestGeneratedConfigurations makes repositories of configurations with one oddity
// each. Both makers write the same, or refuse for the same cause; only what harms is
// refused by us alone.
func TestGeneratedConfigurations(t *testing.T) {
	t.Setenv("EMPTY", "")
	t.Setenv("SET", "from the environment")
	t.Setenv("GOPROXY", "https://modules.example")
	files := map[string]string{
		"core/kustomization.yaml":         "resources: [one.yaml]\nnamePrefix: x-\n",
		"core/one.yaml":                   "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: v1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: v1}\ndata: {a: 'v2 v3'}\n",
		"broken/kustomization.yaml":       "resources: [missing.yaml]\n",
		"metadata.yaml":                   "kind: Metadata\n",
		"built.yaml":                      "kind: Namespace\napiVersion: v1\nmetadata: {name: v1}\r\n# odd",
		"empty.yaml":                      "",
		"templates/cluster-template.yaml": "a: ${A:-b}\n",
		"templates/other.yaml":            "b: 1",
	}
	for name, c := range map[string]struct {
		// change are pairs of old and new text.
		change []string
		// both is part of the message of both, and ours of ours, if the framework
		// takes it.
		both, ours string
	}{
		"plain":                          {},
		"unquoted scalars":               {change: []string{`"1.30"`, "1.30\n  A: 007\n  B: 0x10\n  C: 1e3\n  D: true\n  E: null\n  F: ~\n  G: 12345678901234567890\n  H: .5\n  I: 1_000\n  J: yes\n  K: 0o17\n  L: 2026-11-25\n  M: 1e400\n  N: 123456789.123"}},
		"a negative and a great number":  {change: []string{`"1.30"`, "-0\n  A: -1.50\n  B: 1e21\n  C: 1e-7\n  D: +5\n  E: 18446744073709551615"}},
		"a list as a variable":           {change: []string{`"1.30"`, "[a]"}, both: "variables"},
		"empty variables":                {change: []string{"TEXT", "EMPTY: config\n  SET: config\n  TEXT"}},
		"keys in other cases":            {change: []string{"sourcePath: metadata", "SOURCEPATH: metadata", "variables:", "Variables:", "type: Core", "TYPE: Core"}},
		"unknown and repeated keys":      {change: []string{"variables:", "variables:\n  TEXT: first\n  OTHER: first\nunknown: 1\nvariables:"}},
		"a second document":              {change: []string{"intervals:", "---\nintervals:"}},
		"groups and anchors":             {change: []string{`{old: 'v(\d)', new: 'w$1z'}`, "{old: '(?m)^kind: (?P<k>.*)$', new: 'kind: ${k} # $k $2'}\n    - {old: ^, new: '# first'}\n    - {old: 'matches nothing', new: x}"}},
		"an empty expression":            {change: []string{`{old: 'v(\d)', new: 'w$1z'}`, "{new: x}"}},
		"a bad expression":               {change: []string{`v(\d)`, `a([`}, both: "error parsing regexp"},
		"replacements of a URL":          {change: []string{"    contract: v1beta1", "    contract: other\n    replacements: [{old: '--leader-elect', new: --x}, {old: 'https://.*', new: ''}]"}},
		"duplicate versions":             {change: []string{"    contract: v1beta1", "  - name: v1.13.0\n    value: core\n    files: [{sourcePath: templates/other.yaml}]"}},
		"duplicate providers":            {change: []string{"variables:", "- name: docker\n  type: InfrastructureProvider\n  versions:\n  - {name: v1.14.98, value: core}\nvariables:"}},
		"the later file wins":            {change: []string{"targetName: cluster-template-other.yaml", "targetName: cluster-template.yaml"}},
		"a version without v":            {change: []string{"name: v1.14.99\n    value: core\n    replacements", "name: 1.14.99\n    value: core\n    replacements"}},
		"a version with build metadata":  {change: []string{"name: v1.14.99\n    value: core\n    replacements", "name: v1.14.99-rc.1+b\n    value: core\n    replacements"}},
		"a short version":                {change: []string{"name: v1.14.99\n    value: core\n    replacements", "name: v1.14\n    value: core\n    replacements"}, both: "Providers[0].Sources[0].Name"},
		"an unquoted version":            {change: []string{"name: v1.14.99\n    value: core\n    replacements", "name: 1.30\n    value: core\n    replacements"}, both: "Providers[0].Sources[0].Name"},
		"an empty version":               {change: []string{"name: v1.14.99\n    value: core\n    replacements", "value: core\n    replacements"}, both: "Providers[0].Sources[0].Name"},
		"a value with a query":           {change: []string{"file://built.yaml", "built.yaml?x=1"}},
		"a local value that is missing":  {change: []string{"file://built.yaml", "absent.yaml"}, both: "absent.yaml"},
		"an empty local value":           {change: []string{"file://built.yaml", "empty.yaml"}},
		"another scheme":                 {change: []string{"file://built.yaml", "ftp://example.com/x.yaml"}, both: "unknown scheme"},
		"a type that is none":            {change: []string{"type: url\n    value: file", "type: helm\n    value: file"}, both: `Type="helm"`},
		"an empty value":                 {change: []string{"value: file://built.yaml", "value: ''"}, both: "Value is empty"},
		"a broken kustomization":         {change: []string{"value: core\n    replacements", "value: broken\n    replacements"}, both: "missing.yaml"},
		"a folder without kustomization": {change: []string{"value: core\n    replacements", "value: templates\n    replacements"}, both: "Failed to generate the manifest"},
		"a remote root":                  {change: []string{"value: core\n    replacements", "value: https://github.com/x//config?ref=v1\n    replacements"}, both: "Failed to generate the manifest"},
		"a missing file":                 {change: []string{"templates/other.yaml", "templates/absent.yaml"}, both: `Providers[3].Sources[0].Files[0].SourcePath="`},
		"a folder as file":               {change: []string{"templates/other.yaml", "templates"}, both: `Providers[3].Sources[0].Files[0].SourcePath="`},
		"a missing file of a provider":   {change: []string{"templates/cluster-template.yaml", "absent.yaml"}, both: `Providers[3].Files[0].SourcePath="`},
		"a target in another folder":     {change: []string{"targetName: cluster", "targetName: ../../cluster"}, ours: "TargetName"},
		"a target in a folder below":     {change: []string{"targetName: cluster", "targetName: x/cluster"}, both: "cluster-template-other.yaml"},
		"a target over the components":   {change: []string{"targetName: cluster-template-other.yaml", "targetName: components.yaml"}},
		"a target of its own":            {change: []string{"targetName: cluster-template-other.yaml", "targetName: ./other.yaml"}},
		"a variable named providers":     {change: []string{"TEXT", "providers: x\n  TEXT"}, ours: "variable providers"},
		"a marker without a version":     {change: []string{"cluster-api@v1.12}'", "cluster-api@v1.99}'"}, both: "failed resolving release url"},
		"a marker with pre-releases":     {change: []string{"@v1.12}", "@latest-v1.12}"}},
		"a marker whose first is absent": {change: []string{"@v1.12}", "@v1.9}"}},
		"a marker without a module":      {change: []string{"{go://sigs.k8s.io/cluster-api@v1.12}'", "{https://x}'"}, both: "failed resolving release url"},
		"a marker of a kustomization":    {change: []string{"name: v1.14.99\n    value: core\n    replacements", "name: '{go://sigs.k8s.io/cluster-api@v1.12}'\n    value: core\n    replacements"}, both: "Providers[0].Sources[0].Name"},
		"a file that is not served":      {change: []string{"v1.13.0/bootstrap", "absent/bootstrap"}, both: "404"},
		"a page":                         {change: []string{"v1.13.0/bootstrap-components.yaml", "page"}, ours: "HTML"},
		"no infrastructure":              {change: []string{"InfrastructureProvider", "AddonProvider"}, both: "infrastructure-provider"},
		"two cores":                      {change: []string{"variables:", "- {name: cluster-api, type: CoreProvider}\nvariables:"}, both: "core-provider"},
		"a core of another name":         {change: []string{"name: cluster-api\n", "name: other\n"}, both: "core-provider should be named cluster-api"},
		"an unknown provider type":       {change: []string{"InfrastructureProvider", "Infrastructureprovider"}, both: `Type="Infrastructureprovider"`},
		"a provider without a name":      {change: []string{"name: docker\n", "name: ''\n"}, both: "Providers[3].Name is empty"},
		"an image without a name":        {change: []string{"- name: example.com/controller-{OS}:dev", "- loadBehavior: mustLoad"}, both: "Images[0].Name="},
		"a load behavior that is none":   {change: []string{":dev\n", ":dev\n  loadBehavior: always\n"}, both: "Images[0].LoadBehavior="},
		"a bad interval":                 {change: []string{`"10s"`, `"10"`}, both: "Intervals[default/wait]="},
		"three intervals":                {change: []string{`"10s"`, `"10s", "1s"`}, both: "Intervals[default/wait]="},
		"an empty file":                  {change: []string{plain, ""}, both: "should not be empty"},
		"anchors and merges":             {change: []string{"variables:\n", "variables:\n  <<: {TEXT: merged, MORE: merged}\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := plain
			for i := 0; i < len(c.change); i += 2 {
				if !strings.Contains(text, c.change[i]) {
					t.Fatalf("the configuration has no %q", c.change[i])
				}
				text = strings.ReplaceAll(text, c.change[i], c.change[i+1])
			}
			tree := filepath.Join(dir, "tree")
			config := filepath.Join(tree, "e2e.yaml")
			for name, data := range files {
				given.File(t, filepath.Join(tree, name), data)
			}
			given.NoError(t, os.WriteFile(config, []byte(text), 0o600))
			want, got := filepath.Join(dir, "want"), filepath.Join(dir, "got")
			theirs := createRepository(t, config, want)
			_, err := ours(t, config, got, nil)
			cause := func(err error, part string) bool {
				return err != nil && part != "" && strings.Contains(err.Error(), part)
			}
			switch {
			case c.both != "" && (!cause(theirs, c.both) || !cause(err, c.both)):
				t.Errorf("want %q of both:\nthe framework: %v\nours: %v", c.both, theirs, err)
			case c.ours != "" && (theirs != nil || !cause(err, c.ours)):
				t.Errorf("want %q of ours only:\nthe framework: %v\nours: %v", c.ours, theirs, err)
			case c.both == "" && c.ours == "" && (theirs != nil || err != nil):
				t.Errorf("both must take it:\nthe framework: %v\nours: %v", theirs, err)
			case err == nil:
				sameFiles(t, folderOf(t, want), folderOf(t, got))
			}
		})
	}
}
