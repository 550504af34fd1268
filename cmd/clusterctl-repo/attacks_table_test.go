package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// listAttacks are about the list and its signature.
var listAttacks = []attack{
	{name: "signature of another version", threat: "the signature of another version is placed next to the list", stops: "the signature of the list", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "other", "--fail-on", "never", "--sign-key", "key.pem")
		w.write(v1+"SHA256SUMS.sig", w.read("other/infrastructure-foo/v0.2.0/SHA256SUMS.sig"))
	}, want: "does not sign SHA256SUMS"},
	{name: "empty signature", threat: "the signature is empty", stops: "the same", do: func(w *attacked) { w.write(v1+"SHA256SUMS.sig", "") }, want: "does not sign SHA256SUMS"},
	{name: "large signature", threat: "the signature has any size", stops: "a limit", do: func(w *attacked) { w.write(v1+"SHA256SUMS.sig", strings.Repeat("A", 1<<20)) }, want: "no signature has more than"},
	{name: "line after signing", threat: "a comment is added to the list", stops: "the signature of the list", do: func(w *attacked) { w.write(v1+"SHA256SUMS", w.read(v1+"SHA256SUMS")+"# x\n") }, want: "does not sign SHA256SUMS"},
	{name: "list that is a link", threat: "the list is a link, which can be turned later", stops: "links are refused", do: func(w *attacked) {
		w.write("repo/infrastructure-foo/.sums", w.read(v1+"SHA256SUMS"))
		w.remove(v1 + "SHA256SUMS")
		w.link("../.sums", v1+"SHA256SUMS")
	}, want: "SHA256SUMS is a symbolic link"},
	{name: "list that is a folder", threat: "the list is a folder", stops: "nothing is signed without a list", do: func(w *attacked) {
		w.remove(v1 + "SHA256SUMS")
		w.write(v1+"SHA256SUMS/x", "")
	}, want: "has no SHA256SUMS"},
	{name: "CRLF", threat: "the owner of the key signs a list with CRLF, whose identity others read differently", stops: "the identity, byte by byte", do: func(w *attacked) {
		w.change(v1+"SHA256SUMS", "\n", "\r\n")
		w.signByHand(v1 + "SHA256SUMS")
	}, want: "the signature is for"},
	{name: "file listed twice", threat: "a signed list has two lines for a file, of which programs use one or the other", stops: "each file needs exactly one line",
		do: signedLine(strings.Repeat("0", 64) + " *metadata.yaml\n"), want: "metadata.yaml was already listed"},
	{name: "file listed twice with a dot", threat: "the second line names ./metadata.yaml", stops: "the same",
		do: signedLine(strings.Repeat("0", 64) + "  ./metadata.yaml\n"), want: "metadata.yaml was already listed"},
	{name: "list with a path", threat: "a signed list names a file elsewhere", stops: "every line needs its file in the release",
		do: signedLine(strings.Repeat("0", 64) + "  ../v0.2.0/metadata.yaml\n"), want: "../v0.2.0/metadata.yaml is missing"},
	{name: "list with an escaped name", threat: "a signed list has a line that only some programs understand", stops: "other lines are refused",
		do: signedLine(`\` + strings.Repeat("0", 64) + `  a\nb` + "\n"), want: "expected 64 hexadecimal digits"},
	{name: "list with a byte order mark", threat: "a mark at the beginning hides the identity from some readers", stops: "other lines are refused", do: func(w *attacked) {
		w.write(v1+"SHA256SUMS", "\ufeff"+w.read(v1+"SHA256SUMS"))
		w.signByHand(v1 + "SHA256SUMS")
	}, want: "line 1: expected 64 hexadecimal digits"},
	{name: "two identities", threat: "a signed list names two versions, one for each reader", stops: "each identity must be that of the place",
		do: signedLine("# clusterctl-repo release: infrastructure-foo v9.9.9\n"), want: "the signature is for infrastructure-foo v0.1.0, infrastructure-foo v9.9.9"},
	{name: "two providers", threat: "a signed list names two providers, and is in the folder of one", stops: "the same",
		do: signedLine("# clusterctl-repo release: infrastructure-bar v0.1.0\n"), want: "the signature is for"},
	{name: "signature of a mirror", threat: "the signed checksums of a mirror pass for those of a release", stops: "every line needs its file in the release", do: func(w *attacked) {
		w.mirrored("--sign-key", "key.pem")
		for _, name := range []string{"SHA256SUMS", "SHA256SUMS.sig"} {
			w.write(v1+name, w.read("mirror/"+name))
		}
		w.remove("mirror")
	}, want: "is missing"},
}

// folderAttacks are about what else lies in a repository.
var folderAttacks = []attack{
	{name: "pipe", threat: "a flavor is a pipe, which gives each reader something else", stops: "only the listed files are allowed", do: func(w *attacked) {
		if _, ok := newFIFO(w.t, w.at(v1+"cluster-template-evil.yaml")); !ok {
			w.t.Skip("no pipes here")
		}
	}, want: "is a device, pipe or socket"},
	{name: "link in a circle", threat: "a flavor is a link to itself", stops: "links are refused", do: func(w *attacked) { w.link("cluster-template-evil.yaml", v1+"cluster-template-evil.yaml") }, want: "cluster-template-evil.yaml cannot be read"},
	{name: "link to a folder", threat: "an entry is a link to a folder", stops: "only the listed files are allowed", do: func(w *attacked) { w.link("..", v1+"cluster-template-evil.yaml") }, want: "cluster-template-evil.yaml is a folder"},
	{name: "hard link", threat: "a file has a second name elsewhere, and is changed there", stops: "its checksum in the signed list, whenever it is read", do: func(w *attacked) {
		if err := os.Link(w.at(v1+"metadata.yaml"), w.at("elsewhere")); err != nil {
			w.t.Skip("no hard links here")
		}
		w.write("elsewhere", w.read("elsewhere")+"# x\n")
	}, want: "metadata.yaml has the checksum"},
	{name: "name in another case", threat: "a file is repeated under a name in another case", stops: "every file needs its line", do: func(w *attacked) { w.write(v1+"METADATA.yaml", w.read(v1+"metadata.yaml")) }, want: "METADATA.yaml"},
	{name: "name with a line break", threat: "the name of a flavor spans two lines", stops: "every file needs its line", do: func(w *attacked) { w.write(v1+"cluster-template-a\nb.yaml", template) }, want: "has no line"},
	{name: "folder in the place of a file", threat: "a folder has the name of a file", stops: "every line needs its file", do: func(w *attacked) {
		w.remove(v1 + "metadata.yaml")
		w.write(v1+"metadata.yaml/x", "")
	}, want: "metadata.yaml is a folder"},
	{name: "version in upper case", threat: "the release is also in V0.2.0", stops: "folders with releases need a version as name", do: func(w *attacked) {
		w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/V0.2.0")
	}, want: "V0.2.0 holds a release"},
	{name: "build metadata", threat: "the release is also in v0.1.0+evil, which compares as equal", stops: "the signed identity", do: func(w *attacked) {
		w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/v0.1.0+evil")
	}, want: "but this is infrastructure-foo v0.1.0+evil"},
	{name: "pre-release", threat: "the release is also in v0.2.0-rc.1", stops: "the signed identity", do: func(w *attacked) {
		w.copy("repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/v0.2.0-rc.1")
	}, want: "but this is infrastructure-foo v0.2.0-rc.1"},
	{name: "label in upper case", threat: "the releases are also in Infrastructure-foo", stops: "folders with releases need a label as name", do: func(w *attacked) { w.copy("repo/infrastructure-foo", "repo/Infrastructure-foo") }, want: "Infrastructure-foo holds releases"},
	{name: "label that leads out", threat: "the folder of a provider is a link out of the repository", stops: "nothing outside it is read", do: func(w *attacked) {
		w.copy("repo/infrastructure-foo", "outside/infrastructure-bar")
		w.link(w.at("outside/infrastructure-bar"), "repo/infrastructure-bar")
	}, want: "infrastructure-bar cannot be read"},
	{name: "version folder of its own", threat: "only the folder of a version is given, which is a link with another name", stops: "versions that are links are refused", do: func(w *attacked) { w.link("v0.1.0", "repo/infrastructure-foo/v0.2.0") },
		tries: [][]string{{"lint", "repo/infrastructure-foo/v0.2.0", "--fail-on", "never"}}, want: "v0.2.0 is a symbolic link"},
	{name: "overrides", threat: "files are in the folder overrides, which clusterctl reads instead", stops: "that folder must be empty", do: func(w *attacked) {
		w.write("repo/overrides/infrastructure-foo/v0.1.0/infrastructure-components.yaml", template)
	}, want: "clusterctl may read instead"},
	{name: "cert-manager", threat: "an unsigned cert-manager is next to the providers", stops: "it needs a signature too", do: func(w *attacked) { w.write("repo/cert-manager/v1.19.1/cert-manager.yaml", template) }, want: "has no SHA256SUMS"},
	{name: "rollback", threat: "v0.1.0 is replaced by what was signed as v0.1.0 in another repository of the same key", stops: "nothing, if the same key signed two contents as one version; a mirror that has the first one refuses the second", do: func(w *attacked) {
		w.must("mirror", "repo@v0.1.0", "--to", "mirror", "--verify-key", "pub.pem")
		w.write("src/config/namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: evil-system}\n")
		w.remove("repo")
		w.must("release", "src", "--version", "v0.1.0", "--to", "repo", "--fail-on", "never", "--sign-key", "key.pem")
	}, tries: [][]string{{"mirror", "repo@v0.1.0", "--to", "mirror"}, {"mirror", "repo@v0.1.0", "--to", "mirror", "--dry-run"}}, want: "has changed since it was mirrored"},
}

// mirrorAttacks are about a mirror at its site.
var mirrorAttacks = []attack{
	{name: "mirror with a changed file", threat: "a file of a mirror is changed", stops: "the lock and the checksums", do: func(w *attacked) {
		w.mirrored()
		w.write("mirror/"+inBundle+"metadata.yaml", "x\n")
	}, tries: verifyMirror, want: "metadata.yaml: damaged"},
	{name: "mirror with a version in no lock", threat: "a version is added to a mirror and to its checksums", stops: "every file needs its place in the lock", do: func(w *attacked) {
		w.mirrored()
		w.copy("mirror/infrastructure-foo/v0.1.0", "mirror/infrastructure-foo/v9.9.9")
		w.sum()
	}, tries: verifyMirror, want: "infrastructure-foo/v9.9.9/metadata.yaml: unexpected"},
	{name: "mirror with a flavor in no lock", threat: "a flavor is added to a mirror and to its checksums", stops: "the same", do: func(w *attacked) {
		w.mirrored()
		w.write("mirror/"+inBundle+"cluster-template-evil.yaml", template)
		w.sum()
	}, tries: verifyMirror, want: "cluster-template-evil.yaml: unexpected"},
	{name: "mirror with overrides", threat: "files that stand in for others are added to a mirror and to its checksums", stops: "the same", do: func(w *attacked) {
		w.mirrored()
		w.write("mirror/overrides/"+inBundle+"infrastructure-components.yaml", template)
		w.sum()
	}, tries: [][]string{{"mirror", "verify", "mirror"}, {"lint", "mirror", "--fail-on", "never"}}, want: "overrides"},
	{name: "mirror with an unsigned version", threat: "a version is added to a mirror, its lock and its checksums", stops: "a mirror needs a signature of its own", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
		w.mirrored()
		w.must("mirror", "repo@v0.2.0", "--to", "mirror")
	}, tries: verifyMirror, want: "SHA256SUMS.sig: unsigned"},
	{name: "mirror that leads elsewhere", threat: "clusterctl.yaml of a mirror leads to another place, and its checksums say so", stops: "the same", do: func(w *attacked) {
		w.mirrored()
		w.change("mirror/clusterctl.yaml", "/infrastructure-foo/", "/evil/infrastructure-foo/")
		w.sum()
	}, tries: verifyMirror, want: "SHA256SUMS.sig: unsigned"},
	{name: "mirror with a link to a version", threat: "a version of a mirror is a link", stops: "only plain files are read", do: func(w *attacked) {
		w.mirrored()
		w.link("v0.1.0", "mirror/infrastructure-foo/v0.2.0")
	}, tries: verifyMirror, want: "v0.2.0: unexpected"},
	{name: "mirror with a linked file", threat: "a file of a mirror is a link to an equal one", stops: "only plain files are read", do: func(w *attacked) {
		w.mirrored()
		w.write("elsewhere", w.read("mirror/"+inBundle+"metadata.yaml"))
		w.remove("mirror/" + inBundle + "metadata.yaml")
		w.link(w.at("elsewhere"), "mirror/"+inBundle+"metadata.yaml")
	}, tries: verifyMirror, want: "metadata.yaml: damaged"},
	{name: "mirror with an old signature", threat: "the checksums and signature of an earlier state are restored", stops: "they do not match the files", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never", "--sign-key", "key.pem")
		w.mirrored("--sign-key", "key.pem")
		sums, sig := w.read("mirror/SHA256SUMS"), w.read("mirror/SHA256SUMS.sig")
		w.must("mirror", "repo@v0.2.0", "--to", "mirror", "--verify-key", "pub.pem", "--sign-key", "key.pem")
		w.write("mirror/SHA256SUMS", sums)
		w.write("mirror/SHA256SUMS.sig", sig)
	}, tries: verifyMirror, want: "problems"},
	{name: "mirror with a file listed twice", threat: "the checksums of a mirror have two lines for a file", stops: "each file has one line", do: func(w *attacked) {
		w.mirrored()
		w.write("mirror/SHA256SUMS", w.read("mirror/SHA256SUMS")+strings.Repeat("0", 64)+"  clusterctl.yaml\n")
	}, tries: verifyMirror, want: `lists "clusterctl.yaml" again`},
	{name: "mirror with CRLF", threat: "the checksums of a mirror have another form", stops: "other lines are refused", do: func(w *attacked) {
		w.mirrored()
		w.change("mirror/SHA256SUMS", "\n", "\r\n")
	}, tries: verifyMirror, want: "SHA256SUMS: damaged"},
	{name: "mirror with a path that leads out", threat: "the checksums of a mirror name a file outside it", stops: "the same", do: func(w *attacked) {
		w.mirrored()
		w.write("mirror/SHA256SUMS", w.read("mirror/SHA256SUMS")+strings.Repeat("0", 64)+"  ../repo/x\n")
	}, tries: verifyMirror, want: "SHA256SUMS: damaged"},
	{name: "lock with a key twice", threat: "the lock has a key twice, of which readers use one or the other", stops: "ambiguous JSON is refused", do: func(w *attacked) {
		w.mirrored()
		w.change("mirror/mirror.lock.json", `"releases":`, `"releases": [], "releases":`)
		w.sum()
	}, tries: [][]string{{"mirror", "verify", "mirror"}, {"mirror", "repo@v0.1.0", "--to", "mirror"}}, want: "readers differ in which one they use"},
	{name: "lock with a release twice", threat: "the lock has two contents for one release", stops: "each release is there once", do: func(w *attacked) {
		w.mirrored()
		var lock map[string]any
		if err := json.Unmarshal([]byte(w.read("mirror/mirror.lock.json")), &lock); err != nil {
			w.t.Fatal(err)
		}
		releases := lock["releases"].([]any)
		lock["releases"] = append(releases, releases[0])
		data, err := json.Marshal(lock)
		if err != nil {
			w.t.Fatal(err)
		}
		w.write("mirror/mirror.lock.json", string(data))
		w.sum()
	}, tries: [][]string{{"mirror", "verify", "mirror"}, {"mirror", "repo@v0.1.0", "--to", "mirror"}}, want: "infrastructure-foo v0.1.0 twice"},
	{name: "mirror that is signed with what it holds", threat: "a mirror with an unsigned release from elsewhere is signed by its next run", stops: "with --verify-key, everything in it is verified before it is signed", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
		w.must("mirror", "repo@v0.2.0", "--to", "mirror")
	}, tries: [][]string{{"mirror", "repo@v0.1.0", "--to", "mirror", "--sign-key", "key.pem"}}, want: "the mirror cannot be signed"},
	{name: "mirror that is forged, repaired and signed", threat: "the owner of a mirror is tricked into signing what was changed in it, lock and all", stops: "repair and prune only sign a mirror that the key has signed before, or releases with a trusted signature", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
		w.must("mirror", "repo@v0.2.0", "--to", "mirror", "--sign-key", "key.pem")
		w.remove("mirror/SHA256SUMS.sig")
	}, tries: [][]string{{"mirror", "repair", "mirror", "--sign-key", "key.pem"}, {"mirror", "prune", "mirror", "--keep", "1", "--sign-key", "key.pem"}}, want: "the mirror cannot be signed"},
	{name: "journal with a release", threat: "a forged journal makes the next run sign a release", stops: "the same", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
		w.must("mirror", "repo@v0.2.0", "--to", "mirror")
		var lock struct{ Sources, Releases []json.RawMessage }
		if err := json.Unmarshal([]byte(w.read("mirror/mirror.lock.json")), &lock); err != nil {
			w.t.Fatal(err)
		}
		w.copy("mirror/infrastructure-foo", "kept")
		w.remove("mirror")
		w.copy("kept", "mirror/infrastructure-foo")
		line, err := json.Marshal(map[string]any{"listing": lock.Sources[0], "release": lock.Releases[0], "images": []any{}})
		if err != nil {
			w.t.Fatal(err)
		}
		w.write("mirror/.clusterctl-repo-mirror.jsonl", string(line)+"\n")
	}, tries: [][]string{{"mirror", "repo@v0.1.0", "--to", "mirror", "--sign-key", "key.pem"}}, want: "the mirror cannot be signed"},
}

// bundleAttacks are about a mirror on its way.
var bundleAttacks = []attack{
	{name: "bundle with a further member", threat: "a file is added to a bundle", stops: "every member needs its checksum", do: bundle(func(m []member) ([]member, string) {
		return append(m, file(inBundle+"cluster-template-evil.yaml", template)), ""
	}), tries: useBundle, want: "is not listed exactly once in SHA256SUMS"},
	{name: "bundle with a member twice", threat: "a file is in a bundle twice, of which programs unpack the last", stops: "the same",
		do: bundle(func(m []member) ([]member, string) { return append(m, file(inBundle+"metadata.yaml", template)), "" }), tries: useBundle, want: "is not listed exactly once in SHA256SUMS"},
	{name: "bundle with two lists", threat: "a bundle has a second list", stops: "the same",
		do: bundle(func(m []member) ([]member, string) { return append(m, m[0]), "" }), tries: useBundle, want: `"SHA256SUMS" is not listed exactly once`},
	{name: "bundle in another order", threat: "the list comes after files that it should judge", stops: "it comes first",
		do: bundle(func(m []member) ([]member, string) { return append(m[1:], m[0]), "" }), tries: useBundle, want: "not with SHA256SUMS"},
	{name: "bundle with a link", threat: "a member is a link", stops: "only plain files are accepted", do: bundle(func(m []member) ([]member, string) {
		i := index(m, inBundle+"metadata.yaml")
		m[i].Typeflag, m[i].Linkname = tar.TypeSymlink, "/etc/passwd"
		return m, ""
	}), tries: useBundle, want: "is not a plain file"},
	{name: "bundle without a file", threat: "a file is removed from a bundle", stops: "every checksum needs its member", do: bundle(func(m []member) ([]member, string) {
		i := index(m, inBundle+"metadata.yaml")
		return append(m[:i:i], m[i+1:]...), ""
	}), tries: useBundle, want: "is missing"},
	{name: "bundle with swapped files", threat: "two files of a bundle change their content", stops: "the checksums", do: bundle(func(m []member) ([]member, string) {
		i, j := index(m, inBundle+"metadata.yaml"), index(m, inBundle+"infrastructure-components.yaml")
		m[i].content, m[j].content = m[j].content, m[i].content
		return m, ""
	}), tries: [][]string{{"mirror", "b.tar", "--to", "far"}}, want: "disagree about it"},
	{name: "bundle with a changed file", threat: "the length of a file in a bundle is changed", stops: "the checksums", do: bundle(func(m []member) ([]member, string) {
		i := index(m, inBundle+"metadata.yaml")
		m[i].content = strings.Replace(m[i].content, "v1beta2", "v1beta1", 1)
		return m, ""
	}), tries: useBundle, want: "was stated; it was changed or damaged"},
	{name: "bundle with an extended header", threat: "an extended header gives a member another size for some programs", stops: "such headers are refused", do: bundle(func(m []member) ([]member, string) {
		i := index(m, inBundle+"metadata.yaml")
		m[i].Format, m[i].PAXRecords = tar.FormatPAX, map[string]string{"VENDOR.realsize": "1"}
		return m, ""
	}), tries: useBundle, want: "which programs read differently"},
	{name: "bundle with a second archive", threat: "another archive follows, which tar -i unpacks as well", stops: "nothing may follow", do: func(w *attacked) {
		w.bundled(nil, func(m []member) ([]member, string) { return m, strings.Repeat("\x00", 1024) + w.read("b.tar") })
	}, tries: useBundle, want: "something follows the end of the archive"},
	{name: "bundle with a file in no lock", threat: "a file is added to a bundle and its list", stops: "every file needs its place in the lock", do: bundle(func(m []member) ([]member, string) {
		return list(append(m, file("infrastructure-foo/v9.9.9/metadata.yaml", template), file("overrides/x.yaml", template))), ""
	}), tries: verifyBundle, want: "infrastructure-foo/v9.9.9/metadata.yaml: unexpected"},
	{name: "bundle with a path that leads out", threat: "a member leads out of the folder", stops: "such names are refused",
		do: bundle(func(m []member) ([]member, string) { return list(append(m, file("../evil", template))), "" }), tries: useBundle, want: "is not a checksum followed by the path of a file"},
	{name: "bundle with another list", threat: "files and list of a signed bundle are changed", stops: "the signature of the list, then that of each release", do: func(w *attacked) {
		w.bundled([]string{"--sign-key", "key.pem"}, func(m []member) ([]member, string) {
			i := index(m, "mirror.lock.json")
			j := index(m, inBundle+"metadata.yaml")
			was := fmt.Sprintf("%x", sum(m[j].content))
			m[j].content = strings.Replace(m[j].content, "v1beta2", "v1beta1", 1)
			m[i].content = strings.ReplaceAll(m[i].content, was, fmt.Sprintf("%x", sum(m[j].content)))
			return list(m), ""
		})
	}, tries: useBundle, want: "does not sign SHA256SUMS"},
	{name: "bundle of another key", threat: "a bundle is signed with a key that is not trusted", stops: "only given keys count", do: func(w *attacked) {
		w.must("release", "src", "--version", "v0.2.0", "--to", "plain", "--fail-on", "never")
		w.must("mirror", "plain@v0.2.0", "--to", "b.tar", "--sign-key", "other.pem")
	}, tries: useBundle, want: "does not sign SHA256SUMS"},
}

// registryAttacks are about artifacts in an OCI registry.
var registryAttacks = []attack{
	{name: "swapped layer", threat: "a layer of an artifact has another content", stops: "its checksum in the signed list", do: func(w *attacked) {
		w.layers(func(layers []any) []any {
			for i, l := range layers {
				if titleOf(l) == "metadata.yaml" {
					layers[i] = w.registry.blob(template, title("metadata.yaml"))
				}
			}
			return layers
		})
	}, tries: atRegistry, want: "metadata.yaml has the checksum"},
	{name: "swapped titles", threat: "two layers change their names", stops: "the same", do: func(w *attacked) {
		w.layers(func(layers []any) []any {
			for _, l := range layers {
				a := l.(map[string]any)["annotations"].(map[string]any)
				switch titleOf(l) {
				case "metadata.yaml":
					a["org.opencontainers.image.title"] = "infrastructure-components.yaml"
				case "infrastructure-components.yaml":
					a["org.opencontainers.image.title"] = "metadata.yaml"
				}
			}
			return layers
		})
	}, tries: atRegistry, want: ""},
	{name: "further layer", threat: "a flavor is added to an artifact", stops: "every file needs its line", do: func(w *attacked) {
		w.layers(func(layers []any) []any {
			return append(layers, w.registry.blob(template, title("cluster-template-evil.yaml")))
		})
	}, tries: atRegistry, want: "cluster-template-evil.yaml has no line"},
	{name: "layer for the operator", threat: "a layer has the name of components that the operator asks for first", stops: "every file needs its line, unless it is the same as the file it stands for", do: func(w *attacked) {
		w.layers(func(layers []any) []any {
			a := title("infrastructure-foo-v0.1.0-components.yaml")
			a["io.github.clusterctl-repo.alias-of"] = "infrastructure-components.yaml"
			return append(layers, w.registry.blob(template, a))
		})
	}, tries: atRegistry, want: "infrastructure-foo-v0.1.0-components.yaml"},
	{name: "layer without a title", threat: "a layer has no name, which only other readers use", stops: "such artifacts are refused", do: func(w *attacked) {
		w.layers(func(layers []any) []any { return append(layers, w.registry.blob(template, nil)) })
	}, tries: atRegistry[:1], want: "has 1 layer without a file name"},
	{name: "title with a path", threat: "the name of a layer is a path", stops: "only the listed files are allowed", do: func(w *attacked) {
		w.layers(func(layers []any) []any { return append(layers, w.registry.blob(template, title("../metadata.yaml"))) })
	}, tries: atRegistry, want: "is not a valid release file name"},
	{name: "title in another case", threat: "the name of a layer differs from another by case", stops: "every file needs its line", do: func(w *attacked) {
		w.layers(func(layers []any) []any { return append(layers, w.registry.blob(template, title("Metadata.yaml"))) })
	}, tries: atRegistry, want: "are the same name where case does not matter"},
	{name: "packed folder", threat: "a layer is an archive that oras unpacks over the files", stops: "only the listed files are allowed", do: func(w *attacked) {
		w.layers(func(layers []any) []any {
			a := title("metadata")
			a["io.deis.oras.content.unpack"] = "true"
			return append(layers, w.registry.blob(template, a))
		})
	}, tries: atRegistry, want: "is a packed folder"},
	{name: "title twice", threat: "two layers have one name, of which readers use one or the other", stops: "such artifacts are refused", do: func(w *attacked) {
		w.layers(func(layers []any) []any { return append(layers, w.registry.blob(template, title("metadata.yaml"))) })
	}, tries: atRegistry, want: "two different files with the name"},
	{name: "duplicate key in a manifest", threat: "a manifest has two lists of layers, of which readers use one or the other", stops: "ambiguous JSON is refused", do: func(w *attacked) {
		w.publish(func(map[string]any) {})
		m := string(w.registry.do(http.MethodGet, artifact+"manifests/v0.1.0", "", nil))
		w.registry.put("v0.1.0", []byte(strings.Replace(m, `"layers":`, `"layers":[],"layers":`, 1)))
	}, tries: atRegistry, want: "readers differ in which one they use"},
	{name: "key in another case in a manifest", threat: "a manifest has keys that differ by case", stops: "the same", do: func(w *attacked) {
		w.publish(func(map[string]any) {})
		m := string(w.registry.do(http.MethodGet, artifact+"manifests/v0.1.0", "", nil))
		w.registry.put("v0.1.0", []byte(strings.Replace(m, `"layers":`, `"Layers":[],"layers":`, 1)))
	}, tries: atRegistry, want: "readers differ in which one they use"},
	{name: "relabelled artifact", threat: "the annotations of an artifact name another provider", stops: "the signed identity", do: func(w *attacked) {
		w.publish(func(m map[string]any) {
			for key, value := range m["annotations"].(map[string]any) {
				if value == "foo" {
					m["annotations"].(map[string]any)[key] = "bar"
				}
			}
		})
	}, tries: atRegistry, want: "infrastructure-bar"},
	{name: "replayed artifact", threat: "the tag of a new version leads to an old artifact", stops: "the signed identity", do: func(w *attacked) {
		w.publish(func(map[string]any) {})
		w.registry.put("v0.2.0", w.registry.do(http.MethodGet, artifact+"manifests/v0.1.0", "", nil))
	}, tries: [][]string{
		{"lint", "oci://REGISTRY/infrastructure-foo:v0.2.0", "--fail-on", "never"},
		{"mirror", "oci://REGISTRY/infrastructure-foo:v0.2.0", "--to", "mirror"},
		{"lint", "oci://REGISTRY/infrastructure-foo", "--fail-on", "never"},
	}, want: "v0.2.0"},
	{name: "artifact without its signature", threat: "the signature is removed from an artifact", stops: "every version needs a signature", do: func(w *attacked) {
		w.layers(func(layers []any) (left []any) {
			for _, l := range layers {
				if titleOf(l) != "SHA256SUMS.sig" {
					left = append(left, l)
				}
			}
			return left
		})
	}, tries: atRegistry, want: "is not signed"},
	{name: "referrer that lies", threat: "a good signature of other files is attached to an unsigned artifact", stops: "only the signature among the files counts", do: func(w *attacked) {
		sig := w.read(v1 + "SHA256SUMS.sig")
		w.remove("repo")
		w.must("release", "src", "--version", "v0.1.0", "--to", "repo", "--fail-on", "never")
		w.publish(func(map[string]any) {})
		m := w.registry.do(http.MethodGet, artifact+"manifests/v0.1.0", "", nil)
		w.registry.blob("{}", nil)
		referrer, err := json.Marshal(map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": "application/vnd.dev.cosign.artifact.sig.v1+json",
			"config":  map[string]any{"mediaType": "application/vnd.oci.empty.v1+json", "digest": fmt.Sprintf("sha256:%x", sum("{}")), "size": 2},
			"subject": map[string]any{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": fmt.Sprintf("sha256:%x", sum(string(m))), "size": len(m)},
			"layers":  []any{w.registry.blob(sig, title("SHA256SUMS.sig"))},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		w.registry.put("sig", referrer)
	}, tries: atRegistry, want: "is not signed"},
	{name: "index that lies", threat: "the tag leads to an index of several manifests, of which readers take one", stops: "an index is not a release", do: func(w *attacked) {
		w.publish(func(map[string]any) {})
		m := w.registry.do(http.MethodGet, artifact+"manifests/v0.1.0", "", nil)
		entry := fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%x","size":%d}`, sum(string(m)), len(m))
		w.registry.do(http.MethodPut, artifact+"manifests/v0.1.0", "application/vnd.oci.image.index.v1+json", []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[`+entry+`]}`))
	}, tries: atRegistry, want: "is an index of several manifests"},
	{name: "layer that changes", threat: "the registry gives another content for a digest when it is asked again", stops: "the digest, whenever it is read", do: func(w *attacked) {
		w.layers(func(layers []any) []any {
			for _, l := range layers {
				if digest := l.(map[string]any)["digest"].(string); titleOf(l) != "SHA256SUMS" {
					w.registry.later[artifact+"blobs/"+digest] = []byte(strings.Repeat("x", int(l.(map[string]any)["size"].(float64))))
				}
			}
			return layers
		})
	}, tries: atRegistry[:1], want: "it was changed or damaged in transit"},
}
