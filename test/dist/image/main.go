// Image writes the container image of a release from its Linux archives: an OCI
// layout with an index of the platforms, and on request a copy of it in a
// registry. The image has the program, the certificate authorities that Mozilla
// trusts, the license, and an empty /tmp; it runs as a user without rights.
//
//	image -dist DIR -date RFC3339 [-push HOST/REPO:TAG]
//
// The version and the commit are those in goreleaser's metadata.json, the date is
// that of the commit.
//
// The same archives give the same digests. It needs no base image and, without
// -push, no network.
//
// It must not know how the archives were made.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const program = "clusterctl-repo"

var architectures = []string{"amd64", "arm64"}

type release struct {
	dist, version, commit string
	date                  time.Time
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	var r release
	flag.StringVar(&r.dist, "dist", "out/dist", "the folder with the archives")
	date := flag.String("date", "", "the date of the commit, RFC 3339")
	push := flag.String("push", "", "also push it to this repository and tag")
	flag.Parse()
	at, err := time.Parse(time.RFC3339, *date)
	if err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	r.date = at.UTC()
	var known struct{ Version, Commit string }
	data, err := os.ReadFile(filepath.Join(r.dist, "metadata.json"))
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil || known.Version == "" || known.Commit == "" {
		return errors.Join(errors.New("metadata.json must name the version and the commit"), err)
	}
	r.version, r.commit = "v"+known.Version, known.Commit
	index, err := r.index()
	if err != nil {
		return err
	}
	out := filepath.Join(r.dist, "image")
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if _, err := layout.Write(out, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: index, Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}},
	})); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println(digest)
	if *push == "" {
		return nil
	}
	ref, err := name.ParseReference(*push)
	if err != nil {
		return err
	}
	return remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// annotations are those of the OCI image specification.
func (r release) annotations() map[string]string {
	const source = "https://github.com/clusterctl-repo/clusterctl-repo"
	return map[string]string{
		"org.opencontainers.image.title":    program,
		"org.opencontainers.image.source":   source,
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.created":  r.date.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

func (r release) index() (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		image, err := r.image(arch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: arch},
		}})
	}
	return mutate.Annotations(index, r.annotations()).(v1.ImageIndex), nil
}

func (r release) image(arch string) (v1.Image, error) {
	files, err := readArchive(filepath.Join(r.dist, fmt.Sprintf("%s_linux_%s.tar.gz", program, arch)), program, "LICENSE", "NOTICE")
	if err != nil {
		return nil, err
	}
	layer, err := r.layer(files)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: v1.Time{Time: r.date},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: "65532:65532", WorkingDir: "/src", Entrypoint: []string{"/usr/bin/" + program}, Labels: r.annotations(),
			Env: []string{"PATH=/usr/bin", "HOME=/tmp", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: program + " " + r.version},
	})
}

// layer holds the file system of the image.
func (r release) layer(files map[string][]byte) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put := func(path string, mode int64, uid int, data []byte) error {
		h := &tar.Header{Name: path, Mode: mode, Uid: uid, Gid: uid, ModTime: r.date, Typeflag: tar.TypeReg, Size: int64(len(data)), Format: tar.FormatPAX}
		if path[len(path)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	err := errors.Join(
		put("etc/", 0o755, 0, nil), put("etc/ssl/", 0o755, 0, nil), put("etc/ssl/certs/", 0o755, 0, nil),
		put("etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities()),
		put("etc/passwd", 0o644, 0, []byte("root:x:0:0::/:/\nnonroot:x:65532:65532::/tmp:/\n")),
		put("tmp/", 0o1777, 0, nil),
		put("usr/", 0o755, 0, nil), put("usr/bin/", 0o755, 0, nil),
		put("usr/bin/"+program, 0o755, 0, files[program]),
		put("usr/share/", 0o755, 0, nil), put("usr/share/doc/", 0o755, 0, nil), put("usr/share/doc/"+program+"/", 0o755, 0, nil),
		put("usr/share/doc/"+program+"/LICENSE", 0o644, 0, files["LICENSE"]),
		put("usr/share/doc/"+program+"/NOTICE", 0o644, 0, files["NOTICE"]),
		put("work/", 0o755, 65532, nil),
		w.Close(),
	)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
}

// authorities are the certificates of Mozilla's list that hold for every use;
// those with further constraints cannot be expressed in a file.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer does not fail
		}
	}
	return b.Bytes()
}

// readArchive returns files of a tar.gz; each of them must be there.
func readArchive(path string, names ...string) (map[string][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if slices.Contains(names, h.Name) {
			if files[h.Name], err = io.ReadAll(r); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	for _, n := range names {
		if files[n] == nil {
			return nil, fmt.Errorf("%s has no file %s", path, n)
		}
	}
	return files, nil
}
