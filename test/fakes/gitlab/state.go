package gitlab

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// Role is what a user is in a project.
type Role int

// The roles with GitLab's numbers.
const (
	NoMember   Role = 0
	Guest      Role = 10
	Reporter   Role = 20
	Developer  Role = 30
	Maintainer Role = 40
	Owner      Role = 50
)

// Kind is the kind of a token. It decides how it can be sent and where it counts.
type Kind int

// The kinds of tokens. Project and group access tokens are personal ones of a
// user of their own.
const (
	Personal Kind = iota
	Job
	Deploy
)

// Token is a secret that clients may send.
type Token struct {
	Secret string
	Kind   Kind
	// User is the login; empty means "publisher".
	User string
	// Scopes of a personal token are "api" or "read_api", of a deploy token
	// "read_package_registry" and "write_package_registry". Empty means all.
	Scopes  []string
	Expired bool
	// Project is the only one that a deploy token counts in.
	Project string
}

// Project is a project as a test declares it.
type Project struct {
	// Path is the full path, with the groups.
	Path    string
	Private bool
	// PublicPackages lets everyone read the packages of a private project.
	PublicPackages bool
	// NoPackages turns the package registry off.
	NoPackages bool
	Archived   bool
	// Members are the roles of logins.
	Members map[string]Role
	// NoDuplicates refuses a second file of one name.
	NoDuplicates bool
	// Protected are the packages that need a higher role to push.
	Protected []Protection
}

// Protection says who may push packages of which name.
type Protection struct {
	// Pattern is a name in which * stands for anything.
	Pattern string
	Role    Role
}

// Package is a package: one that a test puts there, or one as it is now.
type Package struct {
	// ID is given by the server.
	ID            int64
	Name, Version string
	// Status is "default" if empty, else "hidden", "error", "processing" or
	// "pending_destruction".
	Status  string
	Created time.Time
	Files   []File
}

// Names returns the names of the files, sorted, with duplicates.
func (p Package) Names() []string {
	var names []string
	for _, f := range p.Files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// File is a file of a package.
type File struct {
	// ID is given by the server.
	ID     int64
	Name   string
	Size   int64
	SHA256 string
	// Data are the bytes, for AddPackage. In what Packages returns it is nil.
	Data []byte
}

type project struct {
	Project
	id       int64
	packages []*pkg
}

type pkg struct {
	Package
	downloaded time.Time
	files      []*file
}

type file struct {
	File
	created time.Time
	blob    *serve.Blob
}

// AddToken makes a token known.
func (s *Server) AddToken(t Token) {
	t.User = cmp.Or(t.User, "publisher")
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.tokens[t.Secret] = &t
}

// AddProject makes a project.
func (s *Server) AddProject(p Project) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.projects = append(s.projects, &project{Project: p, id: s.NextID()})
}

// project finds a project by path or number.
func (s *Server) project(id string) *project {
	found, _ := serve.First(s.projects, func(p *project) bool {
		return strings.EqualFold(p.Path, id) || fmt.Sprint(p.id) == id
	})
	return found
}

// AddPackage puts a package there as it is, for tests that begin in the middle
// and for a second publisher.
func (s *Server) AddPackage(to string, p Package) (id int64, err error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	project := s.project(to)
	if project == nil {
		return 0, fmt.Errorf("add package: no project %s", to)
	}
	n := s.newPackage(project, p.Name, p.Version, cmp.Or(p.Status, statusDefault))
	for _, f := range p.Files {
		b, err := serve.Receive(bytes.NewReader(f.Data), int64(len(f.Data)), false)
		if err != nil {
			return 0, err
		}
		s.addFile(n, f.Name, b)
	}
	return n.ID, nil
}

func (s *Server) newPackage(to *project, name, version, status string) *pkg {
	n := &pkg{Package: Package{ID: s.NextID(), Name: name, Version: version, Status: status, Created: time.Now()}}
	to.packages = append(to.packages, n)
	return n
}

func (s *Server) addFile(to *pkg, name string, b *serve.Blob) *file {
	f := &file{File: File{ID: s.NextID(), Name: name, Size: b.Size, SHA256: b.SHA256}, created: time.Now(), blob: b}
	to.files = append(to.files, f)
	return f
}

// Packages returns the packages of a project as they are now, hidden ones
// included, oldest first.
func (s *Server) Packages(project string) []Package {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	p := s.project(project)
	if p == nil {
		return nil
	}
	var out []Package
	for _, k := range p.packages {
		o := k.Package
		o.Files = nil
		for _, f := range k.files {
			o.Files = append(o.Files, f.File)
		}
		out = append(out, o)
	}
	return out
}

// Package returns the package that uploads and downloads of that name and
// version meet.
func (s *Server) Package(project, name, version string) (Package, bool) {
	is := func(p Package) bool { return p.Name == name && p.Version == version && p.Status != statusPending }
	return serve.First(s.Packages(project), is)
}

// Readable returns the bytes that a reader gets from a URL of clusterctl's form,
// or false where there is a 404.
func (s *Server) Readable(project, name, version, file string) ([]byte, bool) {
	raw, err := s.Bytes(func() *serve.Blob {
		if p := s.project(project); p != nil {
			if f := p.find(name, version, installable()).file(file); f != nil {
				return f.blob
			}
		}
		return nil
	})
	return raw, err == nil
}

func (s *Server) fileByID(id int64) *serve.Blob {
	for _, p := range s.projects {
		for _, k := range p.packages {
			for _, f := range k.files {
				if f.ID == id {
					return f.blob
				}
			}
		}
	}
	return nil
}

// find returns the youngest package of a name and version in one of the states.
func (p *project) find(name, version string, states []string) *pkg {
	for _, k := range slices.Backward(p.packages) {
		if k.Name == name && k.Version == version && slices.Contains(states, k.Status) {
			return k
		}
	}
	return nil
}

// file returns the last file of a name; there is none without a package.
func (k *pkg) file(name string) *file {
	if k == nil {
		return nil
	}
	for _, f := range slices.Backward(k.files) {
		if f.Name == name {
			return f
		}
	}
	return nil
}
