package oracle

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/repository"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// agreement counts what both sides said.
type agreement struct {
	// Refusals of clusterctl: all, reported by lint, depending on values.
	refused, reported, byValue atomic.Int32
	// Errors of lint with the proof clusterctl: confirmed by a refusal, by
	// damage, and those about a file that is refused for another reason, so
	// that nothing can be shown.
	refusals, damages, hidden atomic.Int32
	mu                        sync.Mutex
	rules                     map[string]int
}

func newAgreement(t *testing.T) *agreement {
	a := &agreement{rules: map[string]int{}}
	t.Cleanup(func() {
		t.Logf("%d refusals: %d reported, %d depend on values; errors: %d confirmed by a refusal, %d by damage, %d hidden by another",
			a.refused.Load(), a.reported.Load(), a.byValue.Load(), a.refusals.Load(), a.damages.Load(), a.hidden.Load())
		t.Log("errors by rule:", a.rules)
	})
	return a
}

// refusal is something that clusterctl does not do. Uses with --raw and --describe
// are not judged: they parse the file with its variables in it, which legitimate
// ones do not survive.
type refusal struct {
	verdict examples.Verdict
	use     string
	err     error
	// blamed are the files and folders that the error can be about.
	blamed []string
	// retry does the same with other values for the variables; nil if there
	// are none.
	retry func(values func(data []byte) values) error
}

// eachAlone are the rules as they judge without each other: none is silent because
// another explains the same fault better.
var eachAlone = sync.OnceValue(func() []*lint.Rule {
	var out []*lint.Rule
	for _, r := range rules.All {
		alone := *r
		alone.Yields = nil
		out = append(out, &alone)
	}
	return out
})

// agree lets both sides judge the repository root, or the part of it in dir:
// what clusterctl refuses lint must report as an error, and the other way round.
func (a *agreement) agree(t testing.TB, root, dir string) {
	t.Helper()
	r := given.Value(folder.Open(background, dir))(t)
	report, err := lint.Run(background, r, lint.Options{Rules: eachAlone(), Apart: true})
	given.NoError(t, err)
	for _, err := range report.Failures {
		t.Error(err)
	}
	byPath := map[string][]lint.Finding{}
	for _, f := range report.Findings {
		// Without a Namespace clusterctl asks for a flag; the document says SHOULD.
		if f.Severity == lint.Error || f.Rule.ID == "COMP001" {
			byPath[f.File] = append(byPath[f.File], f)
		}
	}
	for _, p := range r.Providers {
		if p.Name != "" { // otherwise no URL leads here
			a.provider(t, root, p, byPath)
		}
	}
}

// provider compares the verdicts on one provider.
func (a *agreement) provider(t testing.TB, root string, p *repo.Provider, byPath map[string][]lint.Finding) {
	t.Helper()
	var refusals []refusal
	for _, r := range p.Releases {
		refusals = append(refusals, judgeRelease(t, toReal(root, r))...)
	}
	refusals = append(refusals, judgeVersions(t, root, p)...)
	confirmed := map[string]map[examples.Verdict]bool{}
	for _, refused := range refusals {
		a.refused.Add(1)
		reported := false
		for _, path := range refused.blamed {
			if confirmed[path] == nil {
				confirmed[path] = map[examples.Verdict]bool{}
			}
			confirmed[path][refused.verdict] = true
			reported = reported || slices.ContainsFunc(byPath[path], refuses)
		}
		switch {
		case reported:
			a.reported.Add(1)
		case refused.onlySome():
			a.byValue.Add(1)
		default:
			t.Errorf("%s: clusterctl refuses and lint reports no error: %s\n%s", refused.blamed[0], refused.use, core(refused.err))
		}
	}
	for _, path := range sortedKeys(byPath) {
		if !strings.HasPrefix(path, p.Path+string(filepath.Separator)) {
			continue
		}
		for _, f := range byPath[path] {
			if f.Rule.Proof == lint.Clusterctl {
				a.confirm(t, p, f, confirmed[path])
			}
		}
	}
}

// refuses reports whether an error can be the reason of a refusal: it is not about
// something that clusterctl does without a word.
func refuses(f lint.Finding) bool {
	e, err := examples.Load(f.Rule.ID)
	return err == nil && !strings.HasSuffix(string(e.Oracle.Verdict), "-damage")
}

// confirm demands that an error is true: that clusterctl refuses what it is
// about, or does the damage.
func (a *agreement) confirm(t testing.TB, p *repo.Provider, f lint.Finding, refused map[examples.Verdict]bool) {
	t.Helper()
	a.mu.Lock()
	a.rules[f.Rule.ID]++
	a.mu.Unlock()
	e := given.Value(examples.Load(f.Rule.ID))(t)
	want := refused[e.Oracle.Verdict]
	if e.Oracle.Verdict == examples.TemplateRefuses || e.Oracle.Verdict == examples.ProviderRefuses { // these rules are about both
		want = refused[examples.TemplateRefuses] || refused[examples.ProviderRefuses]
	}
	if e.Oracle.Verdict == examples.MoveLeaves || e.Oracle.Verdict == examples.MoveRefuses {
		return // no command shows it; see TestMoveSets and the rule's example
	}
	if e.Oracle.Verdict == examples.InitRefuses {
		dir := filepath.Dir(f.File)
		err := initialize(t, filepath.Dir(filepath.Dir(dir)), p.Provider, filepath.Base(dir), dummies(bytesOf(f.File)))
		want = err != nil && strings.Contains(err.Error(), "CRD name")
	}
	show := damages[f.Rule.ID]
	switch {
	case want:
		a.refusals.Add(1)
	case e.Oracle.Verdict == examples.TemplateRefuses && fromFile(bytesOf(f.File), dummies(bytesOf(f.File))) != nil:
		a.refusals.Add(1) // other files of the release ask for the variable that this one has a default for
	case show != nil && show(claim{f, p.Provider, bytesOf(f.File)}):
		a.damages.Add(1)
	case len(refused) > 0:
		a.hidden.Add(1)
	default:
		t.Errorf("%s:%d: lint reports an error, and clusterctl neither refuses nor does the damage: %s (%s): %s", f.File, f.Pos.Line, f.Rule.ID, e.Oracle.Verdict, f.Message)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// onlySome reports whether clusterctl accepts the file with other values, so
// that it is not the file that is wrong, or can at least parse it with them.
func (r refusal) onlySome() bool {
	if r.retry == nil {
		return false
	}
	settled := func(err error) bool {
		return err == nil || unreadable(r.err) && !unreadable(err)
	}
	if settled(r.retry(lines)) {
		return true
	}
	return slices.ContainsFunc([]string{"x-name", "1", "", "a: b", "[]", `"a"`, "ghcr.io/acme/x:v1"}, func(value string) bool {
		return settled(r.retry(func(data []byte) values { return all(value, real.Required(data)) }))
	}) || r.ofAnyClass() || r.ofOne()
}

// ofOne reports whether another value for one of the variables helps. Only a few
// are tried.
func (r refusal) ofOne() bool {
	const few = 32
	for i := range few {
		for _, value := range []string{"[]", "{}", "1", "[a]", `"a"`, "apps/v1", "rbac.authorization.k8s.io/v1", "apiextensions.k8s.io/v1", "admissionregistration.k8s.io/v1"} {
			more := false
			err := r.retry(func(data []byte) values {
				v, names := dummies(data), real.Required(data)
				if i < len(names) {
					v[names[i]] = value
					more = true
				}
				return v
			})
			if err == nil {
				return true
			}
			if !more {
				return false
			}
		}
	}
	return false
}

// ofAnyClass reports whether the refusal is about the file of a class that is up
// to the user.
func (r refusal) ofAnyClass() bool {
	const other = "other"
	err := r.retry(func(data []byte) values {
		v := dummies(data)
		for name, value := range v {
			if value == real.Dummy("") {
				v[name] = other
			}
		}
		return v
	})
	// The template may change the case of the name.
	return err != nil && strings.Contains(strings.ToLower(err.Error()), `"`+strings.TrimSuffix(layouts.ClusterClassFile(other), ".yaml"))
}

// unreadable reports whether clusterctl could not parse a file.
func unreadable(err error) bool { return strings.Contains(err.Error(), "failed to parse yaml") }

// all gives the same value to many variables.
func all(value string, names []string) values {
	v := values{}
	for _, name := range names {
		v[name] = value
	}
	return v
}

// alone is a variable that has a line for itself.
var alone = regexp.MustCompile(`(?m)^[ \t]*\$\{(\w+)\}[ \t]*$`)

// lines leaves out the variables that stand for lines of YAML.
func lines(data []byte) values {
	v := dummies(data)
	for _, m := range alone.FindAllSubmatch(data, -1) {
		v[string(m[1])] = ""
	}
	return v
}

// toReal describes a release for clusterctl.
func toReal(root string, r *repo.Release) real.Release {
	out := real.Release{Root: root, Type: string(r.Provider.Type), Name: r.Provider.Name, Version: r.Version}
	info, _ := r.Provider.Type.Info()
	out.Components = info.ComponentsFile
	if c := r.Components(); c != nil {
		out.Components = c.Name
	}
	return out
}

// aboutMetadata are the errors of the first step of `generate provider`.
var aboutMetadata = regexp.MustCompile(`^(failed to read "metadata.yaml"|error decoding "metadata.yaml"|invalid provider metadata|current version of clusterctl is only compatible)`)

// judgeRelease returns what clusterctl refuses to do with the files of a
// release.
func judgeRelease(t testing.TB, r real.Release) []refusal {
	t.Helper()
	verdicts, err := real.Judge(background, r)
	given.NoError(t, err)
	var out []refusal
	judged := map[string]bool{layouts.MetadataFile: true}
	for i, v := range verdicts {
		judged[v.File] = true
		if v.Err == nil || strings.HasSuffix(v.Use, "--raw") {
			continue
		}
		refused := refusal{verdict: examples.TemplateRefuses, use: v.Use, err: v.Err, blamed: []string{filepath.Join(r.Dir(), v.File), r.Dir()}}
		switch _, isTemplate := layouts.Flavor(v.File); {
		case !isTemplate && aboutMetadata.MatchString(v.Err.Error()):
			refused.verdict = examples.ProviderRefuses
			refused.blamed[0] = filepath.Join(r.Dir(), layouts.MetadataFile)
		case !isTemplate:
			refused.verdict = examples.ProviderRefuses
		case strings.HasPrefix(v.Err.Error(), "failed to get the cluster class template"), strings.HasPrefix(v.Err.Error(), "failed to marshal yaml"):
			for _, name := range files(t, r.Dir()) {
				if layouts.KindOfFile(name) == layouts.ClusterClass {
					refused.blamed = append(refused.blamed, filepath.Join(r.Dir(), name))
				}
			}
		}
		refused.retry = func(values func(data []byte) values) error {
			r.Values = map[string]string{}
			for _, name := range files(t, r.Dir()) {
				maps.Copy(r.Values, values(bytesOf(filepath.Join(r.Dir(), name))))
			}
			again, err := real.Judge(background, r)
			if err != nil {
				return err
			}
			return again[i].Err
		}
		out = append(out, refused)
	}
	// Classes that no template uses, and templates of other types of
	// providers, for `generate cluster --from`.
	for _, name := range files(t, r.Dir()) {
		kind := layouts.KindOfFile(name)
		if judged[name] || kind != layouts.ClusterClass && kind != layouts.ClusterTemplate {
			continue
		}
		data := bytesOf(filepath.Join(r.Dir(), name))
		if err := fromFile(data, dummies(data)); err != nil {
			out = append(out, refusal{
				verdict: examples.TemplateRefuses, use: "generate cluster --from", err: err, blamed: []string{filepath.Join(r.Dir(), name), r.Dir()},
				retry: func(values func(data []byte) values) error { return fromFile(data, values(data)) },
			})
		}
	}
	return out
}

// bytesOf reads a file; one that cannot be read is empty, like a folder.
func bytesOf(path string) []byte {
	data, _ := os.ReadFile(path)
	return data
}

// alwaysSet adds what `generate cluster` sets.
func alwaysSet(v values) values {
	for name, value := range (values{"CLUSTER_NAME": "dummy", "NAMESPACE": "default", "CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "0"}) {
		v[name] = value
	}
	return v
}

// fromFile is what `generate cluster --from` makes of a template.
func fromFile(data []byte, v values) error {
	out, err := template(data, alwaysSet(v), "default", false)
	if err == nil {
		_, err = out.Yaml()
	}
	return err
}

// judgeVersions returns what clusterctl refuses to do with the versions of a
// provider: to find the latest, and to plan upgrades.
func judgeVersions(t testing.TB, root string, p *repo.Provider) []refusal {
	t.Helper()
	var blamed []string
	var versions []*repo.Release
	for _, r := range p.Releases {
		blamed = append(blamed, r.Path, filepath.Join(r.Path, layouts.MetadataFile))
		if _, err := layouts.ParseVersion(r.Version); err == nil {
			versions = append(versions, r)
		}
	}
	if len(versions) == 0 {
		return nil
	}
	var out []refusal
	r := toReal(root, versions[len(versions)-1])
	r.Version = layouts.Latest
	if _, err := defaultVersion(t, r); err != nil {
		out = append(out, refusal{verdict: examples.LatestRefuses, use: "latest", err: err, blamed: blamed})
	}
	for _, installed := range versions[:len(versions)-1] {
		if _, err := plan(t, root, p.Provider, installed.Version); err != nil {
			out = append(out, refusal{verdict: examples.UpgradeRefuses, use: "upgrade plan with " + installed.Version, err: err, blamed: blamed})
		}
	}
	return out
}

// claim is an error of lint.
type claim struct {
	lint.Finding
	provider layouts.Provider
	data     []byte
}

// damages show what clusterctl does without a refusal, by rule: whether the claim
// is true.
var damages = map[string]func(claim) bool{
	// The object has another namespace.
	"COMP003": func(c claim) bool {
		r := real.Release{Type: string(c.provider.Type), Name: c.provider.Name}
		out, err := components(r, c.data, dummies(c.data), nil, "", false)
		if err != nil {
			return false
		}
		kind, name, _ := strings.Cut(c.Object, " ")
		slash := strings.LastIndex(name, "/") // a wrong namespace may have some, too
		if slash < 0 {
			return false
		}
		namespace, name := name[:slash], name[slash+1:]
		return slices.ContainsFunc(out.Objs(), func(o unstructured.Unstructured) bool {
			return o.GetKind() == kind && o.GetName() == name && o.GetNamespace() != namespace
		})
	},
	// The second entry for a series is ignored.
	"META008": func(c claim) bool {
		var m v1alpha3.Metadata
		if yaml.Unmarshal(c.data, &m) != nil {
			return false
		}
		for i, s := range m.ReleaseSeries {
			for _, other := range m.ReleaseSeries[:i] {
				if s.Major == other.Major && s.Minor == other.Minor && s.Contract != other.Contract {
					return true
				}
			}
		}
		return false
	},
	// No URL can name the version, and it is not listed.
	"REPO001": func(c claim) bool {
		_, err := c.client(c.File)
		return err != nil && strings.Contains(err.Error(), "invalid version")
	},
	// The files in the folder are not found.
	"REPO008": func(c claim) bool {
		entries, err := os.ReadDir(c.File)
		return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !c.missing(filepath.Dir(c.File), e.Name()) })
	},
	// The file is not found under the name that is asked for.
	"REPO018": func(c claim) bool {
		name := strings.ToLower(filepath.Base(c.File))
		return c.missing(filepath.Dir(c.File), strings.TrimSuffix(strings.TrimSuffix(name, ".yml"), ".yaml")+".yaml")
	},
	// The Namespace is another one.
	"TPL005": func(c claim) bool {
		return slices.ContainsFunc(c.objects(), func(o unstructured.Unstructured) bool {
			return o.GetKind() == "Namespace" && o.GetName() == "default"
		})
	},
	// Without the text clusterctl reads the same objects.
	"YAML016": func(c claim) bool {
		at := yamldoc.NewFile("", c.data).Offset(c.Pos)
		rest := []byte{}
		if next := bytes.Index(c.data[at:], []byte("\n---")); next >= 0 {
			rest = c.data[at+next:]
		}
		without := c
		without.data = slices.Concat(c.data[:at], rest)
		return reflect.DeepEqual(c.objects(), without.objects())
	},
	// Another number comes out.
	"COMP034": func(c claim) bool {
		_, becomes, _ := strings.Cut(c.Message, "clusterctl makes it ")
		becomes, _, _ = strings.Cut(becomes, " ")
		return becomes != "" && strings.Contains(fmt.Sprint(c.objects()), becomes)
	},
	// Nothing stands where the expression is.
	"VAR006": func(c claim) bool {
		f := yamldoc.NewFile(c.File, c.data)
		start, end := f.Offset(c.Pos), f.Offset(c.End)
		marked := slices.Concat(c.data[:start], []byte("<here"), c.data[start:end], []byte("here>"), c.data[end:])
		out, err := process(marked, alwaysSet(dummies(c.data)))
		return err == nil && strings.Contains(string(out), "<herehere>")
	},
	// Some value makes clusterctl crash.
	"VAR009": func(c claim) bool {
		names, err := yamlprocessor.NewSimpleProcessor().GetVariables(c.data)
		if err != nil {
			return false
		}
		_, err = template(c.data, all(strings.Repeat("x", 100), names), "default", false)
		return err != nil && strings.HasPrefix(err.Error(), "clusterctl crashes")
	},
	// The variable is required under a name that the environment is not asked for.
	"VAR010": func(c claim) bool {
		return slices.ContainsFunc(real.Required(c.data), func(name string) bool { return name != strings.ToUpper(name) })
	},
	// Two variables share a value.
	"VAR011": func(c claim) bool {
		names, err := asked(c.data)
		seen := map[string]string{}
		for _, name := range names {
			if other, ok := seen[strings.ToUpper(name)]; ok && other != name {
				return err == nil
			}
			seen[strings.ToUpper(name)] = name
		}
		return false
	},
	// What follows the byte does not matter.
	"VAR019": func(c claim) bool {
		v := alwaysSet(dummies(c.data))
		end := strings.IndexByte(string(c.data), 0)
		whole, err := process(c.data, v)
		part, partErr := process(c.data[:end], v)
		return err == nil && partErr == nil && string(whole) == string(part)
	},
	// The items have neither the labels nor the namespace that objects get.
	"YAML008": func(c claim) bool {
		return slices.ContainsFunc(c.objects(), func(o unstructured.Unstructured) bool {
			items, isList := o.Object["items"].([]any)
			return isList && !slices.ContainsFunc(items, func(item any) bool {
				content, _ := item.(map[string]any)
				_, labelled := (&unstructured.Unstructured{Object: content}).GetLabels()["clusterctl.cluster.x-k8s.io"]
				return labelled
			})
		})
	},
	// Kubernetes' own functions, which clusterctl uses, see none of the labels
	// or annotations.
	"YAML009": func(c claim) bool {
		text, err := process(c.data, alwaysSet(dummies(c.data)))
		if err != nil {
			return false
		}
		for _, part := range strings.Split("\n"+string(text), "\n---") {
			o := unstructured.Unstructured{Object: map[string]any{}}
			if yaml.Unmarshal([]byte(part), &o.Object) != nil {
				continue
			}
			labels, _, _ := unstructured.NestedMap(o.Object, "metadata", "labels")
			annotations, _, _ := unstructured.NestedMap(o.Object, "metadata", "annotations")
			if len(labels) > 0 && o.GetLabels() == nil || len(annotations) > 0 && o.GetAnnotations() == nil {
				return true
			}
		}
		return false
	},
	// Two objects have one identity.
	"YAML011": func(c claim) bool {
		seen := map[string]bool{}
		for _, o := range c.objects() {
			key := fmt.Sprint(o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())
			if seen[key] {
				return true
			}
			seen[key] = true
		}
		return false
	},
}

// asked returns the variables that substitution asks for, also those in defaults,
// which GetVariables leaves out.
func asked(data []byte) (names []string, err error) {
	defer crash(&err)
	_, err = yamlprocessor.NewSimpleProcessor().Process(data, func(name string) (string, error) {
		names = append(names, name)
		return real.Dummy(name), nil
	})
	return names, err
}

// process replaces variables.
func process(data []byte, v values) (out []byte, err error) {
	defer crash(&err)
	return yamlprocessor.NewSimpleProcessor().Process(data, func(name string) (string, error) {
		if value, ok := v[name]; ok {
			return value, nil
		}
		return "", fmt.Errorf("%s is not set", name)
	})
}

// client is clusterctl's view of a version.
func (c claim) client(dir string) (repository.Client, error) {
	label := filepath.Dir(dir)
	r := toReal(filepath.Dir(label), &repo.Release{Provider: c.provider, Version: filepath.Base(dir)})
	cfg, err := config.New(background, "", config.InjectReader(reader(alwaysSet(values{}), nil)))
	if err != nil {
		return nil, err
	}
	return repository.New(background, config.NewProvider(r.Name, r.URL(), v1alpha3.ProviderType(r.Type)), cfg)
}

// missing reports whether clusterctl finds no such file in a version.
func (c claim) missing(dir, name string) bool {
	client, err := c.client(dir)
	if err != nil {
		return false
	}
	version := filepath.Base(dir)
	if flavor, ok := layouts.Flavor(name); ok {
		_, err = client.Templates(version).Get(background, flavor, "default", true)
	} else if class, ok := layouts.ClassOf(name); ok {
		_, err = client.ClusterClasses(version).Get(background, class, "default", true)
	} else if name == layouts.MetadataFile {
		_, err = client.Metadata(version).Get(background)
	}
	return err != nil && strings.Contains(err.Error(), "no such file")
}

// objects are what clusterctl makes of the file; none if it refuses.
func (c claim) objects() []unstructured.Unstructured {
	v := alwaysSet(dummies(c.data))
	if layouts.KindOfFile(filepath.Base(c.File)) == layouts.Components {
		r := real.Release{Type: string(c.provider.Type), Name: c.provider.Name}
		if out, err := components(r, c.data, v, nil, "foo-system", false); err == nil {
			return out.Objs()
		}
		return nil
	}
	if out, err := template(c.data, v, "default", false); err == nil {
		return out.Objs()
	}
	return nil
}

// clusters are Clusters that clusterctl looks into for their class.
func clusters() map[string]string {
	return map[string]string{
		"good":            topology("good"),
		"missing class":   topology("missing"),
		"wrong type":      strings.Replace(topology("good"), "version: v1.36.0", "version: 1.36", 1),
		"class is broken": topology("bad"),
	}
}

// TestLint compares the verdicts of lint with those of clusterctl on real
// releases, on the examples, on the examples of the rules, and on texts that were
// chosen because something happens to them.
func TestLint(t *testing.T) {
	t.Parallel()
	a := newAgreement(t)
	t.Run("on", func(t *testing.T) {
		t.Run("corpus", func(t *testing.T) {
			root := share.Corpus(t, "releases")
			for _, label := range files(t, root) {
				t.Run(label, func(t *testing.T) {
					t.Parallel()
					a.agree(t, root, filepath.Join(root, label))
				})
			}
		})
		t.Run("examples", func(t *testing.T) {
			t.Parallel()
			root := builtExamples(t)
			a.agree(t, root, root)
		})
		for _, rule := range rules.All {
			t.Run("rule "+rule.ID, func(t *testing.T) {
				t.Parallel()
				e := given.Value(examples.Load(rule.ID))(t)
				if e.Source {
					t.Skip("its files are a source tree, which nobody installs")
				}
				for _, tree := range []examples.Files{e.Bad, e.Good} {
					root := newFolder(t)
					given.NoError(t, tree.Write(root))
					a.agree(t, root, root)
				}
			})
		}
		on := func(kind string, table map[string]string, tree func(text string) map[string]string) {
			for name, text := range table {
				t.Run(kind+" "+name, func(t *testing.T) {
					t.Parallel()
					root := write(t, tree(text))
					a.agree(t, root, root)
				})
			}
		}
		on("manifest", manifests(), withManifest)
		on("cluster", clusters(), withCluster)
		on("metadata", metadataCases(), withMetadata)
		for name, metadata := range repositories() {
			t.Run("versions "+name, func(t *testing.T) {
				t.Parallel()
				root := release(t, metadata, layouts.Latest).Root
				if len(metadata) > 0 {
					a.agree(t, root, root)
				}
			})
		}
	})
}

const madeUp = "infrastructure-foo/v1.2.3/"

// withManifest is a release in which a text is all that substitution and YAML
// apply to.
func withManifest(text string) map[string]string {
	return map[string]string{
		madeUp + "metadata.yaml":                  seriesOf("1.2=v1beta2"),
		madeUp + "infrastructure-components.yaml": text,
		madeUp + "cluster-template.yaml":          text,
		madeUp + "clusterclass-foo.yaml":          text,
	}
}

func withCluster(text string) map[string]string {
	return map[string]string{
		madeUp + "metadata.yaml":                  seriesOf("1.2=v1beta2"),
		madeUp + "infrastructure-components.yaml": namespaceOnly,
		madeUp + "cluster-template.yaml":          text,
		madeUp + "clusterclass-good.yaml":         "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: good}\n",
		madeUp + "clusterclass-bad.yaml":          "a: [\n",
	}
}

func withMetadata(text string) map[string]string {
	return map[string]string{
		madeUp + "metadata.yaml":                  text,
		madeUp + "infrastructure-components.yaml": namespaceOnly,
	}
}
