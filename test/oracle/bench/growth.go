package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// synthetic writes a release of the infrastructure provider foo into a new
// repository, or adds a version to one.
func synthetic(dir, version, components string) (release, error) {
	r := release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, version: version, components: "infrastructure-components.yaml"}
	r.dir = filepath.Join(dir, r.Label(), version)
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return r, err
	}
	for name, text := range map[string]string{
		r.components:    "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: foo-system\n" + components,
		"metadata.yaml": "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- major: 1\n  minor: 0\n  contract: v1beta1\n",
	} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
			return r, err
		}
	}
	return r, nil
}

// document is the nth object of a components file.
func document(n int, value string) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller-%d
  namespace: foo-system
  labels:
    cluster.x-k8s.io/provider: infrastructure-foo
spec:
  replicas: 1
  selector:
    matchLabels:
      app: controller-%[1]d
  template:
    metadata:
      labels:
        app: controller-%[1]d
    spec:
      containers:
      - name: manager
        image: registry.example.com/foo/controller-%[1]d:v1.0.0
        args:
        - --feature=%s
`, n, value)
}

// growing is a kind of input that can have any size.
type growing struct {
	unit string
	// size is the smallest one, in units.
	size int
	// write makes an input of n units and returns the folder to look at.
	write func(dir string, n int) (string, error)
	// commands are what is done with it, without the folder at the end.
	commands [][]string
}

// manifest makes a release of one components file.
func manifest(text func(n int) string) func(string, int) (string, error) {
	return func(dir string, n int) (string, error) {
		r, err := synthetic(dir, "v1.0.0", text(n))
		return r.dir, err
	}
}

func many(n int, text func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(text(i))
	}
	return b.String()
}

var (
	lintCommand   = []string{"lint", "--fail-on", "never", "-o", "json"}
	renderCommand = []string{"render", "provider"}
	varsCommand   = []string{"vars"}
	imagesCommand = []string{"images"}
)

var inputs = []growing{
	{"documents", 500, manifest(func(n int) string {
		return many(n, func(i int) string { return document(i, "none") })
	}), [][]string{lintCommand, renderCommand, imagesCommand}},
	{"variables", 2000, manifest(func(n int) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\n  namespace: foo-system\ndata:\n" +
			many(n, func(i int) string {
				return fmt.Sprintf("  key%d: \"${VARIABLE_%[1]d:=value %[1]d} $$ ${SHARED:=x}\"\n", i)
			})
	}), [][]string{lintCommand, renderCommand, varsCommand}},
	{"documents with a variable", 500, manifest(func(n int) string {
		return many(n, func(i int) string { return document(i, fmt.Sprintf("${VARIABLE_%d:=none}", i)) })
	}), [][]string{lintCommand, renderCommand, varsCommand, imagesCommand}},
	{"items of one list", 5000, manifest(func(n int) string {
		return "---\napiVersion: v1\nkind: List\nmetadata:\n  name: list\n  namespace: foo-system\nspec:\n" +
			many(n, func(i int) string { return fmt.Sprintf("- name: item-%d\n  value: text\n", i) })
	}), [][]string{lintCommand, renderCommand}},
	{"versions", 100, func(dir string, n int) (string, error) {
		for i := range n {
			if _, err := synthetic(dir, fmt.Sprintf("v1.0.%d", i), many(5, func(i int) string { return document(i, "none") })); err != nil {
				return "", err
			}
		}
		return dir, nil
	}, [][]string{lintCommand}},
	{"templates", 100, func(dir string, n int) (string, error) {
		r, err := synthetic(dir, "v1.0.0", document(0, "none"))
		if err != nil {
			return "", err
		}
		for i := range n {
			if err := os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("cluster-template-f%d.yaml", i)), []byte(flavor), 0o644); err != nil {
				return "", err
			}
		}
		return r.dir, nil
	}, [][]string{lintCommand, varsCommand}},
	{"definitions of 6 kB", 100, manifest(func(n int) string { return many(n, definition) }), [][]string{lintCommand, renderCommand, varsCommand, imagesCommand}},
}

// growthFactors are the sizes, as multiples of the smallest.
var growthFactors = []int{1, 4, 16, 64}

// growth measures the time for a unit of input as the input grows.
func (b *bench) growth(ctx context.Context) error {
	idle, err := b.compare(ctx, side{name: "start", runs: b.runs, processes: []process{b.tool("version")}})
	if err != nil {
		return err
	}
	for i, in := range inputs {
		var dirs []string
		for _, f := range growthFactors {
			dir, err := in.write(filepath.Join(b.dir, "growth", fmt.Sprint(i), fmt.Sprint(f)), f*in.size)
			if err != nil {
				return err
			}
			dirs = append(dirs, dir)
		}
		for _, command := range in.commands {
			var sides []side
			for i, f := range growthFactors {
				sides = append(sides, side{name: fmt.Sprintf("%s of %d %s", command[0], f*in.size, in.unit), runs: max(1, b.runs/2),
					processes: []process{b.tool(append(append([]string{}, command...), dirs[i])...)}})
			}
			c, err := b.compare(ctx, sides...)
			if err != nil {
				return err
			}
			g := growthRow{step: command[0], unit: in.unit, size: in.size}
			for i, f := range growthFactors {
				g.micros = append(g.micros, seconds(c[i].fastest()-idle[0].fastest())*1e6/float64(f*in.size))
			}
			b.report.growth = append(b.report.growth, g)
		}
	}
	return nil
}
