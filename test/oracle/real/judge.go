package real

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

// Verdict is what clusterctl says to one use of a release.
type Verdict struct {
	// File is what is used: the components file, metadata.yaml or a template.
	File string
	// Use is the command, as a person would type it.
	Use string
	// Output is what clusterctl prints, if it accepts the release.
	Output []byte
	// Err is why it refuses.
	Err error
}

// Release is a release in a folder <Root>/<label>/<Version>.
type Release struct {
	Root       string
	Type       string // such as InfrastructureProvider
	Name       string
	Version    string
	Components string // the name of the components file
	// Values are the variables. Nil means a plausible value for every variable
	// that has no default, see Dummy.
	Values map[string]string
}

// Label is the name of the folder of the provider.
func (r Release) Label() string {
	return v1alpha3.ManifestLabel(r.Name, v1alpha3.ProviderType(r.Type))
}

// Dir is the folder of the release.
func (r Release) Dir() string { return filepath.Join(r.Root, r.Label(), r.Version) }

// URL is the address of the provider in clusterctl.yaml.
func (r Release) URL() string {
	return (&url.URL{Scheme: "file", Path: filepath.Join(r.Dir(), r.Components)}).String()
}

// Isolate makes sure that the library finds no cluster and no settings of the
// person who tests. It changes the environment of the process, so it belongs
// into TestMain.
func Isolate(dir string) error {
	for name, value := range map[string]string{
		"KUBECONFIG":      filepath.Join(dir, "no-kubeconfig"),
		"XDG_CONFIG_HOME": filepath.Join(dir, "config"),
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	xdg.Reload()
	return nil
}

// Judge does with a release what users do: `generate provider`, the same with
// --raw, and `generate cluster` with every template. The error says that there
// was no verdict. Call Isolate before.
func Judge(ctx context.Context, r Release) ([]Verdict, error) {
	files, err := os.ReadDir(r.Dir())
	if err != nil {
		return nil, err
	}
	c, err := r.client(ctx, files)
	if err != nil {
		return nil, err
	}
	var out []Verdict
	for _, raw := range []bool{false, true} {
		v := Verdict{File: r.Components, Use: "generate provider"}
		if raw {
			v.Use += " --raw"
		}
		components, err := guard(func() (client.YamlPrinter, error) {
			return c.GenerateProvider(ctx, r.Name+":"+r.Version, v1alpha3.ProviderType(r.Type), client.ComponentsOptions{SkipTemplateProcess: raw})
		})
		out = append(out, v.with(components, err))
	}
	for _, f := range files {
		flavor, ok := flavorOf(f.Name())
		if !ok || r.Type != string(v1alpha3.InfrastructureProviderType) {
			continue
		}
		v := Verdict{File: f.Name(), Use: "generate cluster"}
		if flavor != "" {
			v.Use += " --flavor " + flavor
		}
		template, err := guard(func() (client.YamlPrinter, error) {
			return c.GetClusterTemplate(ctx, client.GetClusterTemplateOptions{
				ClusterName: "dummy", TargetNamespace: "default", ControlPlaneMachineCount: new(int64(1)), WorkerMachineCount: new(int64(0)),
				ProviderRepositorySource: &client.ProviderRepositorySourceOptions{InfrastructureProvider: r.Name + ":" + r.Version, Flavor: flavor},
			})
		})
		out = append(out, v.with(template, err))
	}
	return out, nil
}

// guard turns a crash of clusterctl into a refusal.
func guard(f func() (client.YamlPrinter, error)) (p client.YamlPrinter, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("clusterctl crashed: %v", r)
		}
	}()
	return f()
}

func (v Verdict) with(p client.YamlPrinter, err error) Verdict {
	if v.Err = err; err == nil {
		v.Output, v.Err = p.Yaml()
		v.Output = append(v.Output, '\n')
	}
	return v
}

func flavorOf(file string) (flavor string, ok bool) {
	s, ok := strings.CutPrefix(file, "cluster-template")
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, ".yaml")
	return strings.TrimPrefix(s, "-"), ok
}

func (r Release) client(ctx context.Context, files []os.DirEntry) (client.Client, error) {
	reader := config.NewMemoryReader()
	if err := reader.Init(ctx, ""); err != nil {
		return nil, err
	}
	if _, err := reader.AddProvider(r.Name, v1alpha3.ProviderType(r.Type), r.URL()); err != nil {
		return nil, err
	}
	reader.Set("overridesFolder", filepath.Join(r.Root, "no-overrides"))
	values := r.Values
	if values == nil {
		values = map[string]string{}
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(r.Dir(), f.Name()))
			if err != nil {
				continue
			}
			for _, name := range Required(data) {
				values[name] = Dummy(name)
			}
		}
	}
	for name, value := range values {
		reader.Set(name, value)
	}
	c, err := config.New(ctx, "", config.InjectReader(reader))
	if err != nil {
		return nil, err
	}
	return client.New(ctx, "", client.InjectConfig(c))
}

// Required lists the variables of a file that have no default, none if the file
// cannot be read.
func Required(data []byte) []string {
	defaults, err := yamlprocessor.NewSimpleProcessor().GetVariableMap(data)
	if err != nil {
		return nil
	}
	var names []string
	for name, value := range defaults {
		if value == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Dummy is a plausible value for a variable of that name: a number where
// clusterctl's typed conversions or the shape of YAML need one.
func Dummy(name string) string {
	for _, row := range []struct{ pattern, value string }{
		{`^KUBERNETES_VERSION$`, "v1.36.0"},
		{`(COUNT|REPLICAS|SIZE|PORT|_GB|_MB|_GIB|CPUS?|CORES|NUM|MTU|VLAN|SECONDS|INDEX|_ID$|MEMORY)`, "1"},
		{`CIDR`, "10.0.0.0/24"},
		{`(_IP|ADDRESS|ENDPOINT|HOST)`, "10.0.0.1"},
		{`B64`, "ZHVtbXk="},
		{`^(EXP_|ENABLE|.*_ENABLED?$|.*INSECURE)`, "true"},
	} {
		if regexp.MustCompile(row.pattern).MatchString(name) {
			return row.value
		}
	}
	return "dummy"
}
