package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// buildTool compiles this project's program.
func buildTool(dir string) (string, error) {
	path := filepath.Join(dir, "clusterctl-repo")
	build := exec.Command("go", "run", "-exec", "cp", "./cmd/clusterctl-repo", path)
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build clusterctl-repo: %w\n%s", err, out)
	}
	return path, nil
}

// place begins the tool's messages; clusterctl's have none.
var place = regexp.MustCompile(`^[^\n]*?:\d+:\d+: `)

// runTool starts this project's program in the same surroundings as clusterctl.
// The error is what it prints after "error: " and the position.
func runTool(t testing.TB, config string, env []string, args ...string) ([]byte, error) {
	t.Helper()
	path := given.Value(tool())(t)
	if config != "" {
		args = append(args, "--config", config)
	}
	cmd := exec.CommandContext(background, path, args...)
	cmd.Env = append([]string{"HOME=" + filepath.Dir(path) + "/none"}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return stdout.Bytes(), nil
	case !errors.As(err, &exit):
		t.Fatal(err)
	}
	text := stderr.String()
	if i := strings.Index(text, "error: "); i >= 0 {
		text = text[i+len("error: "):]
	}
	return nil, errors.New(place.ReplaceAllString(strings.TrimSpace(text), ""))
}

// TestDemo publishes the examples with the program, as `make demo` does, and
// reads them with clusterctl through the configuration that the program prints.
func TestDemo(t *testing.T) {
	t.Parallel()
	root := filepath.Join(newFolder(t), "a folder with $$ and ${B}") // clusterctl replaces variables in URLs
	for _, source := range exampleSources(t) {
		if _, err := runTool(t, "", nil, "release", source, "--version", exampleVersion, "--to", root, "--fail-on", "warning"); err != nil {
			t.Fatalf("%s: %v", source, err)
		}
	}
	for _, how := range []string{"latest", "pinned"} {
		args := []string{"config", root}
		if how == "pinned" {
			args = append(args, "--pin")
		}
		entries := given.Value(runTool(t, "", nil, args...))(t)
		cfg := filepath.Join(write(t, map[string]string{"clusterctl.yaml": string(entries)}), "clusterctl.yaml")
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			readDemo(t, root, cfg, how == "pinned")
		})
	}
}

// readDemo does with the published releases what users do.
func readDemo(t *testing.T, root, cfg string, pinned bool) {
	out := given.Value(binary(t).Run(background, cfg, nil, "config", "repositories", "-o", "yaml"))(t)
	var list []struct{ Name, ProviderType, URL string }
	given.NoError(t, yaml.Unmarshal(out, &list))
	found := releases(t, root)
	types := map[string]bool{}
	for _, r := range found {
		types[r.Type] = true
		where := "/" + r.Label() + "/" + layouts.Latest + "/"
		if pinned {
			where = "/" + r.Label() + "/" + r.Version + "/"
		}
		n := 0
		for _, e := range list {
			if e.Name == r.Name && e.ProviderType == r.Type && strings.HasSuffix(e.URL, where) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("clusterctl lists %s %d times with a URL that ends with %s", r.Label(), n, where)
		}
		name, folder := r.Name, filepath.Dir(r.Dir()) // the newest of all versions
		if pinned {
			name, folder = r.Name+":"+r.Version, r.Dir()
		}
		compare := func(env []string, stock, own []string) {
			t.Helper()
			want, err := binary(t).Run(background, cfg, env, stock...)
			if err != nil {
				t.Errorf("clusterctl %s: %v", strings.Join(stock, " "), err)
				return
			}
			got, err := runTool(t, cfg, env, own...)
			same(t, strings.Join(stock, " "), want, nil, got, err)
		}
		v := dummies(bytesOf(filepath.Join(r.Dir(), r.Components)))
		for _, rest := range [][]string{{}, {"-n", "another-system"}, {"--raw"}} {
			compare(v.env(), append([]string{"generate", "provider", flagOf(t, r), name}, rest...), append([]string{"render", "provider", folder}, rest...))
		}
		for _, file := range files(t, r.Dir()) {
			flavor, ok := layouts.Flavor(file)
			if !ok {
				continue
			}
			v := dummies(bytesOf(filepath.Join(r.Dir(), file)))
			for _, rest := range [][]string{{"-n", "default"}, {"-n", "another", "--control-plane-machine-count", "3", "--worker-machine-count", "2"}, {"-n", "default", "--list-variables"}} {
				// Without a version clusterctl asks the management cluster.
				rest = append(rest, "--flavor", flavor, "--kubernetes-version", "v1.36.0")
				compare(v.env(), append([]string{"generate", "cluster", "dummy", flagOf(t, r), r.Name + ":" + r.Version}, rest...), append([]string{"render", "cluster", r.Dir(), "dummy"}, rest...))
			}
		}
	}
	for _, row := range layouts.Types {
		if !types[string(row.Type)] {
			t.Errorf("no example is a %s", row.Type)
		}
	}
}

// TestFirstRefusal makes sure that of several faults the program names the one
// that clusterctl names.
func TestFirstRefusal(t *testing.T) {
	t.Parallel()
	for name, tree := range map[string]map[string]string{
		"metadata before components": {"metadata.yaml": seriesOf("1.2=v1alpha4"), "infrastructure-components.yaml": "a: ${\n"},
		"series before components":   {"metadata.yaml": seriesOf("1.3=v1beta2"), "infrastructure-components.yaml": "a: ${B}\n"},
		"variables before YAML":      {"metadata.yaml": seriesOf("1.2=v1beta2"), "infrastructure-components.yaml": "a: [${B}\n"},
		"images before namespace":    {"metadata.yaml": seriesOf("1.2=v1beta2"), "infrastructure-components.yaml": container("nginx")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := map[string]string{}
			for file, text := range tree {
				in[madeUp+file] = text
			}
			r := real.Release{Root: write(t, in), Type: string(foo.Type), Name: foo.Name, Version: "v1.2.3", Components: "infrastructure-components.yaml"}
			cfg := settings(t, r, "")
			want, wantErr := binary(t).Run(background, cfg, nil, "generate", "provider", "-i", "foo:v1.2.3")
			if wantErr == nil {
				t.Fatal("clusterctl accepts it")
			}
			got, err := runTool(t, cfg, nil, "render", "provider", r.Dir())
			same(t, name, want, wantErr, got, err)
		})
	}
}
