package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/repository"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	rendering "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// TestProviders renders every provider in its own and in another namespace, with
// the package and with the program.
func TestProviders(t *testing.T) {
	t.Parallel()
	b := binary(t)
	var total, equal atomic.Int32
	t.Cleanup(func() { t.Logf("%d of %d renderings are equal", equal.Load(), total.Load()) })
	for _, r := range subjects(t) {
		t.Run(r.Label()+"/"+r.Version, func(t *testing.T) {
			t.Parallel()
			f := read(t, filepath.Join(r.Dir(), r.Components))
			v := dummies([]byte(f.Data))
			cfg := settings(t, r, "")
			for _, namespace := range []string{"", "another-system"} {
				total.Add(1)
				args := []string{"generate", "provider", flagOf(t, r), r.Name + ":" + r.Version}
				if namespace != "" {
					args = append(args, "--target-namespace", namespace)
				}
				want, wantErr := b.Run(background, cfg, v.env(), args...)
				c, err := rendering.RenderProvider(background, rendering.ProviderInput{
					Provider: provider(r), File: f, TargetNamespace: namespace, Variables: v.Get,
				})
				var got []byte
				if err == nil {
					got, err = c.YAML()
				}
				if same(t, strings.Join(args, " "), want, wantErr, got, err) {
					equal.Add(1)
				}
				args = append([]string{"render", "provider", r.Dir()}, args[4:]...)
				got, err = runTool(t, cfg, v.env(), args...)
				same(t, strings.Join(args, " "), want, wantErr, got, err)
			}
			want, wantErr := b.Run(background, cfg, nil, "generate", "provider", flagOf(t, r), r.Name+":"+r.Version, "--describe")
			c, err := rendering.RenderProvider(background, rendering.ProviderInput{Provider: provider(r), Version: r.Version, File: f, Raw: true})
			var got string
			if err == nil {
				got = c.Describe(r.URL())
			}
			// Without variables the tool does not know where the version came
			// from, nor does clusterctl: it prints what was asked for.
			same(t, "--describe", want, wantErr, []byte(got), err)
			out, err := runTool(t, cfg, nil, "render", "provider", r.Dir(), "--describe")
			same(t, "render provider --describe", want, wantErr, out, err)
			compareComponents(t, r, f, v)
		})
	}
}

// compareComponents compares the data next to the objects with the library.
func compareComponents(t *testing.T, r real.Release, f *yamldoc.File, v values) {
	t.Helper()
	want, wantErr := components(r, []byte(f.Data), v, nil, "", false)
	got, err := rendering.RenderProvider(background, rendering.ProviderInput{Provider: provider(r), File: f, Variables: v.Get})
	if (wantErr == nil) != (err == nil) {
		t.Errorf("clusterctl: %v, the tool: %v", wantErr, err)
	}
	if wantErr != nil || err != nil {
		return
	}
	if !slices.Equal(want.Images(), got.Images) {
		t.Errorf("images: clusterctl %v, the tool %v", want.Images(), got.Images)
	}
	if names := names(got.Variables); !slices.Equal(want.Variables(), names) {
		t.Errorf("variables: clusterctl %v, the tool %v", want.Variables(), names)
	}
	if want.TargetNamespace() != got.TargetNamespace {
		t.Errorf("namespace: clusterctl %q, the tool %q", want.TargetNamespace(), got.TargetNamespace)
	}
}

func names(list []vars.Variable) []string {
	out := []string{}
	for _, v := range list {
		out = append(out, v.Name)
	}
	return out
}

// reader holds variables and images for the library.
func reader(v values, images rendering.Images) config.Reader {
	m := config.NewMemoryReader()
	if err := m.Init(background, ""); err != nil {
		panic(err) // it has no way to fail
	}
	for name, value := range v {
		m.Set(name, value)
	}
	if images != nil {
		var b strings.Builder
		for key, o := range images {
			fmt.Fprintf(&b, "%q: {repository: %q, name: %q, tag: %q}\n", key, o.Repository, o.Name, o.Tag)
		}
		m.Set("images", b.String())
	}
	return m
}

// components is the library's rendering of a provider.
func components(r real.Release, data []byte, v values, images rendering.Images, namespace string, raw bool) (c repository.Components, err error) {
	defer crash(&err)
	cfg, err := config.New(background, "", config.InjectReader(reader(v, images)))
	if err != nil {
		return nil, err
	}
	return repository.NewComponents(repository.ComponentsInput{
		Provider:     config.NewProvider(r.Name, "", v1alpha3.ProviderType(r.Type)),
		ConfigClient: cfg,
		Processor:    yamlprocessor.NewSimpleProcessor(),
		RawYaml:      data,
		Options:      repository.ComponentsOptions{TargetNamespace: namespace, SkipTemplateProcess: raw},
	})
}

// template is the library's rendering of a cluster template.
func template(data []byte, v values, namespace string, variablesOnly bool) (tmpl repository.Template, err error) {
	defer crash(&err)
	cfg, err := config.New(background, "", config.InjectReader(reader(v, nil)))
	if err != nil {
		return nil, err
	}
	return repository.NewTemplate(repository.TemplateInput{
		RawArtifact:           data,
		ConfigVariablesClient: cfg.Variables(),
		Processor:             yamlprocessor.NewSimpleProcessor(),
		TargetNamespace:       namespace,
		SkipTemplateProcess:   variablesOnly,
	})
}

// crash turns a crash of clusterctl into an error.
func crash(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("clusterctl crashes: %v", p)
	}
}

// TestTemplates renders every cluster template.
func TestTemplates(t *testing.T) {
	t.Parallel()
	b := binary(t)
	var total, rendered, refused atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d templates: %d equal, %d refused for the same reason", total.Load(), rendered.Load(), refused.Load())
	})
	for _, r := range subjects(t) {
		for _, name := range files(t, r.Dir()) {
			flavor, ok := layouts.Flavor(name)
			if !ok || r.Type != string(layouts.Infrastructure) {
				continue
			}
			t.Run(r.Label()+"/"+r.Version+"/"+flavor, func(t *testing.T) {
				t.Parallel()
				total.Add(1)
				f := read(t, filepath.Join(r.Dir(), name))
				texts := [][]byte{[]byte(f.Data)}
				for _, other := range files(t, r.Dir()) {
					if layouts.KindOfFile(other) == layouts.ClusterClass {
						texts = append(texts, []byte(read(t, filepath.Join(r.Dir(), other)).Data))
					}
				}
				v := dummies(texts...)
				in := rendering.ClusterInput{
					Provider: provider(r), Template: f, Class: classOf(r), Name: "dummy", Namespace: "default",
					KubernetesVersion: "v1.36.0", Variables: v.Get,
				}
				args := []string{"generate", "cluster", "dummy", "-i", r.Name + ":" + r.Version, "-n", "default", "--kubernetes-version", "v1.36.0", "--flavor", flavor}
				cfg := settings(t, r, "")
				want, wantErr := b.Run(background, cfg, v.env(), args...)
				out, err := rendering.RenderCluster(background, in)
				var got []byte
				if err == nil {
					got, err = out.YAML()
				}
				if same(t, name, want, wantErr, got, err) {
					if err == nil {
						rendered.Add(1)
					} else {
						refused.Add(1)
						t.Log(err)
					}
				}
				render := append([]string{"render", "cluster", r.Dir(), "dummy"}, args[5:]...)
				got, err = runTool(t, cfg, v.env(), render...)
				same(t, strings.Join(render, " "), want, wantErr, got, err)

				want, wantErr = b.Run(background, cfg, nil, append(args, "--list-variables")...)
				in.ListVariablesOnly = true
				out, err = rendering.RenderCluster(background, in)
				got = nil
				if err == nil {
					got = []byte(in.ListVariables(out, func(string) (string, bool) { return "", false }))
				}
				same(t, name+" --list-variables", want, wantErr, got, err)
				got, err = runTool(t, cfg, nil, append(render, "--list-variables")...)
				same(t, strings.Join(render, " ")+" --list-variables", want, wantErr, got, err)
			})
		}
	}
}

// classOf opens the ClusterClasses of a release, with the words of clusterctl's
// local repository for a missing file.
func classOf(r real.Release) func(string) (*yamldoc.File, error) {
	return func(class string) (*yamldoc.File, error) {
		path := filepath.Join(r.Dir(), layouts.ClusterClassFile(class))
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("failed to read file %q from local release %s: %w", path, r.Version, err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return yamldoc.NewFile(path, data), nil
	}
}

// compareRelease renders what clusterctl has judged.
func compareRelease(t *testing.T, r real.Release, verdicts []real.Verdict) {
	t.Helper()
	var texts [][]byte
	for _, name := range files(t, r.Dir()) {
		texts = append(texts, []byte(read(t, filepath.Join(r.Dir(), name)).Data))
	}
	v := dummies(texts...)
	for _, verdict := range verdicts {
		f := read(t, filepath.Join(r.Dir(), verdict.File))
		var out interface{ YAML() ([]byte, error) }
		var err error
		if _, ok := layouts.Flavor(verdict.File); ok {
			out, err = rendering.RenderCluster(background, rendering.ClusterInput{
				Provider: provider(r), Template: f, Class: classOf(r), Name: "dummy", Namespace: "default", KubernetesVersion: "v1.36.0", Variables: v.Get,
			})
		} else {
			if err = checkFolder(r, r.Version); err == nil {
				out, err = rendering.RenderProvider(background, rendering.ProviderInput{
					Provider: provider(r), File: f, Raw: strings.HasSuffix(verdict.Use, "--raw"), Variables: v.Get,
				})
			}
		}
		var got []byte
		if err == nil {
			got, err = out.YAML()
		}
		same(t, verdict.File+", "+verdict.Use, verdict.Output, verdict.Err, got, err)
	}
}
