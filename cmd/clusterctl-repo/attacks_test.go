package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// attack is a row of the table in docs/attacks.md.
type attack struct {
	// name is in its last column, threat and stops are in the others.
	name, threat, stops string
	// do attacks the signed release v0.1.0 in the folder repo of world.
	do func(w *attacked)
	// tries are command lines instead of lint and mirror; --verify-key is added to
	// them. All of them must refuse.
	tries [][]string
	// want is in what the program prints.
	want string
}

// attacked is a folder with a signed repository and keys.
type attacked struct {
	t        *testing.T
	dir      string
	registry *lyingRegistry
}

func (w *attacked) at(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

const v1 = "repo/infrastructure-foo/v0.1.0/"

func (w *attacked) write(name, text string) {
	w.t.Helper()
	given.File(w.t, w.at(name), text)
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
	code := program.Main(w.t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &printed, Err: &printed, LookupEnv: func(string) (string, bool) { return "", false }, Dir: w.dir})
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
// src and the signed release v0.1.0 in repo.
func newAttacked(t *testing.T) *attacked {
	w := &attacked{t, t.TempDir(), newLyingRegistry(t)}
	t.Chdir(w.dir)
	for private, public := range map[string]string{"key.pem": "pub.pem", "other.pem": "otherpub.pem"} {
		k := given.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		der, err := x509.MarshalPKCS8PrivateKey(k)
		given.NoError(t, err)
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
	w.must("release", "src", "--version", "v0.1.0", "--to", "repo", "--fail-on", "never", "--sign-key", "key.pem")
	return w
}

const template = "apiVersion: v1\nkind: Secret\nmetadata: {name: evil}\n"

// attacks are all that the table in docs/attacks.md promises.
var attacks = slices.Concat(releaseAttacks, listAttacks, folderAttacks, mirrorAttacks, bundleAttacks, registryAttacks)

// releaseAttacks are about the files and folders of releases.
var releaseAttacks = []attack{
	{name: "changed file", threat: "a file is changed", stops: "its checksum in the signed list", do: func(w *attacked) { w.write(v1+"metadata.yaml", w.read(v1+"metadata.yaml")+"# x\n") }, want: "metadata.yaml has the checksum"},
	{name: "changed file and list", threat: "a file and its line in the list are changed", stops: "the signature of the list", do: func(w *attacked) {
		w.write(v1+"SHA256SUMS", strings.Replace(w.read(v1+"SHA256SUMS"), "a", "b", 1))
	}, want: "does not sign SHA256SUMS"},
	{name: "removed file", threat: "a file is removed", stops: "every line needs its file", do: func(w *attacked) { w.remove(v1 + "metadata.yaml") }, want: "metadata.yaml is missing"},
	{name: "added file", threat: "a flavor is added", stops: "every file needs its line", do: func(w *attacked) { w.write(v1+"cluster-template-evil.yaml", template) }, want: "cluster-template-evil.yaml has no line"},
	{name: "hidden file", threat: "a hidden file is added", stops: "only the listed files are allowed", do: func(w *attacked) { w.write(v1+".cluster-template.yaml", template) }, want: "is hidden"},
	{name: "folder in a version", threat: "a folder is added to a version", stops: "only the listed files are allowed", do: func(w *attacked) { w.write(v1+"sub/cluster-template.yaml", template) }, want: "is a folder"},
	{name: "link out of the release", threat: "a flavor is a link to a file elsewhere, which clusterctl follows", stops: "links are refused", do: func(w *attacked) {
		w.write("outside.yaml", template)
		w.link(w.at("outside.yaml"), v1+"cluster-template-evil.yaml")
	}, want: "cluster-template-evil.yaml cannot be read"},
	{name: "link in the place of a file", threat: "a file is replaced by a link to an equal one, which is changed later", stops: "links are refused", do: func(w *attacked) {
		w.write("repo/infrastructure-foo/.m.yaml", w.read(v1+"metadata.yaml"))
		w.remove(v1 + "metadata.yaml")
		w.link("../.m.yaml", v1+"metadata.yaml")
	}, want: "metadata.yaml is a symbolic link"},
	{name: "broken link", threat: "a link leads nowhere until someone writes its target", stops: "links are refused", do: func(w *attacked) { w.link("nowhere", v1+"cluster-template-evil.yaml") }, want: "cluster-template-evil.yaml cannot be read"},
	{name: "version that is a link", threat: "a further version is a link to the signed one", stops: "versions that are links are refused", do: func(w *attacked) { w.link("v0.1.0", "repo/infrastructure-foo/v0.1.1") }, want: "v0.1.1 is a symbolic link"},
	{name: "equal version", threat: "the release is also in a folder with an equal version (`0.1.0`)", stops: "the signed identity", do: func(w *attacked) { w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/0.1.0") }, want: "0.1.0"},
	{name: "folder with another name than a version", threat: "it is also in a folder that is read when it is named", stops: "folders with releases need a version as name", do: func(w *attacked) { w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/stable") }, want: "stable holds a release"},
	{name: "replayed version", threat: "an old release is passed off as a new version", stops: "the signed identity", do: func(w *attacked) { w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/v0.2.0") }, want: "the signature is for infrastructure-foo v0.1.0, but this is infrastructure-foo v0.2.0"},
	{name: "other label", threat: "a release is passed off as that of another provider", stops: "the signed identity", do: func(w *attacked) { w.copy("repo/infrastructure-foo", "repo/infrastructure-bar") }, want: "the signature is for infrastructure-foo v0.1.0, but this is infrastructure-bar v0.1.0"},
	{name: "label that is a link", threat: "the folder of another provider is a link to a signed one", stops: "the signed identity", do: func(w *attacked) { w.link("infrastructure-foo", "repo/infrastructure-bar") }, want: "but this is infrastructure-bar v0.1.0"},
	{name: "folder with another name than a label", threat: "releases are in a folder whose name is not a label", stops: "folders with releases need a label as name", do: func(w *attacked) { w.copy("repo/infrastructure-foo", "repo/Foo") }, want: "Foo holds releases"},
	{name: "unsigned version", threat: "an unsigned version is added", stops: "every version needs a signature", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
	}, want: "v0.2.0 is not signed"},
	{name: "removed signature", threat: "the signature is removed", stops: "the same", do: func(w *attacked) { w.remove(v1 + "SHA256SUMS.sig") }, want: "is not signed"},
	{name: "other key", threat: "a version is signed with a key that is not trusted", stops: "only given keys count", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never", "--sign-key", "other.pem")
	}, want: "v0.2.0/SHA256SUMS.sig does not sign SHA256SUMS"},
	{name: "signature of files alone", threat: "a list without identity is signed and reused", stops: "the identity is required", do: func(w *attacked) {
		var list strings.Builder
		for line := range strings.Lines(w.read(v1 + "SHA256SUMS")) {
			if !strings.HasPrefix(line, "#") {
				list.WriteString(line)
			}
		}
		w.write(v1+"SHA256SUMS", list.String())
		w.signByHand(v1 + "SHA256SUMS")
	}, want: "covers the files, but not which provider and version they are"},
	{name: "private key to verify with", threat: "the private key is given for verification", stops: "private keys are refused", do: func(*attacked) {},
		tries: [][]string{{"lint", "repo", "--verify-key", "key.pem"}, {"mirror", "repo@v0.1.0", "--to", "mirror", "--verify-key", "key.pem"}}, want: "holds a private key"},
}

// signByHand replaces the signature of a list by one that the owner of key.pem
// makes with another program.
func (w *attacked) signByHand(list string) {
	w.t.Helper()
	d := targets.Key{File: "key.pem"}
	if err := d.Load(cli.NewEnv(cli.IO{Dir: w.dir})); err != nil {
		w.t.Fatal(err)
	}
	sig, err := d.Private.Sign([]byte(w.read(list)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(list+".sig", string(sig))
}

// TestAttacks tries each attack on lint and on mirror, also on its dry run. What
// an untouched release is accepted by the same commands.
func TestAttacks(t *testing.T) {
	share.SkipInRace(t)
	whole := newAttacked(t)
	whole.must("lint", "repo", "--verify-key", "pub.pem", "--fail-on", "never")
	whole.must("mirror", "repo@>=0.1.0", "--to", "mirror", "--verify-key", "pub.pem", "--dry-run")
	if _, err := os.Stat(whole.at("mirror")); err == nil {
		t.Error("a dry run made the mirror")
	}
	whole.must("mirror", "repo@>=0.1.0", "--to", "mirror", "--verify-key", "pub.pem")
	whole.must("lint", "mirror", "--verify-key", "pub.pem", "--fail-on", "never")
	for i, tc := range attacks {
		if i%share.Of(3, 1) != 0 {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			w := newAttacked(t)
			tc.do(w)
			for _, args := range tc.tries {
				w.registry.begin()
				args = slices.Clone(args)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "REGISTRY", w.registry.host())
				}
				args = append(args, "--verify-key", "pub.pem")
				if code, printed := w.run(args...); code == cli.ExitOK || !strings.Contains(printed, tc.want) {
					t.Errorf("%q exits with %d, want %q in %s", args, code, tc.want, printed)
				}
			}
			if tc.tries != nil {
				return
			}
			args := []string{"--verify-key", "pub.pem"}
			if code, printed := w.run(append([]string{"lint", "repo", "--fail-on", "never"}, args...)...); code != cli.ExitFindings || !strings.Contains(printed, tc.want) {
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
				case code != 0 && code != cli.ExitFindings:
					t.Errorf("mirror %v exits with %d: %s", dry, code, printed)
				}
			}
		})
	}
}

// provenElsewhere are the attacks that other tests try.
var provenElsewhere = [][3]string{
	{"a file changes after it was verified", "every reader compares with the verified checksum", "repo/trust/sign TestVerifiedContentIsPinned"},
	{"an OCI artifact has a layer without a name, with a path, or an alias for another file", "such artifacts are refused", "publish/oci TestReadOthers"},
	{"a GitLab package that the token cannot list holds a further flavor", "what cannot be listed is refused; a mirror copies signed files only", "repo/trust/sign TestVerifyDemandsTheIdentity"},
	{"the owner of the key is tricked into signing a release that is labelled wrongly", "what contradicts itself is not signed", "repo/trust/sign TestReleaseDoesNotSignWhatContradictsIt"},
}

// The table in the documentation has exactly these attacks; -update writes it.
func TestAttacksAreDocumented(t *testing.T) {
	const file, head = "../../docs/attacks.md", "| attack | what stops it | test |\n|---|---|---|\n"
	text := given.Read(t, file)
	before, after, ok := strings.Cut(string(text), head)
	_, after, ended := strings.Cut(after, "\n\n")
	if !ok || !ended {
		t.Fatal("docs/attacks.md has no table of attacks")
	}
	var rows strings.Builder
	names := map[string]bool{}
	for _, tc := range attacks {
		if names[tc.name] || tc.threat == "" || tc.stops == "" {
			t.Errorf("%q is there twice, or lacks a text", tc.name)
		}
		names[tc.name] = true
		fmt.Fprintf(&rows, "| %s | %s | `TestAttacks/%s` |\n", tc.threat, tc.stops, strings.ReplaceAll(tc.name, " ", "_"))
	}
	for _, row := range provenElsewhere {
		fmt.Fprintf(&rows, "| %s | %s | `%s` |\n", row[0], row[1], row[2])
	}
	want := before + head + rows.String() + "\n" + after
	if *update {
		given.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	if want != string(text) {
		t.Error("the table of attacks in docs/attacks.md is out of date: run make generate")
	}
}
