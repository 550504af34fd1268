package recipes_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
)

// FuzzRecipes reads and follows any text as a recipe: nothing panics or runs on, and
// what is published has a name.
func FuzzRecipes(f *testing.F) {
	many := func(format string) string {
		var all strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&all, format, i)
		}
		return all.String()
	}
	for _, seed := range [][3]string{
		{"release:\n" + many("\tcp metadata.yaml out/f%d.yaml; cp out/*.yaml b/\n"), "", ""},
		{"", "", "env: {" + many("A%d: b,") + "}\njobs: {a: {steps: [" + many("{run: 'echo $A%d'},") + "{uses: gh-release, with: {files: '*'}}]}}"},
		{"OUT ?= out\nrelease: a\n\tkustomize build config/default > $(OUT)/infrastructure-components.yaml\na:\n\t$(MAKE) b X=$(V:v%=%)\n", "", ""},
		{"include x.mk\nout/%.yaml: src/%\n\tcp $< $@\nrelease: out/metadata.yaml out/core-components.yaml\n", "", ""},
		{"A = $(A)$(B)\nB := $(call A,$(B))\nrelease: release\n\t$(A) > x\n", "", ""},
		{"", "bash <(curl -s https://x.test/a.sh) | tee b.yaml\ncat <<E > c.yaml\n$(ls)\nE\n", "on: push\njobs: {a: {steps: [{run: \"bash <(curl x)\"}, {uses: a/gh-release@v1, with: {files: out/*}}]}}\n"},
		{"release:\n\tbash hack/a.sh {1..3} $@\n", "for f in a/*; do for g in $f/{x,y}; do sed -i \"s@image: .*@image: $1:$TAG@\" $g; done; done\nf() { f; }; f\n", ""},
		{"define X\n\tcp a b\nendef\n.ONESHELL:\nrelease: ; cd a && (cd b; cp -r . ../../out/)\n", "((i++)); [[ a == b ]] && let x=1; coproc cat; select a in b; do :; done", "hooks: [\"{{ .Version }}\"]"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, makefile, script, workflow string) {
		fsys := fstest.MapFS{
			"Makefile": {Data: []byte(makefile)}, "hack/a.sh": {Data: []byte(script)}, ".github/workflows/release.yml": {Data: []byte(workflow)},
			"metadata.yaml": {Data: []byte("kind: Metadata\n")}, "config/default/kustomization.yaml": {Data: []byte("resources: []\n")},
		}
		start := time.Now()
		defer func() {
			if d := time.Since(start); d > time.Minute {
				t.Errorf("it took %s", d)
			}
		}()
		products := recipes.Read(fsys).Products
		if r := recipes.Follow(fsys, ""); r != nil {
			products = append(products, r.Products...)
		}
		for _, p := range products {
			if p.Name == "" || p.File == "" || p.Line < 1 {
				t.Errorf("a product without a name or a place: %+v", p)
			}
		}
	})
}
