package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// attack is a row of the table in docs/publishing.md.
type attack struct {
	// name is in its last column.
	name string
	// do attacks the signed release v0.1.0 in the folder repo of world.
	do func(w *attacked)
	// args are further arguments of both.
	args []string
	// want is in what the program prints.
	want string
}

// attacked is a folder with a signed repository and keys.
type attacked struct {
	t   *testing.T
	dir string
}

func (w *attacked) at(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

const v1 = "repo/infrastructure-foo/v0.1.0/"

func (w *attacked) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.at(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.at(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *attacked) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.at(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *attacked) link(target, name string) {
	w.t.Helper()
	if err := os.Symlink(target, w.at(name)); err != nil {
		w.t.Skip("no symbolic links here")
	}
}

func (w *attacked) copy(from, to string) {
	w.t.Helper()
	if err := os.CopyFS(w.at(to), os.DirFS(w.at(from))); err != nil {
		w.t.Fatal(err)
	}
}

func (w *attacked) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(w.at(name)); err != nil {
		w.t.Fatal(err)
	}
}

// run runs the program and returns the exit code and all that it printed.
func (w *attacked) run(args ...string) (int, string) {
	var printed bytes.Buffer
	code := Main(w.t.Context(), args, IO{In: strings.NewReader(""), Out: &printed, Err: &printed, Env: func(string) (string, bool) { return "", false }, Dir: w.dir})
	return code, printed.String()
}

// must runs the program, which has to succeed.
func (w *attacked) must(args ...string) {
	w.t.Helper()
	if code, printed := w.run(args...); code != 0 {
		w.t.Fatalf("%q exits with %d: %s", args, code, printed)
	}
}

// newAttacked makes key.pem, pub.pem, other.pem, otherpub.pem, the source tree
// src and the signed release v0.1.0 in repo, without provenance.
func newAttacked(t *testing.T) *attacked {
	w := &attacked{t, t.TempDir()}
	t.Chdir(w.dir)
	for private, public := range map[string]string{"key.pem": "pub.pem", "other.pem": "otherpub.pem"} {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			t.Fatal(err)
		}
		w.write(private, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
		if der, err = x509.MarshalPKIXPublicKey(&k.PublicKey); err != nil {
			t.Fatal(err)
		}
		w.write(public, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	}
	w.write("src/clusterctl-repo.yaml", `apiVersion: clusterctl-repo.dev/v1alpha1
kind: Config
discovery: {disabled: true}
providers:
- type: infrastructure
  name: foo
  components: {path: config}
  metadata: metadata.yaml
`)
	w.write("src/metadata.yaml", `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
releaseSeries:
- {major: 0, minor: 1, contract: v1beta2}
- {major: 0, minor: 2, contract: v1beta2}
`)
	w.write("src/config/kustomization.yaml", "resources: [namespace.yaml]\nlabels:\n- pairs: {cluster.x-k8s.io/provider: infrastructure-foo}\n")
	w.write("src/config/namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: foo-system}\n")
	w.must("release", "src", "--version", "v0.1.0", "--to", "repo", "--fail-on", "never", "--sign-key", "key.pem", "--provenance=false")
	return w
}

const template = "apiVersion: v1\nkind: Secret\nmetadata: {name: evil}\n"

// attacks are all that the table in docs/publishing.md promises.
var attacks = []attack{
	{name: "changed file", do: func(w *attacked) { w.write(v1+"metadata.yaml", w.read(v1+"metadata.yaml")+"# x\n") }, want: "metadata.yaml has the checksum"},
	{name: "changed file and list", do: func(w *attacked) {
		w.write(v1+"SHA256SUMS", strings.Replace(w.read(v1+"SHA256SUMS"), "a", "b", 1))
	}, want: "does not sign SHA256SUMS"},
	{name: "removed file", do: func(w *attacked) { w.remove(v1 + "metadata.yaml") }, want: "metadata.yaml is not there"},
	{name: "added file", do: func(w *attacked) { w.write(v1+"cluster-template-evil.yaml", template) }, want: "cluster-template-evil.yaml has no line"},
	{name: "hidden file", do: func(w *attacked) { w.write(v1+".cluster-template.yaml", template) }, want: "is hidden"},
	{name: "folder in a version", do: func(w *attacked) { w.write(v1+"sub/cluster-template.yaml", template) }, want: "is a folder"},
	{name: "link out of the release", do: func(w *attacked) {
		w.write("outside.yaml", template)
		w.link(w.at("outside.yaml"), v1+"cluster-template-evil.yaml")
	}, want: "cluster-template-evil.yaml cannot be read"},
	{name: "link in the place of a file", do: func(w *attacked) {
		w.write("repo/infrastructure-foo/.m.yaml", w.read(v1+"metadata.yaml"))
		w.remove(v1 + "metadata.yaml")
		w.link("../.m.yaml", v1+"metadata.yaml")
	}, want: "metadata.yaml is a symbolic link"},
	{name: "broken link", do: func(w *attacked) { w.link("nowhere", v1+"cluster-template-evil.yaml") }, want: "cluster-template-evil.yaml cannot be read"},
	{name: "version that is a link", do: func(w *attacked) { w.link("v0.1.0", "repo/infrastructure-foo/v0.1.1") }, want: "v0.1.1 is a symbolic link"},
	{name: "equal version", do: func(w *attacked) { w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/0.1.0") }, want: "0.1.0"},
	{name: "folder with another name than a version", do: func(w *attacked) { w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/stable") }, want: "stable holds a release"},
	{name: "replayed version", do: func(w *attacked) { w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/v0.2.0") }, want: "the signature is about infrastructure-foo v0.1.0, but this is infrastructure-foo v0.2.0"},
	{name: "other label", do: func(w *attacked) { w.copy("repo/infrastructure-foo", "repo/infrastructure-bar") }, want: "the signature is about infrastructure-foo v0.1.0, but this is infrastructure-bar v0.1.0"},
	{name: "label that is a link", do: func(w *attacked) { w.link("infrastructure-foo", "repo/infrastructure-bar") }, want: "but this is infrastructure-bar v0.1.0"},
	{name: "folder with another name than a label", do: func(w *attacked) { w.copy("repo/infrastructure-foo", "repo/Foo") }, want: "Foo holds releases"},
	{name: "unsigned version", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
	}, want: "v0.2.0 is not signed"},
	{name: "removed signature", do: func(w *attacked) { w.remove(v1 + "SHA256SUMS.sig") }, want: "is not signed"},
	{name: "other key", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never", "--sign-key", "other.pem")
	}, want: "v0.2.0/SHA256SUMS.sig does not sign SHA256SUMS"},
	{name: "key of another provider", do: func(w *attacked) {
		w.write("trust.yaml", "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: TrustPolicy\nkeys: [{file: pub.pem, providers: [bootstrap-*]}]\n")
	}, args: []string{"--policy", "trust.yaml"}, want: "does not trust for infrastructure-foo"},
	{name: "signature of files alone", do: func(w *attacked) {
		var list strings.Builder
		for line := range strings.Lines(w.read(v1 + "SHA256SUMS")) {
			if !strings.HasPrefix(line, "#") {
				list.WriteString(line)
			}
		}
		w.write(v1+"SHA256SUMS", list.String())
		w.signByHand(v1 + "SHA256SUMS")
	}, want: "covers the files, but not which provider and version they are"},
	{name: "statement of another release", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "other", "--fail-on", "never", "--sign-key", "key.pem")
		w.copy("other/infrastructure-foo/v0.2.0", "repo/infrastructure-foo/v0.2.1")
	}, want: "it is about version v0.2.0"},
	{name: "no provenance", do: func(*attacked) {}, args: []string{"--require-provenance"}, want: "has no provenance.intoto.json, which is required"},
	{name: "provenance without a commit", do: func(w *attacked) {
		w.remove("repo")
		w.must("release", "src", "--version", "v0.1.0", "--to", "repo", "--fail-on", "never", "--sign-key", "key.pem")
	}, args: []string{"--require-provenance"}, want: "names no source with its commit"},
}

// signByHand replaces the signature of a list by one that the owner of key.pem
// makes with another program.
func (w *attacked) signByHand(list string) {
	w.t.Helper()
	d := attestation{keyFile: "key.pem"}
	if err := d.load(&app{IO: IO{Dir: w.dir}}); err != nil {
		w.t.Fatal(err)
	}
	sig, err := d.key.Sign([]byte(w.read(list)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(list+".sig", string(sig))
}

// TestAttacks tries each attack on lint and on mirror, also on its dry run. What
// an untouched release is accepted by the same commands.
func TestAttacks(t *testing.T) {
	whole := newAttacked(t)
	whole.must("lint", "repo", "--verify-key", "pub.pem", "--fail-on", "never")
	whole.must("mirror", "repo@>=0.1.0", "--to", "mirror", "--verify-key", "pub.pem", "--dry-run")
	if _, err := os.Stat(whole.at("mirror")); err == nil {
		t.Error("a dry run made the mirror")
	}
	whole.must("mirror", "repo@>=0.1.0", "--to", "mirror", "--verify-key", "pub.pem")
	whole.must("lint", "mirror", "--verify-key", "pub.pem", "--fail-on", "never")
	for _, tc := range attacks {
		t.Run(tc.name, func(t *testing.T) {
			w := newAttacked(t)
			tc.do(w)
			args := append([]string{"--verify-key", "pub.pem"}, tc.args...)
			if slices.Contains(tc.args, "--policy") {
				args = tc.args
			}
			if code, printed := w.run(append([]string{"lint", "repo", "--fail-on", "never"}, args...)...); code != exitFindings || !strings.Contains(printed, tc.want) {
				t.Errorf("lint exits with %d, want %q in %s", code, tc.want, printed)
			}
			for _, dry := range [][]string{{"--dry-run"}, nil} {
				// A mirror copies what it verified and nothing else; then the copy
				// must be good.
				code, printed := w.run(slices.Concat([]string{"mirror", "repo@>=0.1.0", "--to", "mirror"}, args, dry)...)
				switch {
				case code == 0 && dry == nil:
					if code, printed := w.run(append([]string{"lint", "mirror", "--fail-on", "never"}, args...)...); code != 0 {
						t.Errorf("mirror made a copy that lint refuses with %d: %s", code, printed)
					}
				case code != 0 && code != exitFindings:
					t.Errorf("mirror %v exits with %d: %s", dry, code, printed)
				}
			}
		})
	}
}

// The table in the documentation has exactly these attacks.
func TestAttacksAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/publishing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| attack | what stops it | test |\n|---|---|---|\n")
	if !ok {
		t.Fatal("docs/publishing.md has no table of attacks")
	}
	var documented, tested []string
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			break
		}
		if name, ok := strings.CutPrefix(strings.Trim(strings.TrimSpace(cells[3]), "`"), "TestAttacks/"); ok {
			documented = append(documented, strings.ReplaceAll(name, "_", " "))
		}
	}
	for _, tc := range attacks {
		tested = append(tested, tc.name)
	}
	slices.Sort(documented)
	slices.Sort(tested)
	if !slices.Equal(documented, tested) {
		t.Errorf("documented %q\ntested     %q", documented, tested)
	}
}
