package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/providers"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
)

func digestOf(data []byte) string { return digest.FromBytes(data).String() }

func names(r *repo.Release) (out []string) {
	for _, a := range r.Artifacts {
		out = append(out, a.Name)
	}
	return out
}

func TestPublishAndReadBack(t *testing.T) {
	ctx := t.Context()
	for _, info := range layouts.Types {
		t.Run(info.Short, func(t *testing.T) {
			s := serve(t)
			d := s.open()
			p := layouts.Provider{Type: info.Type, Name: "acme"}
			if info.Type == layouts.Core {
				p.Name = layouts.CoreName
			}
			r := release(p, "v1.2.3", repo.BytesArtifact("cluster-template.yaml", []byte("a: ${B}\n")), repo.BytesArtifact("empty.txt", nil))
			if v, err := d.Versions(ctx); err != nil || len(v) != 0 {
				t.Errorf("versions of nothing: %v, %v", v, err)
			}
			changed := release(p, "v1.2.3", repo.BytesArtifact("cluster-template.yaml", []byte("other\n")), repo.BytesArtifact("new.txt", nil))
			plan, result := publishtest.RoundTrip(t, d, r, changed)
			if len(plan.Steps) != 7 || plan.Steps[6] != "tag it v1.2.3" || result.Where != "oci://"+s.host()+"/"+repository+":v1.2.3" {
				t.Errorf("plan %+v, result %+v", plan, result)
			}
			if !slices.Contains(result.Notes, "clusterctl does not read registries; the Cluster API operator does, with fetchConfig.oci: http://"+s.host()+"/"+repository+":v1.2.3") {
				t.Errorf("notes %q", result.Notes)
			}
			if len(s.slept) > 0 {
				t.Errorf("it waited %v although nothing failed", s.slept)
			}
			s.faults.ClearLog()
			given.NoError(t, d.Verify(ctx, r))
			if log := s.faults.Log(); slices.ContainsFunc(log, func(e fault.Entry) bool { return e.Step == "GET blobs" }) {
				t.Errorf("what Put has read back is read again: %v", log)
			}
			if v, err := d.Versions(ctx); err != nil || !slices.Equal(v, []string{"v1.2.3"}) {
				t.Errorf("versions %v, %v", v, err)
			}
			got := given.Value(d.Fetch(ctx, "v1.2.3"))(t)
			_, data, _ := s.manifest("v1.2.3")
			if byDigest, err := d.Fetch(ctx, digestOf(data)); err != nil || byDigest.Version != "v1.2.3" || publish.VerifyFiles(ctx, byDigest, r) != nil {
				t.Errorf("by digest: %+v, %v", byDigest, err)
			}
			if split, err := providers.Split(ctx, got, ""); err != nil || len(split) != 1 || split[0].Provider != p {
				t.Errorf("split %v, %v", split, err)
			}
			_, err := d.Put(ctx, changed)
			conflict, ok := errors.AsType[*publish.ConflictError](err)
			if !ok || conflict.String() != "changed cluster-template.yaml; not published new.txt; only published empty.txt" {
				t.Errorf("conflict: %v", err)
			}
		})
	}
}

// TestDigest pins the bytes of a manifest: a change makes every published
// release look changed to other tools.
func TestDigest(t *testing.T) {
	s := serve(t)
	given.Value(s.open().Put(t.Context(), acme(repo.BytesArtifact(layouts.ChecksumFile, []byte("x\n")))))(t)
	_, data, _ := s.manifest("v1.2.3")
	const want = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.clusterctl-repo.release.v1",` +
		`"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"data":"e30="},` +
		`"layers":[{"mediaType":"text/plain","digest":"sha256:73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac","size":2,"annotations":{"org.opencontainers.image.title":"SHA256SUMS"}},` +
		`{"mediaType":"application/yaml","digest":"%s","size":%d,"annotations":{"org.opencontainers.image.title":"infrastructure-components.yaml"}},` +
		`{"mediaType":"application/yaml","digest":"%s","size":%d,"annotations":{"org.opencontainers.image.title":"metadata.yaml"}}],` +
		`"annotations":{"cluster-api.sigs.k8s.io/provider-name":"acme","cluster-api.sigs.k8s.io/provider-type":"infrastructure","org.opencontainers.image.title":"infrastructure-acme","org.opencontainers.image.version":"v1.2.3"}}`
	c, m := acme().Artifacts[0], acme().Artifacts[1]
	a, _ := c.Sum(t.Context())
	b, _ := m.Sum(t.Context())
	if text := fmt.Sprintf(want, "sha256:"+a.String(), c.Size, "sha256:"+b.String(), m.Size); string(data) != text {
		t.Errorf("got  %s\nwant %s", data, text)
	}
	// Other titles and annotations are no other release.
	other, _, _ := s.manifest("v1.2.3")
	other.Annotations = nil
	s.store("v1.2.3", other.MediaType, other)
	_, stored, _ := s.manifest("v1.2.3")
	d := s.open()
	result, err := d.Put(t.Context(), acme(repo.BytesArtifact(layouts.ChecksumFile, []byte("x\n"))))
	if err != nil || !result.Unchanged || !strings.Contains(fmt.Sprint(result.Notes), "the files are equal, but their titles and annotations are not") {
		t.Errorf("%+v, %v", result, err)
	}
	if plan := given.Value(d.Plan(t.Context(), acme(repo.BytesArtifact(layouts.ChecksumFile, []byte("x\n")))))(t); plan.Digest != digestOf(stored) {
		t.Errorf("%+v", plan)
	}
}

// lookUp finds what the operator takes for a provider among the titles of an
// artifact, as its documentation says: the name with the version, then the name
// with the type, then the plain name.
func lookUp(m v1.Manifest, word, name, version, file string) string {
	for _, title := range []string{word + "-" + name + "-" + version + "-" + file, word + "-" + file, file} {
		for _, l := range m.Layers {
			if l.Annotations[v1.AnnotationTitle] == title && l.Size > 0 {
				return l.Digest.String()
			}
		}
	}
	return ""
}

func TestOperatorFindsEveryProvider(t *testing.T) {
	operator := map[layouts.ProviderType][]string{
		layouts.Core: {"core"}, layouts.Bootstrap: {"bootstrap"}, layouts.ControlPlane: {"control-plane", "controlplane"},
		layouts.Infrastructure: {"infrastructure"}, layouts.IPAM: {"ipam"}, layouts.RuntimeExtension: {"runtimeextension"}, layouts.Addon: {"addon"},
	}
	provider := func(short, name string) layouts.Provider {
		typ, _ := layouts.TypeByWord(short)
		return layouts.Provider{Type: typ, Name: name}
	}
	renamed := func(p layouts.Provider, file string) *repo.Release {
		r := release(p, "v1.0.0")
		for i, a := range r.Artifacts {
			if a.Kind() == layouts.Components {
				data, _ := a.Bytes()
				r.Artifacts[i] = repo.BytesArtifact(file, data)
			}
		}
		return r
	}
	for _, tc := range []struct {
		name     string
		releases []*repo.Release
		aliases  []string
		notes    string
	}{
		{"core", []*repo.Release{release(provider("core", "cluster-api"), "v1.0.0")}, nil, ""},
		{"infrastructure", []*repo.Release{release(provider("infrastructure", "a"), "v1.0.0")}, nil, ""},
		{"ipam", []*repo.Release{release(provider("ipam", "a"), "v1.0.0")}, nil, ""},
		{"addon", []*repo.Release{release(provider("addon", "a"), "v1.0.0")}, nil, ""},
		{"bootstrap", []*repo.Release{release(provider("bootstrap", "a"), "v1.0.0")}, nil, ""},
		{"control plane", []*repo.Release{release(provider("control-plane", "a"), "v1.0.0")}, []string{"controlplane-components.yaml"}, ""},
		{"runtime extension", []*repo.Release{release(provider("runtime-extension", "a"), "v1.0.0")}, []string{"runtimeextension-components.yaml"}, ""},
		{"variant", []*repo.Release{renamed(provider("infrastructure", "a"), "infrastructure-components-development.yaml")}, []string{"infrastructure-components.yaml"}, ""},
		{"as Cluster API releases", []*repo.Release{
			release(provider("core", "cluster-api"), "v1.0.0"), release(provider("bootstrap", "kubeadm"), "v1.0.0"), release(provider("control-plane", "kubeadm"), "v1.0.0"),
			renamed(provider("infrastructure", "docker"), "infrastructure-components-development.yaml"),
			renamed(provider("runtime-extension", "test"), "runtime-extension-components-development.yaml"),
		}, []string{"controlplane-components.yaml", "infrastructure-components.yaml", "runtimeextension-components.yaml"}, ""},
		{"two of a type", []*repo.Release{
			release(provider("infrastructure", "a"), "v1.0.0"), renamed(provider("infrastructure", "b"), "infrastructure-components-b.yaml"),
		}, []string{"infrastructure-b-v1.0.0-components.yaml"}, ""},
		{"a plain name in the way", []*repo.Release{
			renamed(provider("infrastructure", "a"), "infrastructure-components-a.yaml"),
			{Provider: provider("infrastructure", "a"), Version: "v1.0.0", Artifacts: []*repo.Artifact{repo.BytesArtifact("components.yaml", []byte("else"))}},
		}, []string{"infrastructure-components.yaml"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t)
			merged := given.Value(publish.Merge(t.Context(), tc.releases))(t)
			result := given.Value(s.open().Put(t.Context(), merged))(t)
			m, _, _ := s.manifest("v1.0.0")
			var got []string
			for _, l := range m.Layers {
				if l.Annotations[aliasOf] != "" {
					got = append(got, l.Annotations[v1.AnnotationTitle])
				}
			}
			if !slices.Equal(got, tc.aliases) {
				t.Errorf("aliases %q, want %q", got, tc.aliases)
			}
			for _, r := range tc.releases {
				if r.Components() == nil {
					continue
				}
				sum, _ := r.Components().Sum(t.Context())
				for _, word := range operator[r.Provider.Type] {
					if got := lookUp(m, word, r.Provider.Name, "v1.0.0", "components.yaml"); got != "sha256:"+sum.String() {
						t.Errorf("the operator finds %q for %s as %s", got, r.Provider, word)
					}
					if lookUp(m, word, r.Provider.Name, "v1.0.0", "metadata.yaml") == "" {
						t.Errorf("the operator finds no metadata for %s", r.Provider)
					}
				}
			}
			back, err := s.open().Fetch(t.Context(), "v1.0.0")
			if err != nil || !slices.Equal(names(back), names(merged)) {
				t.Errorf("read back %v, %v", back, err)
			}
			whole, want := &repo.Repository{}, 0
			for _, r := range given.Value(providers.Split(t.Context(), back, ""))(t) {
				whole.Providers = append(whole.Providers, &repo.Provider{Provider: r.Provider, Releases: []*repo.Release{r}})
			}
			if got := Unfound(whole); len(got) > 0 {
				t.Errorf("unfound %q", got)
			}
			for _, title := range got { // as others write it
				delete(back.Titles, title)
				if title != "controlplane-components.yaml" { // for an old operator
					want++
				}
			}
			if got := Unfound(whole); len(got) != want {
				t.Errorf("unfound without aliases %q", got)
			}
			if strings.Contains(fmt.Sprint(result.Notes), "operator may") {
				t.Errorf("notes %q", result.Notes)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	p := layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}
	file := func(name, text string) *repo.Artifact { return repo.BytesArtifact(name, []byte(text)) }
	for want, r := range map[string]*repo.Release{
		"does not find the metadata.yaml of infrastructure-acme":                                 {Provider: p, Artifacts: []*repo.Artifact{file("infrastructure-components.yaml", "a")}},
		"may not find the components of infrastructure-acme":                                     {Provider: p, Artifacts: []*repo.Artifact{file("infrastructure-components-a.yaml", "a"), file("infrastructure-components-b.yaml", "b")}},
		"does not take infrastructure-components.yaml for the components of infrastructure-acme": {Provider: p, Artifacts: []*repo.Artifact{file("infrastructure-components.yaml", "a"), file("infrastructure-acme-v1.0.0-components.yaml", "b")}},
		"may not find a provider of the type InfrastructureProvider":                             {Artifacts: []*repo.Artifact{file("infrastructure-components.yaml", "a: 1")}},
	} {
		r.Version = "v1.0.0"
		s := serve(t)
		result, err := s.open().Plan(t.Context(), r)
		if err != nil || !strings.Contains(fmt.Sprint(result.Notes), want) {
			t.Errorf("%q is not in %q, %v", want, result.Notes, err)
		}
	}
	// Files of something else are published as they are.
	other := &repo.Release{Version: "v1.21.1", Artifacts: []*repo.Artifact{file("cert-manager.yaml", "x")}}
	if result, err := serve(t).open().Put(t.Context(), other); err != nil || len(result.Notes) != 2 {
		t.Errorf("%q, %v", result.Notes, err)
	}
}

func layer(mediaType string, data []byte, annotations ...string) v1.Descriptor {
	d := v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data)), Annotations: map[string]string{}}
	for i := 0; i < len(annotations); i += 2 {
		d.Annotations[annotations[i]] = annotations[i+1]
	}
	return d
}

// TestReadOthers reads what other tools write.
func TestReadOthers(t *testing.T) {
	const title, test = v1.AnnotationTitle, "application/vnd.test.file"
	a, b := []byte("a\n"), []byte("b\n")
	wrong := layer(test, a, title, "x.yaml")
	wrong.Digest = digest.SHA512.FromBytes(a)
	proposal := map[string]string{"cluster-api.sigs.k8s.io/provider-type": "core"}
	for _, tc := range []struct {
		name        string
		mediaType   string
		config      string
		layers      []v1.Descriptor
		annotations map[string]string
		files       string // names that are read
		odd         string // in the oddities
		incomplete  string // in what may be missing
		err         string
	}{
		{name: "the operator's plugin", layers: []v1.Descriptor{layer(test, a, title, "metadata.yaml"), layer(test, b, title, "components.yaml")}, files: "components.yaml metadata.yaml"},
		{name: "two names for one blob", layers: []v1.Descriptor{layer(test, a, title, "a.yaml"), layer(test, a, title, "b.yaml")}, files: "a.yaml b.yaml"},
		{name: "a layer twice", layers: []v1.Descriptor{layer(test, a, title, "a.yaml"), layer(test, a, title, "a.yaml")}, files: "a.yaml"},
		{name: "a layer without a title", layers: []v1.Descriptor{layer(test, a, title, "a.yaml"), layer(test, b)}, files: "a.yaml", incomplete: "has 1 layer without a file name"},
		{name: "two contents for one name", layers: []v1.Descriptor{layer(test, a, title, "a.yaml"), layer(test, b, title, "a.yaml")}, err: `two different files with the name "a.yaml"`},
		{name: "paths", layers: []v1.Descriptor{layer(test, a, title, "out/metadata.yaml"), layer(test, b, title, "../../etc/passwd"), layer(test, a, title, ".."), layer(test, b, title, `..\x`), layer(test, b, title, "/abs"), layer(test, b, title, "ok.yaml")}, files: "ok.yaml", odd: `"../../etc/passwd" is not a valid release file name`},
		{name: "a folder of oras", layers: []v1.Descriptor{layer(test, a, title, "folder", "io.deis.oras.content.unpack", "true"), layer(test, b, title, "a.yaml")}, files: "a.yaml", odd: "is a packed folder"},
		{name: "an alias", layers: []v1.Descriptor{layer(test, a, title, "a.yaml"), layer(test, a, title, "core-components.yaml", aliasOf, "a.yaml")}, files: "a.yaml"},
		{name: "an alias for one release", layers: []v1.Descriptor{layer(test, a, title, "core-components.yaml"), layer(test, a, title, "core-x-v1.0.0-components.yaml", aliasOf, "core-components.yaml")}, files: "core-components.yaml"},
		{name: "an alias for another release", layers: []v1.Descriptor{layer(test, a, title, "core-components.yaml"), layer(test, a, title, "core-x-v1.0.1-components.yaml", aliasOf, "core-components.yaml")}, files: "core-components.yaml core-x-v1.0.1-components.yaml"},
		{name: "an alias for another type", layers: []v1.Descriptor{layer(test, a, title, "core-components.yaml"), layer(test, a, title, "bootstrap-components.yaml", aliasOf, "core-components.yaml")}, files: "bootstrap-components.yaml core-components.yaml"},
		{name: "an alias that is no components file", layers: []v1.Descriptor{layer(test, a, title, "a.yaml"), layer(test, a, title, "b.yaml", aliasOf, "a.yaml")}, files: "a.yaml b.yaml"},
		{name: "an alias of other content", layers: []v1.Descriptor{layer(test, a, title, "a.yaml"), layer(test, b, title, "core-components.yaml", aliasOf, "a.yaml")}, files: "a.yaml core-components.yaml"},
		{name: "an alias of nothing", layers: []v1.Descriptor{layer(test, a, title, "a.yaml", aliasOf, "b.yaml")}, files: "a.yaml"},
		{name: "aliases of each other", layers: []v1.Descriptor{layer(test, a, title, "a.yaml", aliasOf, "b.yaml"), layer(test, a, title, "b.yaml", aliasOf, "a.yaml")}, files: "a.yaml b.yaml"},
		{name: "an alias of itself", layers: []v1.Descriptor{layer(test, a, title, "a.yaml", aliasOf, "a.yaml")}, files: "a.yaml"},
		{name: "SHA-512", layers: []v1.Descriptor{wrong}, err: "states no SHA-256"},
		{name: "an image", config: v1.MediaTypeImageConfig, layers: []v1.Descriptor{layer(v1.MediaTypeImageLayerGzip, a)}, err: "is a container image"},
		{name: "an image of Docker", mediaType: "application/vnd.docker.distribution.manifest.v2+json", layers: []v1.Descriptor{layer(test, a)}, err: "is a container image"},
		{name: "an index", mediaType: v1.MediaTypeImageIndex, err: "is an index of several manifests"},
		{name: "a chart", config: "application/vnd.cncf.helm.config.v1+json", layers: []v1.Descriptor{layer("application/vnd.cncf.helm.chart.content.v1.tar+gzip", a)}, err: "holds no files: none of its 1 layers has the annotation org.opencontainers.image.title"},
		{name: "the proposal", layers: []v1.Descriptor{layer(v1.MediaTypeImageLayerGzip, a)}, annotations: proposal, err: "holds its files in an archive"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t)
			if tc.mediaType == "" {
				tc.mediaType = v1.MediaTypeImageManifest
			}
			m := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: tc.mediaType, Config: v1.DescriptorEmptyJSON, Layers: tc.layers, Annotations: tc.annotations}
			if tc.config != "" {
				m.Config = layer(tc.config, []byte("{}"))
			}
			s.store("v1.0.0", tc.mediaType, m, a, b, []byte("{}"))
			r, err := s.open().Fetch(t.Context(), "v1.0.0")
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), ":v1.0.0") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || strings.Join(names(r), " ") != tc.files {
				t.Fatalf("%v, %v", r, err)
			}
			if tc.odd != "" && !strings.Contains(fmt.Sprint(r.Oddities), tc.odd) || tc.odd == "" && len(r.Oddities) > 0 {
				t.Errorf("oddities %v", r.Oddities)
			}
			if !strings.Contains(r.Incomplete, tc.incomplete) || tc.incomplete == "" && r.Incomplete != "" {
				t.Errorf("incomplete: %q", r.Incomplete)
			}
			for _, f := range r.Artifacts {
				if _, err := f.Sum(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestVersionsAreSortedAndPaged(t *testing.T) {
	pages := [][]string{{"v1.10.0", "latest", "v1.9.0"}, {"sha256-abc.sig", "v1.10.0-rc.1"}, {"0.1.0", "v2"}}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		fmt.Sscan(r.URL.Query().Get("last"), &n)
		if n+1 < len(pages) {
			w.Header().Set("Link", fmt.Sprintf(`</v2/%s/tags/list?last=%d>; rel="next"`, repository, n+1))
		}
		fmt.Fprintf(w, `{"name":"x","tags":["%s"]}`, strings.Join(pages[n], `","`))
	}))
	defer host.Close()
	d := given.Value(New(Options{Host: strings.TrimPrefix(host.URL, "http://"), Repository: repository}))(t)
	got, err := d.Versions(t.Context())
	if want := []string{"0.1.0", "v1.9.0", "v1.10.0-rc.1", "v1.10.0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct{ host, repository, want string }{
		"no host":    {"", "a/b", "not the host of a registry"},
		"a URL":      {"https://ghcr.io", "a/b", "not the host of a registry"},
		"upper case": {"ghcr.io", "Acme/b", "lower-case letters"},
		"no name":    {"ghcr.io", "", "not the name of a repository"},
		"a tag":      {"ghcr.io", "a/b:v1", "not the name of a repository"},
	} {
		if _, err := New(Options{Host: tc.host, Repository: tc.repository}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := serve(t)
	d := s.open()
	p := layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}
	for version, want := range map[string]string{
		"v1.0.0+build.5":                     "a tag must not contain a plus sign; use a version without the build metadata +build.5",
		"v1.0.0-" + strings.Repeat("a", 128): "at most 128",
		"1":                                  "not a semantic version",
	} {
		for _, do := range []func(context.Context, *repo.Release) (publish.Result, error){d.Put, d.Plan} {
			if _, err := do(t.Context(), release(p, version)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", version, err)
			}
		}
		if _, err := d.URL(version, "a.yaml"); err == nil {
			t.Errorf("%s has a URL", version)
		}
	}
	lost := release(p, "v1.0.0", repo.NewArtifact("x", "x", 1, func() (io.ReadCloser, error) { return nil, fs.ErrPermission }))
	if _, err := d.Put(t.Context(), lost); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if len(s.faults.Log()) > 0 {
		t.Error("something was sent")
	}
	for version, want := range map[string]string{layouts.Latest: "oci://" + s.host() + "/" + repository, "v1.2.3": "oci://" + s.host() + "/" + repository + ":v1.2.3"} {
		if got, err := d.URL(version, "core-components.yaml"); err != nil || got != want {
			t.Errorf("%s, %v", got, err)
		}
	}
	for want, p := range map[string]layouts.Provider{"core-cluster-api": {Type: layouts.Core, Name: "cluster-api"}, "cert-manager": layouts.CertManager} {
		if got := RepositoryName(p); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestOtherSize: a server answers to everything, with fewer or more bytes than the file has.
func TestOtherSize(t *testing.T) {
	for _, size := range []string{"1", "100000"} {
		s := serve(t)
		rest := s.inner
		s.inner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/blobs/") {
				w.Header().Set("Content-Length", size)
				return
			}
			rest.ServeHTTP(w, r)
		})
		if _, err := s.open().Put(t.Context(), acme()); err == nil || !strings.Contains(err.Error(), "answers with "+size+" bytes instead of") {
			t.Errorf("got %v", err)
		}
	}
}

// TestDropped: a registry says that it stored what it did not. The version gets no
// tag, not even that of a claim.
func TestDropped(t *testing.T) {
	s := serve(t)
	rest := s.inner
	s.inner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/uploads/") {
			rest.ServeHTTP(w, r)
			return
		}
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Location", r.URL.Path+"1")
		w.WriteHeader(map[string]int{http.MethodPost: http.StatusAccepted, http.MethodPut: http.StatusCreated}[r.Method])
	})
	_, err := s.open().Put(t.Context(), acme())
	if err == nil || !strings.Contains(err.Error(), "nothing became visible") || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if answer := s.ask(http.MethodGet, "tags/list", "", nil); answer.StatusCode == http.StatusOK {
		tags, _ := io.ReadAll(answer.Body)
		if bytes.Contains(tags, []byte("v1.2.3")) {
			t.Errorf("the tags are %s", tags)
		}
	}
}

// TestSaysOtherwise: a gateway answers 502 to every request that stores, which the
// registry has carried out.
func TestSaysOtherwise(t *testing.T) {
	for _, status := range []int{http.StatusBadGateway, http.StatusGatewayTimeout} {
		s := serve(t)
		inner := s.inner
		s.inner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut {
				inner.ServeHTTP(w, r)
				return
			}
			inner.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(status)
		})
		if _, err := s.open().Put(t.Context(), acme()); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		if whole, err := s.seen(acme()); !whole {
			t.Errorf("%d: %v", status, err)
		}
	}
}
