package recipes_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// read returns what recipes say, one line for each product, image and line that
// was not understood.
func read(files map[string]string) []string {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	r := recipes.Read(fsys)
	var out []string
	for _, p := range r.Products {
		line := fmt.Sprintf("%s: %s", p.Place, p.To)
		if p.Kustomize != "" {
			line += " = build " + p.Kustomize
		}
		if p.Unrestricted {
			line += " unrestricted"
		}
		if p.From != nil {
			line += " < " + strings.Join(p.From, " ")
		}
		if p.Through != nil {
			line += " | " + strings.Join(p.Through, " | ")
		}
		out = append(out, line)
	}
	for _, i := range r.Images {
		out = append(out, fmt.Sprintf("%s: image %s=%s in %s", i.Place, i.Name, i.NewName, i.Dir))
	}
	for _, u := range r.Unread {
		out = append(out, fmt.Sprintf("%s: ? %s", u.Place, u.Why))
	}
	return out
}

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"variables, automatic ones and continued lines": {
			map[string]string{"Makefile": "OUT ?= $(CURDIR)/out\nKUSTOMIZE := $(abspath bin/kustomize-v5)\nFLAGS = --load-restrictor LoadRestrictionsNone\n\n$(OUT)/core-components.yaml: core # why\n\t@$(KUSTOMIZE) build \\\n\t  $(FLAGS) $</config > $@\nNAME := $(notdir a/b)\nx:\n\t-cp $(NAME).yaml $(@D)/$(@F).yaml\n"},
			[]string{"Makefile:6: out/core-components.yaml = build core/config unrestricted", "Makefile:10: x.yaml < b.yaml"},
		},
		"folders are followed, and each line of make begins anew": {
			map[string]string{"a/Makefile": "all:\n\tcd b; kustomize build config/default > ../../out/x.yaml\n\tkubectl kustomize config/default > y.yaml\n\t(cd c && kustomize build . > z.yaml) && kustomize build d > w.yaml\n"},
			[]string{"a/Makefile:2: out/x.yaml = build a/b/config/default", "a/Makefile:3: a/y.yaml = build a/config/default", "a/Makefile:4: a/c/z.yaml = build a/c", "a/Makefile:4: a/w.yaml = build a/d"},
		},
		"images that yq writes into a kustomization": {
			map[string]string{"Makefile": "IMG = r.io/a\nTAG ?= dev\nx:\n\t$(YQ) -y '.images[0]={\"name\":\"old\",\"newName\":\"$(IMG)\",\"newTag\":\"$(TAG)\"}' in/kustomization.yaml > out/kustomization.yaml\n"},
			[]string{"Makefile:4: out/kustomization.yaml | yq", "Makefile:4: image old=r.io/a in ."},
		},
		"pipes, tee, copies and joins": {
			map[string]string{"m.yaml": "", "Makefile": "all:\n\tkustomize build c | sed 's/a/b/' | envsubst > out/a.yaml\n\tkustomize build d | tee out/b.yaml > /dev/null\n\tsed s/x/y/ m.yaml > out/m.yaml\n\tenvsubst < m.yaml > out/n.yaml\n\tcat out/a.yaml > out/all.yaml\n\techo '---' >> out/all.yaml\n\tcat out/b.yaml >> out/all.yaml\n\tcp -r m.yaml k.yaml out\n"},
			[]string{
				"Makefile:2: out/a.yaml = build c | sed | envsubst", "Makefile:3: out/b.yaml = build d", "Makefile:3: dev/null = build d",
				"Makefile:4: out/m.yaml < m.yaml | sed", "Makefile:5: out/n.yaml < m.yaml | envsubst",
				"Makefile:6: out/all.yaml < out/a.yaml out/b.yaml", "Makefile:9: out/m.yaml < m.yaml", "Makefile:9: out/k.yaml < k.yaml",
			},
		},
		"loops over words and files": {
			map[string]string{"f/one/kustomization.yaml": "", "f/two/kustomization.yaml": "", "Makefile": "all:\n\tfor f in one two; do kustomize build f/$$f -o out/$${f}.yaml; done\n\tfor f in f/*; do kustomize build $$f > out/$$(basename $$f)-x.yaml; done\n"},
			[]string{"Makefile:2: out/one.yaml = build f/one", "Makefile:2: out/two.yaml = build f/two", "Makefile:3: out/one-x.yaml = build f/one", "Makefile:3: out/two-x.yaml = build f/two"},
		},
		"a renamed build is followed": {
			map[string]string{"Makefile": "all:\n\tkustomize build c > t/x.yaml\n\tmv t/x.yaml out/y.yaml\n"},
			[]string{"Makefile:2: t/x.yaml = build c", "Makefile:3: out/y.yaml = build c"},
		},
		"what cannot be told": {
			map[string]string{"Makefile": "V := $(shell git describe)\nall:\n\tkustomize build $(WHERE) > out/x.yaml\n\tkustomize build c > out/x-$(V).yaml\n\tkustomize build c > $(OUT)/y.yaml\n\tkustomize build 'c > z\n"},
			[]string{"Makefile:5: \ue000OUT\ue001/y.yaml = build c", "Makefile:3: ? the folder of the kustomization depends on WHERE", "Makefile:4: ? the name of the file depends on V", "Makefile:6: ? the line cannot be read as shell"},
		},
		"both sides of a condition, and no loop of variables": {
			map[string]string{"Makefile": "A = $(B)\nB = $(A)\nifeq ($(X),y)\nD ?= c\nelse\nD ?= d\nendif\nall:\n\tif [ -n \"$$X\" ]; then kustomize build $(D) > a.yaml; else kustomize build e > b.yaml; fi\n\tkustomize build $(A) > c.yaml\n"},
			[]string{"Makefile:9: a.yaml = build c", "Makefile:9: b.yaml = build e", "Makefile:10: ? the folder of the kustomization depends on A"},
		},
		"included files share variables": {
			map[string]string{"Makefile": "include hack/common.mk\nall:\n\tkustomize build $(DIR) > x.yaml\n", "hack/common.mk": "DIR = config/default\n"},
			[]string{"Makefile:3: x.yaml = build config/default"},
		},
		"workflows, GitLab and goreleaser": {
			map[string]string{
				".github/workflows/r.yml": "jobs:\n  a:\n    steps:\n    - run: kustomize build a > out/a.yaml\n    - run: |\n        cd config/manager\n        kustomize edit set image controller=ghcr.io/x/y:${{ github.ref_name }}\n    - run: kustomize build b > out/b.yaml\n",
				".gitlab-ci.yml":          "build:\n  script:\n  - cd config\n  - kustomize build g > x.yaml\n",
				".goreleaser.yaml":        "before:\n  hooks:\n  - kustomize build h -o out/{{ .Tag }}/h.yaml\n",
			},
			[]string{
				".github/workflows/r.yml:4: out/a.yaml = build a", ".github/workflows/r.yml:8: out/b.yaml = build b",
				".gitlab-ci.yml:4: config/x.yaml = build config/g", ".goreleaser.yaml:3: out/v\ue000TAG\ue001/h.yaml = build h",
				".github/workflows/r.yml:7: image controller=ghcr.io/x/y in config/manager",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(tc.files)
			slices.Sort(got)
			slices.Sort(tc.want)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// Whatever a Makefile holds, reading ends and does not panic.
func FuzzMakefile(f *testing.F) {
	f.Add("all:\n\tfor a in 1 2; do for b in 1 2; do kustomize build $$a > $$b.yaml; done; done\n")
	f.Add("A=$(A)$(A)\nall: ; cp $(A) $@\n")
	f.Add("all:\n\tcp {1..1000000000} {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b} x\n")
	f.Add("define X\nendef\n$(call X,$(")
	f.Fuzz(func(t *testing.T, text string) {
		recipes.Read(fstest.MapFS{"Makefile": {Data: []byte(text)}, "x.sh": {Data: []byte(text)}, ".gitlab-ci.yml": {Data: []byte(text)}})
	})
}

func TestFor(t *testing.T) {
	fsys := fstest.MapFS{"flavors.sh": {Data: []byte("src=e2e/$1/sources/\nout=e2e/$1/generated\n" +
		"find ${src}* -type d -print0 | xargs -0 -I {} basename {} | xargs -t -I {} ./bin/kustomize build --reorder none ${src}{} -o ${out}/flavor-{}.yaml\n" +
		"mv $out/flavor-default.yaml $out/flavor.yaml\nkustomize build e2e/$2 > e2e/$1.yaml\n" +
		"ls in | xargs -I {} kustomize build in/{} -o {}/flavor-{}.yaml\n")}}
	for name, want := range map[string]string{
		"e2e/a/generated/flavor-x.yaml": "e2e/a/sources/x unsorted",
		"e2e/a/generated/flavor.yaml":   "[e2e/a/generated/flavor-default.yaml]",
		"e2e/a/generated/y/flavor.yaml": "",
		"e2e/a.yaml":                    "",
		"x/flavor-x.yaml":               "in/x[]",
		"x/flavor-y.yaml":               "",
	} {
		got := ""
		for _, p := range recipes.Read(fsys).Products {
			if p, ok := p.For(name); ok && p.Unsorted {
				got += p.Kustomize + " unsorted"
			} else if ok {
				got += p.Kustomize + fmt.Sprint(p.From)
			}
		}
		if got != want {
			t.Errorf("%s is made from %q, want %q", name, got, want)
		}
	}
}

// TestMakeInAFolder follows make to the Makefile of another folder.
func TestMakeInAFolder(t *testing.T) {
	r := recipes.Follow(fstest.MapFS{
		"Makefile":       {Data: []byte("release:\n\tmake -C sub all\n\tsed s/a/b/ a.yaml > c/one.yaml\n\tsed s/a/b/ a.yaml > sub/there.yaml\n\tcat a.yaml b.yaml > c/both.yaml\n\tkustomize build c > c/built.yaml\n")},
		"a.yaml":         {},
		"sub/there.yaml": {},
		"sub/Makefile":   {Data: []byte("all:\n\tkustomize build config > ../out/infrastructure-components.yaml\n")},
	}, "")
	if r == nil || len(r.Products) != 1 || r.Products[0].Kustomize != "sub/config" {
		t.Errorf("%+v", r)
	} else if len(r.Generated) != 1 || r.Generated[0].To != "c/one.yaml" {
		t.Errorf("generated: %+v", r.Generated)
	}
}

// TestWorkflowVariables follows what a workflow gives to make: its env, what a step
// writes to $GITHUB_ENV and $GITHUB_OUTPUT, and the name of the repository.
func TestWorkflowVariables(t *testing.T) {
	for _, steps := range []string{`
      - run: echo "TAG=${GITHUB_REF#refs/*/}" >> $GITHUB_ENV
      - env:
          IMG: ${{ env.REGISTRY }}/${{ github.repository }}:${{ env.TAG }}
        run: make release
`, `
      - run: echo "IMG=$REGISTRY/${GITHUB_REPOSITORY}:${GITHUB_REF:10}" >> "$GITHUB_ENV"
      - run: make release
`, `
      - id: image
        run: echo "ref=$REGISTRY/$GITHUB_REPOSITORY:$GITHUB_REF_NAME" >> $GITHUB_OUTPUT
      - run: make release IMG=${{ steps.image.outputs.ref }}
`, `
      - run: echo "RELEASE_TAG=$(git describe --tags)" >> $GITHUB_ENV
      - run: make release IMG=$REGISTRY/$GITHUB_REPOSITORY:${{ env.RELEASE_TAG }}
`} {
		r := recipes.Follow(fstest.MapFS{
			"Makefile": {Data: []byte("IMG ?= controller:dev\nrelease:\n\tcd config && kustomize edit set image controller=$(IMG)\n\tkustomize build config > out/infrastructure-components.yaml\n")},
			".github/workflows/release.yaml": {Data: []byte("env:\n  REGISTRY: ghcr.io\njobs:\n  release:\n    steps:" + steps +
				"      - uses: softprops/action-gh-release@v2\n        with:\n          files: out/*\n")},
		}, "acme/provider")
		if r == nil || len(r.Images) != 1 || r.Images[0].NewName != "ghcr.io/acme/provider" || r.Images[0].Tag != "{version}" {
			t.Errorf("%s: %+v", steps, r)
		}
	}
}

// TestOutputsOfJobs tells the outputs of steps apart, follows those of other jobs, and
// knows which version docker/metadata-action writes without its v.
func TestOutputsOfJobs(t *testing.T) {
	for want, steps := range map[string]string{
		"ghcr.io/a/b:{version}": `
      - {id: one, run: "echo ref=ghcr.io/a/b:$GITHUB_REF_NAME >> $GITHUB_OUTPUT"}
      - {id: two, run: "echo ref=ghcr.io/a/other:dev >> $GITHUB_OUTPUT"}
      - run: make release IMG=${{ steps.one.outputs.ref }}
`,
		"ghcr.io/a/b:{number}": `
      - run: make release IMG=ghcr.io/a/b:${{ needs.meta.outputs.version }}
`,
	} {
		r := recipes.Follow(fstest.MapFS{
			"Makefile": {Data: []byte("release:\n\tcd config && kustomize edit set image controller=$(IMG)\n\tkustomize build config > out/infrastructure-components.yaml\n")},
			".github/workflows/release.yaml": {Data: []byte("jobs:\n  meta:\n    outputs: {version: '${{ steps.meta.outputs.version }}'}\n    steps:\n    - {id: meta, uses: docker/metadata-action@v5, with: {tags: 'type=semver,pattern={{version}}'}}\n" +
				"  release:\n    steps:" + steps + "      - uses: softprops/action-gh-release@v2\n        with: {files: out/*}\n")},
		}, "")
		if r == nil || len(r.Images) != 1 || r.Images[0].NewName+":"+r.Images[0].Tag != want {
			t.Errorf("want %s: %+v", want, r)
		}
	}
}

// TestShellOfReleases follows arrays, mv, questions for files and sed on what was made.
func TestShellOfReleases(t *testing.T) {
	r := recipes.Follow(fstest.MapFS{
		"Makefile": {Data: []byte(`IMG = ghcr.io/a/b
release:
	./hack/release.sh
	sed -i 's|image: ghcr.io/old/b:dev|image: $(IMG):$(or $(TAG),dev)|g' out/infrastructure-components.yaml
`)},
		"hack/release.sh": {Data: []byte(`
FLAVORS=("default" "ha")
FLAVORS+=(small)
mkdir -p out
kustomize build config > out/infrastructure-components.yaml
cp metadata.yaml out/metadata.yaml
for f in "${FLAVORS[@]}"; do kustomize build "flavors/$f" > "out/cluster-template-$f.yaml"; done
mv out/cluster-template-default.yaml out/cluster-template.yaml
sed -i "s#ghcr.io/a/ccm:v[0-9.]*#ghcr.io/a/ccm:${TAG}#" out/cluster-template-ha.yaml
if [ -f config/extra.yaml ]; then cp config/extra.yaml out/; fi
if [ -f out/cluster-template-none.yaml ]; then cp config/extra.yaml out/; fi
`)},
		"config/kustomization.yaml": {},
		"metadata.yaml":             {},
	}, "")
	if r == nil || r.Open != "" {
		t.Fatalf("%+v", r)
	}
	var got []string
	for _, p := range r.Products {
		got = append(got, strings.TrimSpace(p.Name+" "+p.Kustomize+" "+strings.Join(p.Through, " ")))
	}
	want := []string{"cluster-template-ha.yaml flavors/ha sed", "cluster-template-small.yaml flavors/small", "cluster-template.yaml flavors/default", "infrastructure-components.yaml config", "metadata.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if p := r.Product("cluster-template-ha.yaml"); p == nil || p.Line != 9 {
		t.Errorf("the line of sed: %+v", p)
	}
	if i := slices.IndexFunc(r.Images, func(i recipes.Image) bool { return i.Name == "ghcr.io/old/b" }); i < 0 || r.Images[i].NewName != "ghcr.io/a/b" || r.Images[i].Tag != "{version}" {
		t.Errorf("images: %+v", r.Images)
	}
}

// TestWorkflowThatUploadsNothing: what it makes is for another purpose than a release,
// if the Makefile knows one.
func TestWorkflowThatUploadsNothing(t *testing.T) {
	tree := fstest.MapFS{
		"Makefile":                       {Data: []byte("release: manifests\n\tcp templates/cluster-template.yaml out/\nmanifests:\n\tkustomize build config > out/infrastructure-components.yaml\n")},
		".github/workflows/release.yaml": {Data: []byte("jobs:\n  a:\n    steps:\n    - run: make manifests\n  b:\n    steps:\n    - uses: goreleaser/goreleaser-action@v6\n")},
	}
	if r := recipes.Follow(tree, ""); r == nil || r.Product("cluster-template.yaml") == nil {
		t.Errorf("%+v", r)
	}
}

// TestUploadsKeepTheirPlaces names the line of each upload, not that of the last.
func TestUploadsKeepTheirPlaces(t *testing.T) {
	r := recipes.Follow(fstest.MapFS{
		"Makefile":                       {Data: []byte("release:\n\tkustomize build config > out/infrastructure-components.yaml\n")},
		"metadata.yaml":                  {},
		".github/workflows/release.yaml": {Data: []byte("jobs:\n  a:\n    steps:\n    - run: make release\n    - run: gh release upload v1 metadata.yaml\n    - run: gh release upload v1 out/*\n")},
	}, "")
	if p := r.Product("metadata.yaml"); p == nil || p.Line != 5 {
		t.Errorf("%+v", p)
	}
}

// TestComponentsOfAnotherName follows a recipe that calls them components.yaml.
func TestComponentsOfAnotherName(t *testing.T) {
	r := recipes.Follow(fstest.MapFS{"Makefile": {Data: []byte("release:\n\tkustomize build config > dist/components.yaml\n")}}, "")
	if r == nil || r.Product("components.yaml") == nil || r.Line != 2 {
		t.Errorf("%+v", r)
	}
}

// TestGrowingVariables: a variable of a workflow that doubles in each step stays bounded.
func TestGrowingVariables(t *testing.T) {
	steps := strings.Repeat("    - env: {A: \"${{ env.A }}${{ env.A }}\"}\n      run: echo\n", 64)
	recipes.Follow(fstest.MapFS{
		".github/workflows/release.yaml": {Data: []byte("env: {A: aaaaaaaa}\njobs:\n  release:\n    steps:\n" + steps + "    - run: gh release create v1 out/*\n")},
		"Makefile":                       {Data: []byte("release:\n\tkustomize build config > out/infrastructure-components.yaml\n")},
	}, "")
}

// TestImageAndPullPolicy: a recipe may set both in one file.
func TestImageAndPullPolicy(t *testing.T) {
	r := recipes.Follow(fstest.MapFS{
		"Makefile":            {Data: []byte("IMG ?= r.io/a:dev\nrelease:\n\tsed -i -e 's@image: .*@image: '\"$(IMG)\"'@' config/manager.yaml\n\tsed -i -e 's@imagePullPolicy: .*@imagePullPolicy: Always@' config/manager.yaml\n\tkustomize build config > out/infrastructure-components.yaml\n")},
		"config/manager.yaml": {Data: []byte("image: x\nimagePullPolicy: Never\n")},
	}, "")
	if r == nil || len(r.Images) != 2 || r.Images[0].NewName != "r.io/a" || r.Images[1].PullPolicy != "Always" {
		t.Errorf("%+v", r)
	}
}

// TestArrays follows lists of the shell, and does not guess at elements by key.
func TestArrays(t *testing.T) {
	for script, want := range map[string]string{
		"F=(a b); F+=(c)": "a b c", "F=(); F+=(a)": "a", "F=a; F+=(b)": "a b", "F=()": "", "declare -a F": "",
		"declare -A F=([a]=x [b]=y)": "?", "F=(a b); F[2]=c": "?", "declare -A F=([a]=)": "?", "F=([0]=)": "?", "F=(a); F+=x": "?",
	} {
		r := recipes.Read(fstest.MapFS{"hack/release.sh": {Data: []byte(script + "\nfor f in \"${F[@]}\"; do kustomize build x/$f > out/$f.yaml; done\n")}})
		got := phrase.List(r.Products, func(p recipes.Product) string { return strings.TrimSuffix(path.Base(p.To), ".yaml") })
		if text := strings.Join(got, " "); text != want && (want != "?" || text != "" && !strings.Contains(text, "F")) {
			t.Errorf("%s: %q, want %q", script, text, want)
		}
	}
}

// TestRewritten: a file that is written again through another name stays what it was made from.
func TestRewritten(t *testing.T) {
	r := recipes.Follow(fstest.MapFS{
		"Makefile": {Data: []byte("release:\n\tkustomize build config > out/infrastructure-components.yaml\n\tsed s/a/b/ out/infrastructure-components.yaml > out/x.tmp && mv out/x.tmp out/infrastructure-components.yaml\n")},
	}, "")
	if p := r.Product("infrastructure-components.yaml"); p == nil || p.Kustomize != "config" || !slices.Equal(p.Through, []string{"sed"}) {
		t.Errorf("%+v", p)
	}
}

// TestExpressionsInOutputs follows what a job gives to others in other ways.
func TestExpressionsInOutputs(t *testing.T) {
	for output, want := range map[string]string{
		"${{ github.ref_name }}": "{version}", "v${{ steps.a.outputs.version }}": "{version}", "${{ steps.a.outputs.version }}": "{number}",
	} {
		r := recipes.Follow(fstest.MapFS{
			"Makefile":                 {Data: []byte("release:\n\tcd config && kustomize edit set image controller=r.io/a:$(TAG)\n\tkustomize build config > out/infrastructure-components.yaml\n")},
			".github/workflows/a.yaml": {Data: []byte("jobs:\n  a:\n    outputs: {tag: \"" + output + "\"}\n    steps:\n    - id: a\n      uses: docker/metadata-action@v5\n      with: {tags: \"type=semver,pattern={{version}}\"}\n    - run: echo tag=dev >> $GITHUB_OUTPUT\n  b:\n    steps:\n    - run: make release TAG=${{ needs.a.outputs.tag }}\n    - uses: softprops/action-gh-release@v2\n      with: {files: out/*}\n")},
		}, "")
		if r == nil || len(r.Images) != 1 || r.Images[0].Tag != want {
			t.Errorf("%s: %+v", output, r)
		}
	}
}

// TestFindByName: a recipe that copies what find prints copies no other files.
func TestFindByName(t *testing.T) {
	r := recipes.Follow(fstest.MapFS{
		"Makefile":                        {Data: []byte("release:\n\tkustomize build config > out/infrastructure-components.yaml\n\tfor f in $$(find templates -name 'cluster-template*.yaml'); do cp $$f out/; done\n")},
		"templates/cluster-template.yaml": {},
		"templates/clusterclass-a.yaml":   {},
		".github/workflows/release.yaml":  {Data: []byte("jobs:\n  release:\n    steps:\n    - run: make release\n    - uses: softprops/action-gh-release@v2\n      with: {files: out/*}\n")},
	}, "")
	if r == nil || r.Product("cluster-template.yaml") == nil || r.Product("clusterclass-a.yaml") != nil {
		t.Errorf("%+v", r)
	}
}

// TestUploadsOfUnknownOrigin names what a workflow uploads and no recipe is known to
// make, and lets the Makefile tell the rest.
func TestUploadsOfUnknownOrigin(t *testing.T) {
	workflow := "jobs:\n  release:\n    steps:\n    - run: just build\n    - uses: softprops/action-gh-release@v2\n      with: {files: \"dist/FILE\\nREADME.md\"}\n"
	tree := fstest.MapFS{".github/workflows/release.yaml": {Data: []byte(strings.ReplaceAll(workflow, "FILE", "install.yaml"))}}
	r := recipes.Follow(tree, "")
	if r == nil || r.File != "" || r.Open == "" || r.Product("install.yaml") == nil {
		t.Errorf("an asset: %+v", r)
	}
	tree["Makefile"] = &fstest.MapFile{Data: []byte("release:\n\tkustomize build config > out/infrastructure-components.yaml\n")}
	if r := recipes.Follow(tree, ""); r.Product("install.yaml") != nil || r.Product("infrastructure-components.yaml") == nil {
		t.Errorf("a Makefile: %+v", r)
	}
	tree[".github/workflows/release.yaml"].Data = []byte(strings.ReplaceAll(workflow, "FILE", "addon-components.yaml"))
	if r := recipes.Follow(tree, ""); r.File == "Makefile" || r.Product("addon-components.yaml") == nil || !strings.Contains(r.Open, "uploads dist/addon-components.yaml") {
		t.Errorf("components: %+v", r)
	}
}

// TestFilesThatFindLists follows gh release create with the files of a folder.
func TestFilesThatFindLists(t *testing.T) {
	r := recipes.Follow(fstest.MapFS{
		".github/workflows/release.yaml": {Data: []byte("jobs:\n  release:\n    steps:\n    - run: make publish TAG=$GITHUB_REF_NAME IMG=ghcr.io/acme/acme@$DIGEST\n    - run: gh release create $GITHUB_REF_NAME\n")},
		"Makefile":                       {Data: []byte("publish: build\n\tgh release create $(TAG) $$(find out -type f ! -name notes.md | sort)\nbuild:\n\tcd config && kustomize edit set image controller=$(IMG)\n\tkustomize build config > out/infrastructure-components.yaml\n\tcp metadata.yaml out/\n")},
		"metadata.yaml":                  {},
	}, "")
	if r == nil || len(r.Products) != 2 || r.Open != "" || len(r.Images) != 1 || r.Images[0].NewName != "ghcr.io/acme/acme" || r.Images[0].Tag != "" {
		t.Errorf("%+v", r)
	}
}
