package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// gate is a file that decides whether a command passes, in a flag or in what it reads.
type gate struct {
	// args are the command; FILE in them is the file with the input.
	args string
	// file gets the input instead, if it is not "".
	file string
	// fits are the inputs with which the command may pass.
	fits []string
}

// gates are all of them. Without an input of the table the command passes, or, where
// the gate hides something, fails.
var gates = []gate{
	{args: "lint repo --fail-on never --verify-key FILE", fits: []string{"public key"}},
	{args: "mirror repo@v0.1.0 --to out --verify-key FILE", fits: []string{"public key"}},
	{args: "mirror mirror.tar --to out --verify-key FILE", fits: []string{"public key"}},
	{args: "mirror verify mirror --verify-key FILE", fits: []string{"public key"}},
	{args: "mirror verify mirror.tar --verify-key FILE", fits: []string{"public key"}},
	// What the key of the mirror has signed itself needs no other key.
	{args: "mirror repair mirror --sign-key key.pem --verify-key FILE", fits: []string{"public key", "other public key"}},
	{args: "mirror prune mirror --keep 1 --sign-key key.pem --verify-key FILE", fits: []string{"public key", "other public key"}},
	{args: "mirror repo@v0.1.0 --to out --sign-key FILE --verify-key pub.pem", fits: []string{"private key"}},
	{args: "release src --version v0.2.0 --to out --fail-on never --sign-key FILE", fits: []string{"private key"}},
	{args: "lint repo --fail-on info --baseline FILE", fits: []string{"report"}},
	{args: "lint src --fail-on never --config FILE", fits: []string{"configuration"}},

	{args: "lint repo --select REPO008,REPO023 --fail-on warning", file: v1 + "SHA256SUMS", fits: []string{"absent"}},
	{args: "publish repo@v0.1.0 --to out", file: v1 + "SHA256SUMS", fits: []string{"absent"}},
	{args: "mirror repo@v0.1.0 --to out", file: v1 + "SHA256SUMS", fits: []string{"absent"}},
	{args: "lint repo --fail-on never --verify-key pub.pem", file: v1 + "SHA256SUMS"},
	{args: "mirror repo@v0.1.0 --to out --verify-key pub.pem", file: v1 + "SHA256SUMS"},
	{args: "lint repo --fail-on never --verify-key pub.pem", file: v1 + "SHA256SUMS.sig"},
	{args: "mirror repo@v0.1.0 --to out --verify-key pub.pem", file: v1 + "SHA256SUMS.sig"},

	{args: "mirror verify mirror", file: "mirror/mirror.lock.json"},
	{args: "mirror repair mirror", file: "mirror/mirror.lock.json"},
	{args: "mirror prune mirror --keep 1", file: "mirror/mirror.lock.json"},
	{args: "mirror repo@v0.1.0 --to mirror", file: "mirror/mirror.lock.json"},
	{args: "mirror verify mirror", file: "mirror/SHA256SUMS"},
	{args: "mirror verify mirror --verify-key pub.pem", file: "mirror/SHA256SUMS"},
	{args: "mirror verify mirror --verify-key pub.pem", file: "mirror/SHA256SUMS.sig"},
	{args: "mirror verify mirror --verify-key pub.pem", file: "mirror/clusterctl.yaml"},
	{args: "mirror verify mirror.tar", file: "mirror.tar"},
	{args: "mirror mirror.tar --to out", file: "mirror.tar"},
	{args: "mirror mirror --to out.tar", file: "mirror/SHA256SUMS"},
	{args: "mirror mirror --to out.tar", file: "mirror/mirror.lock.json"},
	{args: "mirror mirror --to out.tar --verify-key FILE", fits: []string{"public key"}},
}

// TestGates gives every gate inputs that are absent, empty, broken, or of another kind.
// No command passes with one.
func TestGates(t *testing.T) {
	share.SkipInRace(t)
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // no disk, which the many mirrors would wait for
	}
	w := newAttacked(t)
	w.must("mirror", "repo@v0.1.0", "--to", "mirror", "--sign-key", "key.pem", "--verify-key", "pub.pem")
	w.must("mirror", "repo@v0.1.0", "--to", "mirror.tar", "--sign-key", "key.pem", "--verify-key", "pub.pem")
	if code, _ := w.run("lint", "repo", "--fail-on", "info", "-o", "json=report.json"); code != cli.ExitFindings {
		t.Fatalf("lint exits %d", code)
	}
	inputs := map[string]string{
		"empty": "", "blank": " \n\t", "null": "null\n", "object": "{}\n", "list": "[]\n", "text": "\"x\"\n", "number": "0",
		"binary": "\x00\x01\xff\xfe", "BOM": "\ufeff", "comment": "# nothing\n", "documents": "---\n---\n", "markup": "<!doctype html><title>x</title>",
		"public key": w.read("pub.pem"), "other public key": w.read("otherpub.pem"), "private key": w.read("key.pem"),
		"report": w.read("report.json"), "lock": w.read("mirror/mirror.lock.json"), "bundle": w.read("mirror.tar"),
		"checksums": w.read("mirror/SHA256SUMS"), "signature": w.read("mirror/SHA256SUMS.sig"), "metadata": w.read("src/metadata.yaml"),
		"configuration": w.read("src/clusterctl-repo.yaml"),
	}
	for _, name := range []string{"public key", "report", "lock", "bundle"} {
		inputs["half a "+name] = inputs[name][:len(inputs[name])/2]
	}
	names := append(slices.Sorted(maps.Keys(inputs)), "absent", "a folder")
	for _, name := range []string{"repo", "mirror"} {
		w.copy(name, "kept/"+name)
	}
	tried := 0
	every := share.Of(3, 1) // input for each gate
	for i, g := range gates {
		good := ""
		if g.file != "" {
			good = w.read(g.file)
		}
		for n, input := range names {
			if (n+i)%every != 0 || slices.Contains(g.fits, input) || inputs[input] != "" && inputs[input] == good {
				continue
			}
			tried++
			file := g.file
			if file == "" {
				file = "input"
			}
			w.remove(file)
			switch content, ok := inputs[input]; {
			case ok:
				w.write(file, content)
			case input == "a folder":
				w.write(file+"/x", "")
			}
			args := strings.Fields(strings.ReplaceAll(g.args, "FILE", "input"))
			if code, printed := w.run(args...); code == 0 || code > cli.ExitFailed {
				t.Errorf("%s with %s in %s exits %d: %s", g.args, input, file, code, printed)
			}
			// As it was.
			for _, name := range []string{"out", "out.tar", "input", "repo", "mirror", "mirror.tar"} {
				w.remove(name)
			}
			for _, name := range []string{"repo", "mirror"} {
				w.copy("kept/"+name, name)
			}
			w.write("mirror.tar", inputs["bundle"])
		}
		for _, input := range g.fits {
			if _, ok := inputs[input]; !ok && input != "absent" && input != "a folder" {
				t.Errorf("%s: there is no input %q", g.args, input)
			}
		}
	}
	t.Logf("%d gates, %d inputs", len(gates), tried)
}
