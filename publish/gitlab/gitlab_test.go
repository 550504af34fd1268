package gitlab

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

const (
	where   = "group/sub.group/project"
	version = "v1.2.3"
	gate    = "infrastructure-components.yaml"
)

var foo = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}

func sample(version string) *repo.Release {
	return release(version, gate, "components of "+version, "metadata.yaml", "metadata of "+version,
		"cluster-template.yaml", "template of "+version, "empty.yaml", "", "a+b.yaml", "odd of "+version)
}

var release = publishtest.Summed

// user is who publishes in a test.
type user struct {
	name    string
	kind    TokenKind
	secret  string
	role    fake.Role
	private bool // the project
	mayList bool
}

var users = []user{
	{"maintainer", AccessToken, "glpat-secret-of-maintainer", fake.Maintainer, true, true},
	{"developer", AccessToken, "glpat-secret-of-developer", fake.Developer, false, true},
	{"job", JobToken, "glcbt-secret-of-job", fake.Developer, true, true},
	{"deploy", DeployToken, "gldt-secret-of-deploy", fake.NoMember, true, false},
	{"deploy to public", DeployToken, "gldt-secret-of-deploy-2", fake.NoMember, false, true},
}

// serve starts a GitLab with one project.
func serve(t testing.TB, u user, o fake.Options, change ...func(*fake.Project)) *fake.Server {
	t.Helper()
	s := fake.Start(t, o)
	p := fake.Project{Path: where, Private: u.private, Members: map[string]fake.Role{"publisher": u.role}}
	for _, f := range change {
		f(&p)
	}
	s.AddProject(p)
	addToken(s, u)
	return s
}

func addToken(s *fake.Server, u user) {
	kind := map[TokenKind]fake.Kind{AccessToken: fake.Personal, JobToken: fake.Job, DeployToken: fake.Deploy}[u.kind]
	s.AddToken(fake.Token{Secret: u.secret, Kind: kind, Project: where})
}

// quick never waits for real.
func quick() transport.Policy {
	return transport.Policy{Sleep: func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }}
}

func options(s *fake.Server, u user) Options {
	return Options{ServerURL: s.URL(), Project: where, Package: foo.Label(), Token: u.secret, TokenKind: u.kind, Policy: quick(), AllowUnreadable: true}
}

func open(t testing.TB, o Options) *Package {
	t.Helper()
	return given.Value(New(o))(t)
}

// seen tells what a reader gets of a release: nothing before the gate is open,
// and all of it afterwards.
func seen(s *fake.Server, r *repo.Release) (complete bool, err error) {
	if _, ok := s.Readable(where, foo.Label(), r.Version, gate); !ok {
		return false, nil
	}
	for _, a := range r.Artifacts {
		want, _ := a.Bytes()
		got, ok := s.Readable(where, foo.Label(), r.Version, a.Name)
		if !ok || !bytes.Equal(got, want) {
			return false, fmt.Errorf("%s reads %q, %v", a.Name, got, ok)
		}
	}
	return true, nil
}

// single fails if a file is there twice.
func single(t testing.TB, s *fake.Server, r *repo.Release) {
	t.Helper()
	p, ok := s.Package(where, foo.Label(), r.Version)
	if !ok || p.Status != "default" {
		t.Errorf("the package is %q, %v", p.Status, ok)
	}
	want := phrase.List(r.Artifacts, func(a *repo.Artifact) string { return a.Name })
	if got := p.Names(); !slices.Equal(got, want) {
		t.Errorf("the package has %v", got)
	}
	if n := len(packages(s)); n != 1 {
		t.Errorf("%d packages", n)
	}
}

// packages are those of releases of foo, without the claims.
func packages(s *fake.Server) []fake.Package {
	return slices.DeleteFunc(s.Packages(where), func(p fake.Package) bool {
		return strings.HasSuffix(p.Version, claims) || p.Name != foo.Label()
	})
}

func TestPublish(t *testing.T) {
	for _, direct := range []bool{false, true} {
		for _, u := range users {
			t.Run(fmt.Sprintf("%s, direct download %v", u.name, direct), func(t *testing.T) {
				s := serve(t, u, fake.Options{DirectDownload: direct})
				p, r := open(t, options(s, u)), sample(version)
				plan, _ := publishtest.RoundTrip(t, p, r, release(version, gate, "other"))
				if len(plan.Steps) != len(r.Artifacts) || !strings.HasPrefix(plan.Steps[len(r.Artifacts)-1], "upload "+gate) {
					t.Errorf("plan %+v", plan)
				}
				single(t, s, r)
				checkUploads(t, s, r)
				versions, err := p.Versions(t.Context())
				if u.mayList && (err != nil || !slices.Equal(versions, []string{r.Version})) || !u.mayList && err == nil {
					t.Errorf("versions %v, %v", versions, err)
				}
				if leaks := s.Leaks(); leaks != nil {
					t.Errorf("the storage got to see credentials: %v", leaks)
				}
			})
		}
	}
}

// checkUploads fails if the uploads are not one by one, each with its length, as
// a path that clusterctl would ask for, the gate last and alone visible.
func checkUploads(t *testing.T, s *fake.Server, r *repo.Release) {
	t.Helper()
	var names []string
	for _, e := range s.Faults.Log() {
		if e.Step != "storage" && len(e.Credentials) != 1 {
			t.Errorf("%s has the credentials %v", e, e.Credentials)
		}
		if strings.Contains(e.Path, "%2E") {
			t.Errorf("%s escapes dots", e)
		}
		if e.Step != "upload-file" || strings.Contains(e.Path, claims+"/") {
			continue
		}
		name := e.Path[strings.LastIndex(e.Path, "/")+1:]
		names = append(names, name)
		if want := r.Artifact(name).Size; e.ContentLength != want || e.In != want {
			t.Errorf("%s announced %d and sent %d bytes, want %d", name, e.ContentLength, e.In, want)
		}
		// The first upload hides the package, the last one shows it.
		query := "select=package_file"
		switch {
		case len(names) == 1:
			query += "&status=hidden"
		case name == gate:
			query += "&status=default"
		}
		if e.Query != query {
			t.Errorf("%s has the query %s", name, e.Query)
		}
	}
	if want := []string{"a+b.yaml", "cluster-template.yaml", "empty.yaml", "SHA256SUMS", "metadata.yaml", gate}; !slices.Equal(names, want) {
		t.Errorf("uploaded %v, want %v", names, want)
	}
}

// Readers need no token for a public project, and none at all for a private one
// whose registry is open to everyone.
func TestFetchAsReader(t *testing.T) {
	publisher := users[0]
	for _, tt := range []struct {
		name            string
		private, public bool // the project, its packages
		token           user
		want            bool
	}{
		{"nobody, public", false, false, user{}, true},
		{"nobody, private", true, false, user{}, false},
		{"nobody, private with public packages", true, true, user{}, true},
		{"reporter", true, false, user{kind: AccessToken, secret: "glpat-reader"}, true},
		{"stranger", true, false, user{kind: AccessToken, secret: "glpat-stranger"}, false},
		{"wrong token", false, false, user{kind: AccessToken, secret: "glpat-unknown"}, false},
	} {
		s := serve(t, publisher, fake.Options{}, func(p *fake.Project) {
			p.Private, p.PublicPackages = tt.private, tt.public
			p.Members["reader"] = fake.Reporter
		})
		s.AddToken(fake.Token{Secret: "glpat-reader", User: "reader", Scopes: []string{"read_api"}})
		s.AddToken(fake.Token{Secret: "glpat-stranger", User: "stranger"})
		r := sample(version)
		given.Value(open(t, options(s, publisher)).Put(t.Context(), r))(t)
		p := open(t, options(s, tt.token))
		got, err := p.Fetch(t.Context(), version)
		if err == nil {
			err = publish.VerifyFiles(t.Context(), got, r)
		}
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && (strings.Contains(err.Error(), tt.token.secret) && tt.token.secret != "" || !strings.Contains(err.Error(), "fetch "+version)) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if !tt.want {
			continue
		}
		if _, err := p.Put(t.Context(), sample("v2.0.0")); err == nil || !strings.Contains(err.Error(), "needs") {
			t.Errorf("%s could write: %v", tt.name, err)
		}
	}
}

// Without a list and without checksums only fixed names are found.
func TestFetchByName(t *testing.T) {
	u := users[3]
	s := serve(t, u, fake.Options{})
	files := []fake.File{{Name: "odd.yaml", Data: []byte("o")}, {Name: "metadata.yaml", Data: []byte("m")}, {Name: gate, Data: []byte("g")}, {Name: "cluster-template-x.yaml", Data: []byte("x")}}
	given.Value(s.AddPackage(where, fake.Package{Name: foo.Label(), Version: version, Files: files}))(t)
	for file, want := range map[string]string{"": gate + " metadata.yaml", "odd.yaml": "metadata.yaml odd.yaml"} {
		o := options(s, u)
		o.File = file
		r := given.Value(open(t, o).Fetch(t.Context(), version))(t)
		names := phrase.List(r.Artifacts, func(a *repo.Artifact) string { return a.Name })
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", file, got, want)
		}
	}
}

// A list is read to its end, and only what has exactly the name counts.
func TestPages(t *testing.T) {
	u := users[0]
	s := serve(t, u, fake.Options{})
	p := open(t, options(s, u))
	var want []string
	add := func(name, version, status string, files ...fake.File) {
		given.Value(s.AddPackage(where, fake.Package{Name: name, Version: version, Status: status, Files: files}))(t)
	}
	for i := range 150 {
		want = append(want, fmt.Sprintf("v1.%d.0", i))
		add(foo.Label(), want[i], "")
		add(foo.Label()+"-bar", fmt.Sprintf("v2.%d.0", i), "")
	}
	add(foo.Label(), "v3.0.0", "hidden", fake.File{Name: "infrastructure-components.yaml", Data: []byte("x")})
	add(foo.Label(), "v3.0.1", "error")
	add(foo.Label(), "v3.0.2", "pending_destruction")
	add(foo.Label(), "nightly", "")
	got, err := p.Versions(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d versions, %v: %v", len(got), err, got)
	}
	var files []fake.File
	for i := range 230 {
		files = append(files, fake.File{Name: fmt.Sprintf("f%d.yaml", i%115), Data: fmt.Appendf(nil, "%d", i)})
	}
	add(foo.Label(), "v4.0.0", "", files...)
	r, err := p.Fetch(t.Context(), "v4.0.0")
	if err != nil || len(r.Artifacts) != 115 {
		t.Fatalf("%v", err)
	}
	for _, a := range r.Artifacts {
		data, err := a.Bytes()
		var n, i int
		fmt.Sscanf(a.Name, "f%d.yaml", &n)
		fmt.Sscan(string(data), &i)
		if err != nil || i != n+115 {
			t.Errorf("%s has %q, which is not the last: %v", a.Name, data, err)
		}
	}
	for _, v := range []string{"v3.0.0", "v3.0.1", "v3.0.2"} {
		if _, err := p.Fetch(t.Context(), v); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// What is there already decides.
func TestExisting(t *testing.T) {
	r := sample(version)
	content := func(name string) []byte {
		data, _ := r.Artifact(name).Bytes()
		return data
	}
	whole := func(except ...string) (files []fake.File) {
		for _, a := range order(r) {
			if !slices.Contains(except, a.Name) {
				files = append(files, fake.File{Name: a.Name, Data: content(a.Name)})
			}
		}
		return files
	}
	other := func(name string) fake.File { return fake.File{Name: name, Data: []byte("other")} }
	tests := []struct {
		name, status string
		files        []fake.File
		// conflict names what differs, fails a part of another error; both
		// with a role that may not delete, if developer is not empty.
		conflict  string
		developer string
		uploads   int
		unchanged bool
	}{
		{name: "nothing", uploads: 6},
		{name: "complete", status: "default", files: whole(), unchanged: true},
		{name: "complete and deprecated", status: "deprecated", files: whole(), unchanged: true},
		{name: "complete and hidden", status: "hidden", files: whole(), uploads: 1},
		{name: "complete with an error", status: "error", files: whole(), uploads: 1},
		{name: "being deleted", status: "pending_destruction", files: whole(), uploads: 6},
		{name: "complete with a duplicate", status: "default", files: append(whole(), whole()[0]), unchanged: true},
		{name: "complete after another one", status: "default", files: append([]fake.File{other("metadata.yaml")}, whole()...), unchanged: true},
		{name: "gate missing", status: "hidden", files: whole(gate), uploads: 1},
		{name: "half", status: "hidden", files: whole(gate, "metadata.yaml", "empty.yaml"), uploads: 3},
		{name: "half and visible", status: "default", files: whole(gate, "metadata.yaml"), uploads: 2},
		{name: "half, other content", status: "hidden", files: append(whole(gate, "metadata.yaml"), other("metadata.yaml")), uploads: 2},
		{name: "half, replaced", status: "hidden", files: append(whole(gate), other("metadata.yaml")), uploads: 2},
		{name: "half, with another file", status: "hidden", files: append(whole(gate), other("old.yaml")), uploads: 1, developer: "old.yaml"},
		{name: "other components", status: "default", files: append(whole(), other(gate)), conflict: "changed " + gate},
		{name: "other template", status: "default", files: append(whole("cluster-template.yaml"), other("cluster-template.yaml")), conflict: "changed cluster-template.yaml"},
		{name: "other template, hidden", status: "hidden", files: append(whole("cluster-template.yaml"), other("cluster-template.yaml")), conflict: "changed cluster-template.yaml"},
		{name: "published without metadata", status: "default", files: whole("metadata.yaml"), conflict: "not published metadata.yaml"},
		{name: "published with more", status: "default", files: append(whole(), other("more.yaml")), conflict: "only published more.yaml"},
		{name: "somebody's half", status: "default", files: append(whole(gate, "metadata.yaml"), other("metadata.yaml")), conflict: "changed metadata.yaml"},
	}
	for _, tt := range tests {
		for _, u := range users[:2] {
			t.Run(tt.name+" "+u.name, func(t *testing.T) {
				s := serve(t, u, fake.Options{})
				if tt.files != nil {
					if _, err := s.AddPackage(where, fake.Package{Name: foo.Label(), Version: version, Status: tt.status, Files: tt.files}); err != nil {
						t.Fatal(err)
					}
				}
				before := fmt.Sprint(packages(s))
				p := open(t, options(s, u))
				plan, planErr := p.Plan(t.Context(), r)
				got, err := p.Put(t.Context(), r)
				fails := tt.conflict
				if u.role < fake.Maintainer && tt.developer != "" {
					fails = tt.developer
				}
				if fails != "" {
					_, conflict := errors.AsType[*publish.ConflictError](err)
					if err == nil || !strings.Contains(err.Error(), fails) || conflict != (tt.conflict != "") || (planErr == nil) != (tt.conflict == "") {
						t.Errorf("%v, plan %v", err, planErr)
					}
					if after := fmt.Sprint(packages(s)); after != before {
						t.Errorf("changed\n%s to\n%s", before, after)
					}
					return
				}
				uploads := 0
				for _, e := range s.Faults.Log() {
					if e.Step == "upload-file" && !strings.Contains(e.Path, claims+"/") {
						uploads++
					}
				}
				if err != nil || planErr != nil || uploads != tt.uploads || plan.Unchanged != got.Unchanged && u.role == fake.Maintainer {
					t.Fatalf("%d uploads, want %d; %+v, %v, plan %+v", uploads, tt.uploads, got, err, plan)
				}
				if complete, err := seen(s, r); !complete {
					t.Error(err)
				}
				if err := p.Verify(t.Context(), r); err != nil {
					t.Error(err)
				}
				k, _ := s.Package(where, foo.Label(), version)
				if k.Status != "default" && k.Status != "deprecated" {
					t.Errorf("status %s", k.Status)
				}
				files := len(k.Files)
				again, err := p.Put(t.Context(), r)
				if k, _ := s.Package(where, foo.Label(), version); err != nil || !again.Unchanged || len(k.Files) != files {
					t.Errorf("again: %+v, %v", again, err)
				}
				foreign := tt.name == "complete after another one" // nobody's business
				if u.role == fake.Maintainer && !foreign && files != len(r.Artifacts) {
					t.Errorf("the package has %v", k.Names())
				}
				if notes := strings.Join(got.Notes, "\n"); files != len(r.Artifacts) && !foreign && !strings.Contains(notes, "may not delete") {
					t.Errorf("notes %q", notes)
				}
			})
		}
	}
}

// Rights that are missing are named, and nothing is visible.
func TestRefusals(t *testing.T) {
	developer := users[1]
	tests := []struct {
		name    string
		user    user
		options fake.Options
		change  func(*fake.Project)
		token   func(*fake.Token)
		want    string
	}{
		{"guest", developer, fake.Options{}, func(p *fake.Project) { p.Members["publisher"] = fake.Guest }, nil, "at least the role Developer"},
		{"no member of a private project", developer, fake.Options{}, func(p *fake.Project) { p.Members, p.Private = nil, true }, nil, "the project does not exist, or the access token in GITLAB_TOKEN may not see it"},
		{"other project", developer, fake.Options{}, func(p *fake.Project) { p.Path = "group/other" }, nil, "the project does not exist"},
		{"read only", developer, fake.Options{}, nil, func(k *fake.Token) { k.Scopes = []string{"read_api"} }, "the scope api"},
		{"read only deploy token", users[3], fake.Options{}, nil, func(k *fake.Token) { k.Scopes = []string{"read_package_registry"} }, "write_package_registry"},
		{"expired", developer, fake.Options{}, nil, func(k *fake.Token) { k.Expired = true }, "access token in GITLAB_TOKEN is unknown, expired or revoked"},
		{"unknown", developer, fake.Options{}, nil, func(k *fake.Token) { k.Secret = "another" }, "unknown, expired or revoked"},
		{"unknown job token", users[2], fake.Options{}, nil, func(k *fake.Token) { k.Secret = "another" }, "unknown, expired or revoked"},
		{"unknown deploy token", users[3], fake.Options{}, nil, func(k *fake.Token) { k.Secret = "another" }, "unknown, expired or revoked"},
		{"archived", developer, fake.Options{}, func(p *fake.Project) { p.Archived = true }, nil, "archived"},
		{"registry off", developer, fake.Options{}, func(p *fake.Project) { p.NoPackages = true }, nil, "registry of the project is off"},
		{"registry off, job", users[2], fake.Options{}, func(p *fake.Project) { p.NoPackages = true }, nil, "registry of the project must be on"},
		{"protected", developer, fake.Options{}, func(p *fake.Project) {
			p.Protected = []fake.Protection{{Pattern: "infrastructure-*", Role: fake.Maintainer}}
		}, nil, "protection rule"},
		{"too large", developer, fake.Options{MaxFileSize: 20}, nil, nil, "higher limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.user, tt.options, func(p *fake.Project) {
				if tt.change != nil {
					tt.change(p)
				}
			})
			if tt.token != nil {
				k := fake.Token{Secret: tt.user.secret, Project: where, Kind: map[TokenKind]fake.Kind{AccessToken: fake.Personal, JobToken: fake.Job, DeployToken: fake.Deploy}[tt.user.kind]}
				s.AddToken(fake.Token{Secret: tt.user.secret, Expired: true})
				tt.token(&k)
				if k.Secret != tt.user.secret {
					o := options(s, tt.user)
					o.Token = "glpat-nobody-knows-it"
					_, err := open(t, o).Put(t.Context(), sample(version))
					if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), o.Token) {
						t.Error(err)
					}
					return
				}
				s.AddToken(k)
			}
			_, err := open(t, options(s, tt.user)).Put(t.Context(), sample(version))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), tt.user.secret) || strings.Contains(err.Error(), "select=") {
				t.Error(err)
			}
			if complete, err := seen(s, sample(version)); complete || err != nil {
				t.Errorf("visible: %v, %v", complete, err)
			}
		})
	}
	o := options(serve(t, developer, fake.Options{}), developer)
	o.Token = ""
	if _, err := open(t, o).Put(t.Context(), sample(version)); err == nil || !strings.Contains(err.Error(), "needs a token; set GITLAB_TOKEN") {
		t.Error(err)
	}
}

// Where duplicates are forbidden a lost answer is still found, and another
// content is a clear error.
func TestNoDuplicates(t *testing.T) {
	for _, u := range users {
		s := serve(t, u, fake.Options{}, func(p *fake.Project) { p.NoDuplicates = true })
		s.Faults.Add(fault.Rule{Step: "upload-file", Nth: 2, Times: 2, Fault: fault.Fault{Name: "lost", Reset: true, Handled: true}})
		r := sample(version)
		if _, err := open(t, options(s, u)).Put(t.Context(), r); err != nil {
			t.Errorf("%s: %v", u.name, err)
			continue
		}
		single(t, s, r)
	}
	for _, u := range users {
		s := serve(t, u, fake.Options{}, func(p *fake.Project) { p.NoDuplicates = true })
		if _, err := s.AddPackage(where, fake.Package{Name: foo.Label(), Version: version, Status: "hidden", Files: []fake.File{{Name: "metadata.yaml", Data: []byte("old")}}}); err != nil {
			t.Fatal(err)
		}
		_, err := open(t, options(s, u)).Put(t.Context(), sample(version))
		complete, bad := seen(s, sample(version))
		if u.role >= fake.Maintainer {
			if err != nil || !complete {
				t.Errorf("%s: %v, %v", u.name, err, bad)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "does not allow duplicates") || complete || bad != nil {
			t.Errorf("%s: %v, visible: %v, %v", u.name, err, complete, bad)
		}
	}
}

// faults are those of the server, and some more.
func faults() []fault.Fault {
	day := fake.RateLimited(24 * time.Hour)
	day.Name = "rate limited for a day"
	return append(append(fake.Faults(), fault.Stalls()...),
		day,
		fault.Fault{Name: "garbled answer", Handled: true, Status: 200, Body: "<html>"},
		fault.Fault{Name: "truncated answer", Shorten: 5},
		fault.Fault{Name: "redirect to another host", Redirect: "http://localhost:1"},
		fault.Fault{Name: "forbidden", Status: 403, Body: `{"message":"403 Forbidden"}`},
	)
}

// lasts reports whether a fault that strikes once may end the run: what needs a
// person. Everything else passes.
func lasts(f fault.Fault) bool {
	return slices.Contains([]string{"token expires", "rate limited for a day", "redirect to another host", "forbidden"}, f.Name)
}

// small is a release with few requests, for tests that break each of them.
func small(version string) *repo.Release {
	r := sample(version)
	r.Artifacts = slices.DeleteFunc(r.Artifacts, func(a *repo.Artifact) bool {
		return !slices.Contains([]string{gate, "metadata.yaml", "cluster-template.yaml"}, a.Name)
	})
	return r
}

// place is a package of one user, for each run in another GitLab.
func place(u user, every, sequences int) publishtest.Place {
	return publishtest.Place{
		Release: small(version), Other: release(version, gate, "their components", "metadata.yaml", "their metadata", "their.yaml", "x"),
		Start: func(t testing.TB) *publishtest.Spot {
			s := serve(t, u, fake.Options{})
			return spot(t, s, u, options(s, u))
		}, Faults: faults(), Lasts: lasts, Every: every, Sequences: sequences,
		Vital: []string{"upload-file"}, Rare: []string{"upload-file", "list-files", "delete-file", "download-file", "get-project"},
	}
}

func spot(t testing.TB, s *fake.Server, u user, o Options) *publishtest.Spot {
	return &publishtest.Spot{
		Faults: s.Faults, Secrets: []string{u.secret}, Leaks: s.Leaks, Renew: func() { addToken(s, u) }, Settle: func() { publishtest.Settle(t, s.Faults) },
		Open: func(after func(), patience time.Duration) publish.Destination {
			o := o
			o.Policy.Timeout = patience
			o.Base = publishtest.After(publishtest.Tripper(func(req *http.Request) (*http.Response, error) {
				if _, sent := req.Header["Private-Token"]; sent {
					t.Error("the library sends a token")
				}
				return http.DefaultTransport.RoundTrip(req)
			}), after)
			return open(t, o)
		},
		Seen: func(r *repo.Release) (bool, error) { return seen(s, r) }, Tidy: func(r *repo.Release) { single(t, s, r) },
		Exposed: true, Keeps: u.role < fake.Maintainer, Unclaimed: !u.mayList || u.kind == DeployToken,
	}
}

func TestFaults(t *testing.T) {
	for i, u := range users[:4] {
		t.Run(u.name, func(t *testing.T) {
			every := share.Of(12, 1)
			if i%3 > 0 {
				every *= 2 // the first may do all, the last sees nothing
			}
			publishtest.Run(t, func(testing.TB) publishtest.Place { return place(u, every, share.Of(3, 60)) })
		})
	}
}

// With a real name, encryption, a storage of its own and an API elsewhere.
func TestRealName(t *testing.T) {
	const server = "https://gitlab.example.com"
	for _, api := range []bool{false, true} {
		u := users[0]
		s := serve(t, u, fake.Options{TLS: true, DirectDownload: true})
		base := &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: s.CAPool()},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(s.URL(), "https://"))
			},
		}
		t.Cleanup(base.CloseIdleConnections)
		o := options(s, u)
		o.ServerURL, o.AllowUnreadable, o.Base = server, false, base
		if api {
			o.APIURL = "https://internal.example.com/api/v4/"
		}
		p, r := open(t, o), sample(version)
		result, err := p.Put(t.Context(), r)
		if err != nil || len(result.Notes) > 0 || !strings.HasPrefix(result.Where, server+"/"+where) {
			t.Fatalf("%+v, %v", result, err)
		}
		if err := p.Verify(t.Context(), r); err != nil {
			t.Error(err)
		}
		log := s.Faults.Log()
		raw, err := p.URL(version, gate)
		l, parseErr := layouts.ParseProviderURL(raw, foo)
		if err != nil || parseErr != nil {
			t.Fatal(err, parseErr)
		}
		reader, err := New(Options{ServerURL: "https://" + l.Host, Project: where, Package: l.Package, File: l.File, Token: u.secret, Base: base, Policy: quick()})
		given.NoError(t, err)
		got := given.Value(reader.Fetch(t.Context(), l.Version))(t)
		if err := publish.VerifyFiles(t.Context(), got, r); err != nil {
			t.Error(err)
		}
		if leaks := s.Leaks(); leaks != nil {
			t.Errorf("the storage got to see credentials: %v", leaks)
		}
		for _, e := range log {
			if want := "internal.example.com"; api && e.Step != "storage" && e.Host != want || !api && !strings.HasSuffix(e.Host, "gitlab.example.com") {
				t.Errorf("%s went to %s", e, e.Host)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	names := func(p layouts.Provider, files ...string) string {
		r := &repo.Release{Provider: p}
		for _, f := range files {
			r.Artifacts = append(r.Artifacts, repo.BytesArtifact(f, nil))
		}
		r.Sort()
		return strings.Join(phrase.List(order(r), func(a *repo.Artifact) string { return a.Name }), " ")
	}
	for _, tt := range []struct{ got, want string }{
		{names(foo, "metadata.yaml", gate, "SHA256SUMS", "z.yaml", "cluster-template.yaml"), "cluster-template.yaml z.yaml SHA256SUMS metadata.yaml " + gate},
		{names(foo, "core-components.yaml", gate, "metadata.yaml", "runtime-extension-components.yaml"), "metadata.yaml core-components.yaml runtime-extension-components.yaml " + gate},
		{names(layouts.Provider{}, "core-components.yaml", "bootstrap-components.yaml", "metadata.yaml", "a"), "a metadata.yaml bootstrap-components.yaml core-components.yaml"},
		{names(layouts.CertManager, "cert-manager.yaml", "SHA256SUMS"), "SHA256SUMS cert-manager.yaml"},
		{names(foo, "b", "a"), "a b"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
}

// A refusal has the words of GitLab, in one short line.
func FuzzMessage(f *testing.F) {
	for body, want := range map[string]string{
		`{"message":"403 Forbidden - Package protected."}`:              "403 Forbidden - Package protected.",
		`{"error":"insufficient_scope","error_description":"too low"}`:  "insufficient_scope: too low",
		`{"message":{"name":["has already been taken"],"url":["bad"]}}`: "name has already been taken, url bad",
		`{"message":["a","b"],"error":7}`:                               "a, b",
		`<html>502</html>`:                                              "",
		`{"message":"two\nlines"}`:                                      "two lines",
		``:                                                              "",
	} {
		if got := message(strings.NewReader(body)); got != want {
			f.Errorf("%s: %q, want %q", body, got, want)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if got := message(strings.NewReader(body)); len(got) > 1300 || strings.ContainsAny(got, "\n\r\x1b") {
			t.Errorf("%q", got)
		}
	})
}

// A claim makes it needless to look at the gate before each upload; without one, as
// with TakeOver, there is no other protection.
func TestLooksBetweenUploads(t *testing.T) {
	const files = 30
	more := []string{gate, "components"}
	for i := range files {
		more = append(more, fmt.Sprintf("cluster-template-%02d.yaml", i), "x")
	}
	for _, takeOver := range []bool{false, true} {
		s := serve(t, users[0], fake.Options{})
		o := options(s, users[0])
		o.TakeOver = takeOver
		given.Value(open(t, o).Put(t.Context(), release(version, more...)))(t)
		looks := 0
		for _, e := range s.Faults.Log() {
			if e.Method == http.MethodGet && strings.HasSuffix(e.Path, "/"+gate) {
				looks++
			}
		}
		if takeOver && looks < files-1 || !takeOver && looks > files/2 {
			t.Errorf("%d looks at %s for %d uploads, without a claim: %v", looks, gate, files, takeOver)
		}
	}
}
