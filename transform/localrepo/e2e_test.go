package localrepo

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const whole = `providers:
- {name: cluster-api, type: CoreProvider, versions: [{name: v1.2.3, value: ../config, files: [{sourcePath: ../metadata.yaml}]}]}
- {name: kubeadm, type: BootstrapProvider}
- {name: kubeadm, type: ControlPlaneProvider}
- {name: docker, type: InfrastructureProvider}
variables: {A: 1.30, B: 007, C: 1e3, D: null, E: true, F: "1.30", G: 0x10}
`

func decoded(t *testing.T, text string) (*suiteConfig, error) {
	t.Helper()
	c, err := decode(yamldoc.Parse(yamldoc.NewFile("yaml", []byte(text))))
	if c != nil {
		c.defaults("linux", "arm64")
	}
	return c, err
}

func framework() bool { return false }

// Scalars become strings by way of JSON, as sigs.k8s.io/yaml converts them.
func TestDecode(t *testing.T) {
	c := given.Value(decoded(t, whole))(t)
	var got []string
	for _, v := range c.Variables {
		got = append(got, v.Name+"="+v.Value.Value)
	}
	if want := []string{"A=1.3", "B=7", "C=1000", "D=", "E=true", "F=1.30", "G=16"}; !slices.Equal(got, want) {
		t.Errorf("variables %q, want %q", got, want)
	}
	v := c.Providers[0].Versions[0]
	if v.Type.Value != byKustomize || v.Files[0].Target.Value != "metadata.yaml" {
		t.Errorf("defaults are missing: %+v", v)
	}
	if own, err := c.check(func(file) error { return nil }, framework); own != "" || err != nil {
		t.Errorf("a good configuration is refused: %q, %v", own, err)
	}
}

// Each fault is refused at its place, in the framework's words.
func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"type":        {"InfrastructureProvider", "Infrastructure", `yaml:5:24: Providers[3].Type="Infrastructure"`},
		"name":        {"{name: docker, ", "{", "yaml:5:3: Providers[3].Name is empty"},
		"version":     {"v1.2.3", "v1.2", `yaml:2:61: Providers[0].Sources[0].Name="v1.2"`},
		"no version":  {"v1.2.3", `""`, "yaml:2:61: Providers[0].Sources[0].Name is empty"},
		"value":       {"../config", `""`, "Providers[0].Sources[0].Value is empty"},
		"source type": {"value: ../config", "type: helm, value: x", `Providers[0].Sources[0].Type="helm"`},
		"expression":  {"value: ../config", "value: ../config, replacements: [{old: 'a(['}]", `Replacements[0].Old="a([": error parsing regexp`},
		"outside":     {"{sourcePath: ../metadata.yaml}", "{sourcePath: x, targetName: ../../x}", `TargetName="../../x": write a file name`},
		"missing":     {"../metadata.yaml", "gone", `Providers[0].Sources[0].Files[0].SourcePath="gone": is missing`},
		"kubeadm":     {"kubeadm, type: Boot", "other, type: Boot", "bootstrap-provider should be named kubeadm"},
		"core":        {"cluster-api, type: Core", "capi, type: Core", "core-provider should be named cluster-api"},
		"variable":    {"A: 1.30", "providers: x", "yaml:6:13: variable providers would replace"},
		"interval":    {"variables:", "intervals: {default/x: [5x]}\nvariables:", `Intervals[default/x]=["5x"]`},
		"three times": {"variables:", "intervals: {default/x: [5m, 10s, 1s], default/y: [5m, 10s]}\nvariables:", `Intervals[default/x]=["5m" "10s" "1s"]`},
		"image":       {"variables:", "images: [{loadBehavior: x}]\nvariables:", `Images[0].LoadBehavior="x"`},
		"wrong type":  {"type: BootstrapProvider", "type: [x]", ".Type must be a string"},
	} {
		c, err := decoded(t, strings.Replace(whole, tc.old, tc.new, 1))
		if err == nil {
			_, err = c.check(func(f file) error {
				if f.Source.Value == "gone" {
					return errors.New("is missing")
				}
				return nil
			}, framework)
		}
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ".type must", ".Type must"), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
	c := given.Value(decoded(t, strings.ReplaceAll(whole, "kubeadm", "rke2")))(t)
	if own, err := c.check(func(file) error { return nil }, framework); err != nil || !strings.Contains(own, "kubeadm") {
		t.Errorf("without kubeadm: %q, %v", own, err)
	}
}

func TestMarkers(t *testing.T) {
	versions := []string{"v1.12.0-rc.1", "v1.12.0", "v1.12.5", "v1.13.0", "v2.0.0", "nonsense"}
	for text, want := range map[string]string{
		"go://m@v1.12":        "v1.12.5 v1.12.0",
		"go://m@latest-v1.12": "v1.12.0-rc.1 v1.12.5 v1.12.0",
		"go://m@v3":           "",
		"https://m@v1":        "unknown release marker scheme",
		"go://m":              "module or version missing",
		"go://m@v1.2.3":       "parsing semver",
	} {
		m, err := layouts.ParseMarker(text)
		if got := strings.Join(m.Candidates(versions), " "); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	if m, _ := layouts.ParseMarker("go://sigs.k8s.io/cluster-api@v1.10"); m.Page("v1.10.1") != "https://github.com/kubernetes-sigs/cluster-api/releases/download/v1.10.1/metadata.yaml" {
		t.Error(m.Page("v1.10.1"))
	}
}

// Variables among images and providers are for envsubst, others for clusterctl.
func TestPrepared(t *testing.T) {
	for text, want := range map[string]bool{
		"providers:\n- name: ${A}\n":                            true,
		"images:\n# none\n- name: ${A:-b}\nvariables: {}\n":     true,
		"providers:\n- name: a # ${A}\nvariables:\n  A: ${A}\n": false,
		"providers:\n- {old: '(?P<k>x)', new: '${k}'}\n":        false,
		"providers:\n- name: $A\n":                              false,
	} {
		if prepared(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
