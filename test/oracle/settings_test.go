package oracle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	rendering "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// TestImages compares the overrides of images with the library.
func TestImages(t *testing.T) {
	t.Parallel()
	images := []string{
		"ghcr.io/x/y:v1", "ghcr.io/x/y", "ghcr.io/y:v1", "ghcr.io:5000/x/y/z:v1", "localhost/x", "localhost:5000/x:v1",
		"ghcr.io/x/y@sha256:" + strings.Repeat("a", 64), "ghcr.io/x/y:v1@sha256:" + strings.Repeat("a", 64), "ghcr.io/x/y@sha512:" + strings.Repeat("b", 128), "ghcr.io/x/y@sha384:" + strings.Repeat("b", 96),
		"ghcr.io/x/y@sha256:short", "ghcr.io/x/y@md5:" + strings.Repeat("a", 32), "docker.io/library/nginx:1", "docker.io/nginx:1", "nginx", "nginx:1", "foo/bar:v1", "controller:latest", "", "ghcr.io/X/y:v1", "ghcr.io/x/y:v1+a",
		"ghcr.io/x/y:", "ghcr.io/x/y:v1:v2", "GHCR.io/x/y:v1", "ghcr.io//y", "ghcr.io/x/", " ghcr.io/x/y", "https://ghcr.io/x/y", "[::1]:5000/x/y:v1", strings.Repeat("a", 64), "ghcr.io/" + strings.Repeat("a", 300), "ghcr.io/x/y:" + strings.Repeat("v", 129), "ghcr.io/x_y/z--a:v1", "index.docker.io/library/x",
	}
	overrides := map[string]rendering.Images{
		"none":             nil,
		"empty":            {},
		"all":              {"all": {Repository: "registry.example.com/mirror/"}},
		"all tag":          {"all": {Tag: "v9"}},
		"label":            {"infrastructure-foo": {Repository: "a.example.com", Tag: "v2"}},
		"image":            {"infrastructure-foo/y": {Name: "other"}},
		"union":            {"all": {Repository: "a.example.com/all", Tag: "all"}, "infrastructure-foo": {Tag: "label"}, "infrastructure-foo/y": {Name: "z", Repository: "b.example.com//"}},
		"another provider": {"infrastructure-bar": {Repository: "a.example.com"}},
		"nonsense":         {"all": {Repository: "UPPER case", Name: "!", Tag: "a b"}},
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		for _, image := range images {
			n++
			data := []byte(namespace + container(image))
			want, wantErr := components(fooRelease, data, values{}, overrides[name], "", false)
			got, err := rendering.RenderProvider(background, rendering.ProviderInput{Provider: foo, File: yamldoc.NewFile("c.yaml", data), Variables: values{}.Get, Images: overrides[name]})
			if core(wantErr) != core(err) || err == nil && !slices.Equal(want.Images(), got.Images) {
				t.Errorf("%s, %q:\nclusterctl: %v\nthe tool:   %v %v", name, image, core(wantErr), err, got)
			}
		}
	}
	t.Logf("%d overrides compared", n)
}

// setting is a configuration file and an environment.
type setting struct {
	file string
	env  values
}

// castings are values that the configuration file turns into other texts.
func castings() []string {
	return []string{
		"text", "1", "1.0", "1.10", "1e3", "1e21", "0777", "0o777", "0x10", "0b11", "1_000", "9007199254740993", "12345678901234567890", "123456789012345678901234567890", "-0", ".5", "1:30",
		"true", "True", "yes", "on", "y", "null", "~", "", "''", `"a\nb"`, "|\n  a\n  b\n", "2020-01-01", "2020-01-01T10:20:30Z", "2020-01-01T10:20:30.5+02:00", "[a, b]", "{a: b}", "[]", ".inf", ".nan", "!!binary aGVsbG8=", "!!str 1", "'${A}'", "'1.10'",
	}
}

// TestSettings compares how the stock program and the tool read a configuration
// with variables, the environment and image overrides.
func TestSettings(t *testing.T) {
	t.Parallel()
	var file, tmpl strings.Builder
	for i, value := range castings() {
		fmt.Fprintf(&file, "V%d: %s\n", i, value)
		fmt.Fprintf(&tmpl, "v%d: '${V%d:-none}'\n", i, i)
	}
	tmpl.WriteString("plain: ${V0}\nempty: '${V24}'\nimages: '${IMAGES}'\n")
	names := "a: '${NAME:-none}'\nb: '${name:-none}'\nc: '${Name:-none}'\nd: '${ONE_TWO:-none}'\ne: '${NESTED:-none}'\nf: '${UNICODEÉ:-none}'\n"
	cases := map[string]struct {
		template string
		setting
	}{
		"casting":                {tmpl.String(), setting{file: file.String() + "images: {all: {tag: v1}}\n"}},
		"null is not set":        {"a: ${N}\n", setting{file: "N:\n"}},
		"empty is set":           {"a: '${N}'\n", setting{file: "N: ''\n"}},
		"list is set":            {"a: '${N}'\n", setting{file: "N: [a]\n"}},
		"names":                  {names, setting{file: "nAmE: file\none-two: dash\n"}},
		"names, environment":     {names, setting{env: values{"NAME": "env", "Name": "exact", "ONE_TWO": "env"}}},
		"environment over file":  {names, setting{file: "NAME: file\nONE_TWO: file\n", env: values{"NAME": "env", "ONE_TWO": ""}}},
		"empty environment":      {"a: '${N}'\n", setting{file: "N: file\n", env: values{"N": ""}}},
		"environment lower case": {"a: ${n}\n", setting{env: values{"n": "x"}}},
		"unicode":                {names, setting{file: "unicodeé: file\n", env: values{"UNICODEÉ": "env"}}},
		"control plane count":    {"a: ${CONTROL_PLANE_MACHINE_COUNT:=3}\nb: ${WORKER_MACHINE_COUNT:=3}\n", setting{file: "CONTROL_PLANE_MACHINE_COUNT: 5\n", env: values{"WORKER_MACHINE_COUNT": "7"}}},
		"count is no number":     {"a: 1\n", setting{file: "CONTROL_PLANE_MACHINE_COUNT: x\n"}},
		"count is empty":         {"a: 1\n", setting{env: values{"WORKER_MACHINE_COUNT": ""}}},
		"count is too small":     {"a: 1\n", setting{env: values{"CONTROL_PLANE_MACHINE_COUNT": "0"}}},
		"worker count negative":  {"a: 1\n", setting{env: values{"WORKER_MACHINE_COUNT": "-1"}}},
		"options win":            {"a: ${NAMESPACE} ${namespace} ${CLUSTER_NAME} ${cluster_name} ${KUBERNETES_VERSION}\n", setting{file: "NAMESPACE: file\n", env: values{"CLUSTER_NAME": "env", "KUBERNETES_VERSION": "v1.1.1"}}},
		"dotted":                 {"a: '${A:-none}'\n", setting{file: "a.b: x\n"}},
		"nested":                 {"a: '${A}'\n", setting{file: "a: {b: x}\n"}},
		"bad file":               {"a: b\n", setting{file: "a: [\n"}},
		"tab":                    {"a: b\n", setting{file: "a:\n\t- b\n"}},
		"duplicate key":          {"a: ${A}\n", setting{file: "A: 1\nA: 2\n"}},
		"duplicate key by case":  {"a: b\n", setting{file: "A: 1\n"}},
		"two documents":          {"a: ${A}\n", setting{file: "A: 1\n---\nA: 2\n"}},
		"list file":              {"a: b\n", setting{file: "- a\n"}},
		"anchors":                {"a: ${A}\n", setting{file: "x: &x 1\nA: *x\n"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := write(t, map[string]string{
				"infrastructure-foo/v1.2.3/cluster-template.yaml":          c.template,
				"infrastructure-foo/v1.2.3/infrastructure-components.yaml": namespaceOnly,
				"infrastructure-foo/v1.2.3/metadata.yaml":                  seriesOf("1.2=v1beta2"),
			})
			r := real.Release{Root: root, Type: string(foo.Type), Name: foo.Name, Version: "v1.2.3", Components: "infrastructure-components.yaml"}
			path := settings(t, r, c.file)
			if strings.HasPrefix(c.file, "-") { // a file of its own
				given.NoError(t, os.WriteFile(path, []byte(c.file), 0o644))
			}
			want, wantErr := binary(t).Run(background, path, c.env.env(), "generate", "cluster", "dummy", "-i", "foo:v1.2.3", "-n", "default")
			got, err := renderWith(t, r, path, c.env)
			if wantErr != nil && err != nil {
				said := strings.TrimPrefix(core(wantErr), "failed to initialize the configuration reader: ")
				if !strings.HasSuffix(core(err), said) {
					t.Errorf("clusterctl: %v\nthe tool:   %v", wantErr, err)
				}
				return
			}
			same(t, name, want, wantErr, got, err)
		})
	}
}

func renderWith(t *testing.T, r real.Release, path string, env values) ([]byte, error) {
	cfg, err := rendering.Read(path, []byte(read(t, path).Data), env.Get)
	if err != nil {
		return nil, err
	}
	out, err := rendering.RenderCluster(background, rendering.ClusterInput{
		Provider: provider(r), Template: read(t, filepath.Join(r.Dir(), "cluster-template.yaml")), Class: classOf(r),
		Name: "dummy", Namespace: "default", Variables: cfg.Get,
	})
	if err != nil {
		return nil, err
	}
	return out.YAML()
}

// TestImageSettings compares image overrides that come from the file.
func TestImageSettings(t *testing.T) {
	t.Parallel()
	for name, images := range map[string]string{
		"all":                "images:\n  all: {repository: a.example.com/x}\n",
		"upper case keys":    "images:\n  All: {Repository: a.example.com/x, TAG: v2}\n  Infrastructure-Foo: {tag: v3}\n",
		"numeric tag":        "images:\n  all: {tag: 1.10}\n",
		"image with a dot":   "images:\n  infrastructure-foo/y.z: {tag: v2}\n",
		"null":               "images:\n",
		"a text":             "images: x\n",
		"a list":             "images: [x]\n",
		"entry a text":       "images: {all: x}\n",
		"unknown field":      "images: {all: {foo: bar}}\n",
		"repository a list":  "images: {all: {repository: [a]}}\n",
		"repository a bool":  "images: {all: {repository: true}}\n",
		"under another name": "Images:\n  all: {tag: v2}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := release(t, map[string]string{"v1.2.3": seriesOf("1.2=v1beta2")}, "v1.2.3")
			file := filepath.Join(r.Dir(), r.Components)
			given.NoError(t, os.WriteFile(file, []byte(namespace+container("ghcr.io/x/y:v1")+strings.Replace(container("ghcr.io/x/y.z:v1"), "name: m,", "name: n,", 1)), 0o644))
			path := settings(t, r, images)
			want, wantErr := binary(t).Run(background, path, nil, "generate", "provider", "-i", "foo:v1.2.3")
			cfg := given.Value(rendering.Read(path, []byte(read(t, path).Data), values{}.Get))(t)
			overrides, err := cfg.Images()
			var got []byte
			if err == nil {
				var c *rendering.Components
				if c, err = rendering.RenderProvider(background, rendering.ProviderInput{Provider: foo, File: read(t, file), Variables: cfg.Get, Images: overrides}); err == nil {
					got, err = c.YAML()
				}
			}
			given.NoError(t, os.WriteFile(filepath.Join(r.Root, "clusterctl.yaml"), []byte(read(t, path).Data), 0o644))
			if findings := lintSettings(t, r.Root); (wantErr == nil) != (len(findings) == 0) {
				t.Errorf("clusterctl: %v\nlint: %v", wantErr, findings)
			}
			if wantErr == nil || err == nil { // or else the tool refuses before it looks at the images
				same(t, name, want, wantErr, got, err)
			}
		})
	}
}

// TestProviderSettings compares which provider lists are refused, and why.
func TestProviderSettings(t *testing.T) {
	t.Parallel()
	good := "- {name: foo, type: InfrastructureProvider, url: 'file:///x/infrastructure-foo/v1.0.0/c.yaml'}\n"
	for name, list := range map[string]string{
		"good":               good,
		"upper case":         strings.Replace(good, "foo,", "Foo,", 1),
		"subdomain":          strings.Replace(good, "foo,", "foo.bar,", 1),
		"underscore":         strings.Replace(good, "foo,", "foo_bar,", 1),
		"no name":            strings.Replace(good, "foo,", "'',", 1),
		"core":               strings.Replace(good, "foo,", "cluster-api,", 1),
		"core type":          strings.Replace(good, "Infrastructure", "Core", 1),
		"unknown type":       strings.Replace(good, "InfrastructureProvider", "Infrastructure", 1),
		"no type":            "- {name: foo, url: x}\n",
		"no url":             "- {name: foo, type: InfrastructureProvider}\n",
		"bad url":            "- {name: foo, type: InfrastructureProvider, url: ':'}\n",
		"variable in url":    "- {name: foo, type: InfrastructureProvider, url: 'file:///${DIR}/${NONE}x'}\n",
		"default in url":     "- {name: foo, type: InfrastructureProvider, url: 'file:///${NONE:-y}/x'}\n",
		"broken url":         "- {name: foo, type: InfrastructureProvider, url: 'file:///${DIR'}\n",
		"last of two counts": good + strings.Replace(good, "file:///x", "file:///y", 1),
		"keys by case":       "- {Name: foo, TYPE: InfrastructureProvider, Url: 'x'}\n",
		"name a number":      "- {name: 1, type: InfrastructureProvider, url: x}\n",
		"unknown key":        strings.Replace(good, "name", "x: y, name", 1),
		"a text":             "x\n",
		"an entry a text":    "- x\n",
		"a mapping":          "  name: foo\n",
		"null":               "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := "providers:\n" + list
			if name == "a text" {
				data = "providers: x\n"
			}
			tree := withMetadata(seriesOf("1.2=v1beta2"))
			tree["clusterctl.yaml"] = data
			path := filepath.Join(write(t, tree), "clusterctl.yaml")
			env := values{"DIR": "dir"}
			out, wantErr := binary(t).Run(background, path, env.env(), "config", "repositories", "-o", "yaml")
			cfg := given.Value(rendering.Read(path, []byte(data), env.Get))(t)
			list, err := cfg.Providers()
			if (wantErr == nil) != (err == nil) {
				t.Fatalf("clusterctl: %v\nthe tool:   %v", wantErr, err)
			}
			var entries []struct{ File, Name, ProviderType, URL string }
			given.NoError(t, yaml.Unmarshal(out, &entries))
			for _, p := range list {
				dir, file := filepath.Split(p.URL)
				if !slices.Contains(entries, struct{ File, Name, ProviderType, URL string }{file, p.Name, string(p.Type), dir}) {
					t.Errorf("clusterctl does not list %v", p)
				}
			}
			usable := wantErr
			for _, p := range list { // some names and URLs are only refused when they are used
				_, err := binary(t).Run(background, path, env.env(), "generate", "provider", "-i", p.Name+":v1.0.0")
				if err != nil && (strings.Contains(err.Error(), "invalid provider name") || strings.Contains(err.Error(), "invalid path")) {
					usable = err
				}
			}
			if findings := lintSettings(t, filepath.Dir(path)); (usable == nil) != (len(findings) == 0) {
				t.Errorf("clusterctl: %v\nlint: %v", usable, findings)
			}
			if err != nil && !strings.Contains(wantErr.Error(), "Allowed values") && !strings.HasSuffix(err.Error(), wantErr.Error()) {
				t.Errorf("clusterctl: %v\nthe tool:   %v", wantErr, err)
			}
		})
	}
}

// lintSettings returns the errors in the clusterctl.yaml of a repository.
func lintSettings(t *testing.T, root string) []string {
	t.Helper()
	r := given.Value(folder.Open(background, root))(t)
	report, err := lint.Run(background, r, lint.Options{Rules: eachAlone(), Apart: true})
	given.NoError(t, err)
	var out []string
	for _, f := range report.Findings {
		if f.Severity == lint.Error && f.Rule.ID != "COMP039" { // the components are not whole
			out = append(out, f.Rule.ID+": "+f.Message)
		}
	}
	return out
}
