package oracle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/repository"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

var foo = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}

const namespaceOnly = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: foo-system\n"

// header begins a metadata.yaml that is in order so far.
const header = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n"

func seriesOf(entries ...string) string {
	var b strings.Builder
	b.WriteString(header + "releaseSeries:\n")
	for _, e := range entries {
		number, contract, _ := strings.Cut(e, "=")
		major, minor, _ := strings.Cut(number, ".")
		fmt.Fprintf(&b, "- major: %s\n  minor: %s\n  contract: %s\n", major, minor, contract)
	}
	return b.String()
}

// metadataCases are contents of metadata.yaml for version v1.2.3.
func metadataCases() map[string]string {
	good := "releaseSeries:\n- {major: 1, minor: 2, contract: v1beta2}\n"
	return map[string]string{
		"good":                    header + good,
		"v1beta1":                 seriesOf("1.2=v1beta1"),
		"old contract":            seriesOf("1.2=v1alpha4"),
		"future contract":         seriesOf("1.2=v1beta3"),
		"contract in upper case":  seriesOf("1.2=V1Beta2"),
		"no contract":             header + "releaseSeries:\n- {major: 1, minor: 2}\n",
		"misspelled in JSON":      "\n \t{\"apiVersion\":\"clusterctl.cluster.x-k8s.io/v1alpha3\",\"releaseSeries\":[{\"major\":1,\"minor\":2,\"contracts\":\"v1beta2\"}]}\n",
		"misspelled, float":       header + "releaseSeries:\n- {major: 1e0, minor: 2, contracts: v1beta2}\n",
		"second of two is odd":    header + "releaseSeries:\n- {major: 1, minor: 2, contract: v1beta2}\n- {major: 1, minor: 2, contract: x}\n",
		"contract is a number":    header + "releaseSeries:\n- {major: 1, minor: 2, contract: 1}\n",
		"other series":            seriesOf("1.1=v1beta2", "1.3=v1beta2"),
		"first of equal counts":   seriesOf("1.2=v1beta2", "1.2=v1alpha3"),
		"first of equal counts 2": seriesOf("1.2=v1alpha3", "1.2=v1beta2"),
		"kind missing":            "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\n" + good,
		"kind empty":              "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: ''\n" + good,
		"kind null":               "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind:\n" + good,
		"kind in lower case":      "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: metadata\n" + good,
		"kind is a number":        "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: 1\n" + good,
		"other kind":              "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Foo\n" + good,
		"apiVersion missing":      "kind: Metadata\n" + good,
		"apiVersion other":        "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha4\nkind: Metadata\n" + good,
		"apiVersion without v":    "apiVersion: clusterctl.cluster.x-k8s.io/\nkind: Metadata\n" + good,
		"apiVersion group only":   "apiVersion: clusterctl.cluster.x-k8s.io\nkind: Metadata\n" + good,
		"apiVersion slash":        "apiVersion: /\nkind: Metadata\n" + good,
		"apiVersion two slashes":  "apiVersion: a/b/c\nkind: Metadata\n" + good,
		"apiVersion other group":  "apiVersion: example.com/\nkind: Metadata\n" + good,
		"apiVersion is a list":    "apiVersion: []\nkind: Metadata\n" + good,
		"apiVersion by case":      "ApiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n" + good,
		"kind by case":            "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nKind: Foo\n" + good,
		"releaseSeries by case":   header + strings.Replace(good, "releaseSeries", "ReleaseSeries", 1),
		"major by case":           header + strings.Replace(good, "major", "Major", 1),
		"releaseSeries missing":   header,
		"releaseSeries empty":     header + "releaseSeries: []\n",
		"releaseSeries null":      header + "releaseSeries:\n",
		"releaseSeries a map":     header + "releaseSeries: {major: 1}\n",
		"series null":             header + "releaseSeries:\n-\n- {major: 1, minor: 2, contract: v1beta2}\n",
		"series a text":           header + "releaseSeries:\n- v1.2\n",
		"major a text":            header + "releaseSeries:\n- {major: '1', minor: 2, contract: v1beta2}\n",
		"major a bool":            header + "releaseSeries:\n- {major: yes, minor: 2, contract: v1beta2}\n",
		"major 1.0":               header + "releaseSeries:\n- {major: 1.0, minor: 2, contract: v1beta2}\n",
		"major 1.5":               header + "releaseSeries:\n- {major: 1.5, minor: 2, contract: v1beta2}\n",
		"major null":              header + "releaseSeries:\n- {major: null, minor: 2, contract: v1beta2}\n",
		"major octal":             header + "releaseSeries:\n- {major: 01, minor: 0x2, contract: v1beta2}\n",
		"major too large":         header + "releaseSeries:\n- {major: 3000000000, minor: 2, contract: v1beta2}\n",
		"major far too large":     header + "releaseSeries:\n- {major: 99999999999999999999, minor: 2, contract: v1beta2}\n",
		"major negative":          header + "releaseSeries:\n- {major: -1, minor: 2, contract: v1beta2}\n",
		"major exponent":          header + "releaseSeries:\n- {major: 1e0, minor: 2, contract: v1beta2}\n",
		"minor missing":           header + "releaseSeries:\n- {major: 1, contract: v1beta2}\n",
		"unknown fields":          header + "foo: bar\n" + strings.Replace(good, "major", "x: 1, major", 1),
		"duplicate keys":          header + "releaseSeries: []\n" + good,
		"duplicate keys 2":        header + good + "releaseSeries: []\n",
		"empty":                   "",
		"comment":                 "# nothing\n",
		"null":                    "null\n",
		"text":                    "hello\n",
		"list":                    "- a\n",
		"leading separator":       "---\n" + header + good,
		"two documents":           header + good + "---\n" + "foo: bar\n",
		"second document counts?": "foo: bar\n---\n" + header + good,
		"empty first document":    "---\n---\n" + header + good,
		"garbage after document":  header + good + "...\n}{\n",
		"tab":                     header + "\treleaseSeries: []\n",
		"crlf":                    strings.ReplaceAll(header+good, "\n", "\r\n"),
		"bom":                     "\ufeff" + header + good,
		"invalid utf-8":           header + good + "# \xff\n",
		"variables stay":          header + "releaseSeries:\n- {major: 1, minor: 2, contract: '${CONTRACT:=v1beta2}'}\n",
		"json":                    `{"apiVersion":"clusterctl.cluster.x-k8s.io/v1alpha3","kind":"Metadata","releaseSeries":[{"major":1,"minor":2,"contract":"v1beta2"}]}`,
		"json with space":         "\n \t" + `{"apiVersion":"clusterctl.cluster.x-k8s.io/v1alpha3","releaseSeries":[{"major":1,"minor":2,"contract":"v1beta2"}]}` + "\n",
		"json with more":          `{"apiVersion":"clusterctl.cluster.x-k8s.io/v1alpha3","releaseSeries":[{"major":1,"minor":2,"contract":"v1beta2"}]} x`,
		"flow is no json":         "{apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3, releaseSeries: [{major: 1, minor: 2, contract: v1beta2}]}",
		"metadata":                header + "metadata: {name: x, labels: {a: b}, creationTimestamp: null}\n" + good,
		"metadata a text":         header + "metadata: x\n" + good,
		"label a number":          header + "metadata: {labels: {a: 1}}\n" + good,
		"timestamp":               header + "metadata: {creationTimestamp: '2020-01-01T00:00:00Z'}\n" + good,
		"timestamp not quoted":    header + "metadata: {creationTimestamp: 2020-01-01T00:00:00Z}\n" + good,
		"timestamp wrong":         header + "metadata: {creationTimestamp: yesterday}\n" + good,
		"timestamp a number":      header + "metadata: {deletionTimestamp: 1}\n" + good,
		"generation a text":       header + "metadata: {generation: x}\n" + good,
		"finalizers a text":       header + "metadata: {finalizers: x}\n" + good,
		"owner":                   header + "metadata: {ownerReferences: [{controller: 1}]}\n" + good,
		"managed fields":          header + "metadata: {managedFields: [{manager: x, time: null, fieldsV1: {a: {}}}]}\n" + good,
		"infinity":                header + "x: .inf\n" + good,
		"null key":                header + "~: x\n" + good,
		"alias":                   header + "x: &a v1beta2\nreleaseSeries:\n- {major: 1, minor: 2, contract: *a}\n",
		"merge":                   header + "x: &a {major: 1, minor: 2}\nreleaseSeries:\n- {<<: *a, contract: v1beta2}\n",
	}
}

// TestMetadata compares the verdict on metadata.yaml for one version.
func TestMetadata(t *testing.T) {
	t.Parallel()
	for name, content := range metadataCases() {
		t.Run(name, func(t *testing.T) { compareMetadata(t, content) })
	}
}

func compareMetadata(t *testing.T, content string) {
	t.Helper()
	r := release(t, map[string]string{"v1.2.3": content}, "v1.2.3")
	_, want := generate(t, r, "foo:v1.2.3")
	got := metadata.Check(yamldoc.NewFile("metadata.yaml", []byte(content)), foo, "v1.2.3")
	if (want == nil) != (got == nil) {
		t.Fatalf("clusterctl: %v\nthe tool:   %v", want, got)
	}
	if want == nil {
		return
	}
	var at *yamldoc.Error
	if !errors.As(got, &at) {
		t.Errorf("no position: %v", got)
	}
	if words(core(want)) != words(core(got)) {
		t.Errorf("clusterctl: %s\nthe tool:   %s", core(want), core(got))
	}
}

// words leaves out what names Go types of the other side, and quoted files.
func words(text string) string {
	text, _, _ = strings.Cut(text, " into Go value of type ")
	text, _, _ = strings.Cut(text, " in '")
	text = strings.TrimSpace(text)
	for from, to := range map[string]string{"v1alpha3.": "", "v1.": "", "metadata.": "", "field mapping.": "field ."} {
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}

// release writes a provider foo with the metadata of each version.
func release(t testing.TB, metadata map[string]string, in string) real.Release {
	t.Helper()
	return real.Release{Root: write(t, versions(metadata)), Type: string(foo.Type), Name: foo.Name, Version: in, Components: "infrastructure-components.yaml"}
}

// versions are the files of a provider foo with the metadata of each version.
func versions(metadata map[string]string) map[string]string {
	tree := map[string]string{}
	for v, content := range metadata {
		tree["infrastructure-foo/"+v+"/infrastructure-components.yaml"] = namespaceOnly
		if content != missing {
			tree["infrastructure-foo/"+v+"/metadata.yaml"] = content
		}
	}
	return tree
}

// missing as a content stands for no file.
const missing = "\x00"

// generate is the library's `generate provider`.
func generate(t testing.TB, r real.Release, name string) (client.Components, error) {
	t.Helper()
	m := reader(values{"overridesFolder": filepath.Join(r.Root, "none")}, nil)
	given.Value(m.(*config.MemoryReader).AddProvider(r.Name, v1alpha3.ProviderType(r.Type), r.URL()))(t)
	cfg := given.Value(config.New(background, "", config.InjectReader(m)))(t)
	c := given.Value(client.New(background, "", client.InjectConfig(cfg)))(t)
	return c.GenerateProvider(background, name, v1alpha3.ProviderType(r.Type), client.ComponentsOptions{})
}

// repositories are sets of versions with the contracts of their metadata.
func repositories() map[string]map[string]string {
	return map[string]map[string]string{
		"one":                            {"v1.0.0": seriesOf("1.0=v1beta2")},
		"none":                           {},
		"no version":                     {"main": seriesOf("1.0=v1beta2"), "v1.9": seriesOf("1.9=v1beta2")},
		"newest of two":                  {"v1.0.0": seriesOf("1.0=v1beta2"), "v1.1.0": seriesOf("1.0=v1beta2", "1.1=v1beta2")},
		"release before pre-release":     {"v1.0.0": seriesOf("1.0=v1beta2"), "v1.1.0-rc.0": seriesOf("1.0=v1beta2", "1.1=v1beta2")},
		"only pre-releases":              {"v1.0.0-alpha.9": seriesOf("1.0=v1beta2"), "v1.0.0-alpha.10": seriesOf("1.0=v1beta2")},
		"future series without release":  {"v1.0.0": seriesOf("1.0=v1beta2"), "v1.1.0": seriesOf("1.0=v1beta2", "1.1=v1beta2", "1.2=v1beta2")},
		"future series with rc":          {"v1.1.0": seriesOf("1.1=v1beta2", "1.2=v1beta2"), "v1.2.0-rc.1": seriesOf("1.1=v1beta2", "1.2=v1beta2")},
		"newer contract":                 {"v1.0.0": seriesOf("1.0=v1beta2"), "v1.0.1": seriesOf("1.0=v1beta2"), "v1.1.0": seriesOf("1.0=v1beta2", "1.1=v1beta3")},
		"newer contract alone":           {"v1.1.0": seriesOf("1.1=v1beta3")},
		"older contract":                 {"v1.0.0": seriesOf("1.0=v1beta1")},
		"newest without metadata":        {"v1.0.0": seriesOf("1.0=v1beta2"), "v1.1.0": missing},
		"older without metadata":         {"v1.0.0": missing, "v1.1.0": seriesOf("1.1=v1beta2")},
		"newest with bad metadata":       {"v1.0.0": seriesOf("1.0=v1beta2"), "v1.1.0": "]["},
		"metadata without apiVersion":    {"v1.0.0": seriesOf("1.0=v1beta2"), "v1.1.0": "releaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n"},
		"without v":                      {"1.0.0": seriesOf("1.0=v1beta2")},
		"with and without v":             {"1.0.0": seriesOf("1.0=v1beta2"), "v1.0.0": seriesOf("1.0=v1beta2")},
		"build metadata":                 {"v1.0.0+a": seriesOf("1.0=v1beta2"), "v1.0.0": seriesOf("1.0=v1beta2"), "v1.0.0+b": seriesOf("1.0=v1beta2")},
		"highest series of the contract": {"v2.0.0": seriesOf("2.0=v1beta2", "10.0=v1beta1", "1.9=v1beta2"), "v10.0.0": seriesOf("2.0=v1beta2", "10.0=v1beta1", "1.9=v1beta2")},
		"numeric order":                  {"v1.9.0": seriesOf("1.9=v1beta2"), "v1.10.0": seriesOf("1.10=v1beta2")},
		"identifiers":                    {"v1.0.0-rc.1": seriesOf("1.0=v1beta2"), "v1.0.0-rc.a": seriesOf("1.0=v1beta2"), "v1.0.0-rc": seriesOf("1.0=v1beta2"), "v1.0.0--": seriesOf("1.0=v1beta2")},
		"negative series":                {"v1.0.0": seriesOf("1.0=v1beta2", "-1.0=v1beta2")},
	}
}

// TestLatest compares the resolution of "latest" with the stock program.
func TestLatest(t *testing.T) {
	t.Parallel()
	for name, metadata := range repositories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := release(t, metadata, "latest")
			cfg := settings(t, r, "")
			out, wantErr := binary(t).Run(background, cfg, nil, "generate", "provider", "-i", "foo", "--describe")
			got, err := latest(t, r)
			if err == nil {
				err = checkFolder(r, got)
			}
			if (wantErr == nil) != (err == nil) || err != nil && !strings.HasSuffix(core(wantErr), core(err)) {
				t.Fatalf("clusterctl: %v\nthe tool:   %v", wantErr, err)
			}
			if wantErr == nil && !strings.Contains(string(out), "Version:            "+got+"\n") {
				t.Fatalf("the tool: %s, clusterctl:\n%s", got, out)
			}
		})
	}
}

// checkFolder does what clusterctl does with the version that it found.
func checkFolder(r real.Release, v string) error {
	path := filepath.Join(r.Root, r.Label(), v, "metadata.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return metadata.Check(yamldoc.NewFile(path, data), foo, v)
}

// latest is the tool's resolution over a folder.
func latest(t testing.TB, r real.Release) (string, error) {
	t.Helper()
	dir := filepath.Join(r.Root, r.Label())
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("failed to list release directories: %w", err)
	}
	var versions []string
	for _, e := range entries {
		versions = append(versions, e.Name())
	}
	return metadata.Latest(versions, func(v string) ([]byte, error) {
		path := filepath.Join(dir, v, "metadata.yaml")
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("failed to read file %q from local release %s: %w", path, v, err)
		}
		return os.ReadFile(path)
	})
}

// defaultVersion is the library's resolution of the version in the URL.
func defaultVersion(t testing.TB, r real.Release) (string, error) {
	t.Helper()
	cfg := given.Value(config.New(background, "", config.InjectReader(reader(nil, nil))))(t)
	c, err := repository.New(background, config.NewProvider(r.Name, r.URL(), v1alpha3.ProviderType(r.Type)), cfg)
	if err != nil {
		return "", err
	}
	return c.DefaultVersion(), nil
}

// randomRepository makes up a few versions and what their metadata lists.
func randomRepository(random *rand.Rand) map[string]string {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	metadata := map[string]string{}
	for range 1 + random.IntN(9) {
		v := fmt.Sprintf("%s%d.%d.%d%s%s", pick("v", "v", "v", "v", "v", ""), random.IntN(3), random.IntN(3), random.IntN(3),
			pick("", "", "", "-rc.0", "-rc.1", "-alpha", "-alpha.10", "-1", "-01"), pick("", "", "", "", "+x"))
		content := missing
		if random.IntN(8) > 0 {
			var entries []string
			for range random.IntN(9) {
				entries = append(entries, fmt.Sprintf("%d.%d=%s", random.IntN(3), random.IntN(3), pick("v1beta2", "v1beta1", "v1beta3")))
			}
			content = seriesOf(entries...)
		}
		metadata[v] = content
	}
	return metadata
}

// TestVersionsAgree compares the versions that the layouts accept, and their
// order, with clusterctl's.
func TestVersionsAgree(t *testing.T) {
	t.Parallel()
	texts := []string{"v1.0.0", "1.0.0", "v1.0", "V1.0.0", "vv1.0.0", "v01.0.0", "v1.0.0.0", "v1.0.0-", "v1.0.0-rc.01", "v1.0.0-x_y", "v1.0.0+a", "v1.0.0+",
		"v1.0.0-rc.1", "v1.0.0-rc.10", "v1.0.0-rc.9", "v1.0.0-rc", "v1.0.0-alpha", "v1.0.0-alpha.beta", "v1.0.0-1", "v2.0.0", "v1.10.0", "v1.9.0", "v1.0.1", "", "v", "latest", "v1.0.0-a+b.c"}
	for _, a := range texts {
		wantA, wantErr := version.ParseSemantic(a)
		gotA, err := layouts.ParseVersion(a)
		if (wantErr == nil) != (err == nil) {
			t.Errorf("%q: clusterctl %v, the tool %v", a, wantErr, err)
			continue
		}
		for _, b := range texts {
			wantB, err1 := version.ParseSemantic(b)
			gotB, err2 := layouts.ParseVersion(b)
			if err != nil || err1 != nil || err2 != nil {
				continue
			}
			if wantA.LessThan(wantB) != (gotA.Compare(gotB) < 0) {
				t.Errorf("%s < %s: clusterctl %t", a, b, wantA.LessThan(wantB))
			}
		}
	}
}
