package github

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// Right is what a user may do with a repository, or a token with all that its
// user may.
type Right int

// The rights, each with those before it.
const (
	None Right = iota
	Read
	Write
	Admin
)

// Kind is the kind of a token. It decides how refusals look.
type Kind int

// The kinds of tokens.
const (
	// Classic tokens are refused with 404.
	Classic Kind = iota
	// Actions is the token of a workflow run; it is refused with 403 and never
	// has the workflow right.
	Actions
)

// Token is a secret that clients may send.
type Token struct {
	Secret string
	// User is the login; empty means "publisher".
	User string
	Kind Kind
	// Right limits what the token may do with the repositories of its user.
	Right Right
	// Workflows allows releases of commits that change workflow files.
	Workflows bool
	Expired   bool
}

// Repository is a repository as a test declares it.
type Repository struct {
	Owner, Name string
	Private     bool
	Archived    bool
	// Immutable is the setting by which published releases never change.
	Immutable bool
	// Commits are oldest first; the last one is the head of the branch main.
	// There is always one.
	Commits []Commit
	Tags    []Tag
	// Former are the names, as owner/name, that redirect to this one.
	Former []string
	// ProtectedTags are the tags that nobody may create.
	ProtectedTags []string
}

// Commit is a commit of a repository.
type Commit struct {
	// SHA has 40 hexadecimal digits.
	SHA string
	// Date is a day in 2026 if it is zero, the same for all but in order.
	Date time.Time
	// Workflows says that the commit changes workflow files.
	Workflows bool
}

// Tag is a git tag.
type Tag struct {
	Name string
	// SHA is the commit; empty means the head of main.
	SHA string
	// Annotated tags have an object of their own between ref and commit.
	Annotated bool
}

// Release is a release: one that a test puts there, or one as it is now.
type Release struct {
	// ID is given by the server.
	ID         int64  `json:"-"`
	Tag        string `json:"tag_name"`
	Target     string `json:"target_commitish"`
	Name       string `json:"name"`
	Body       string `json:"body"`
	Draft      bool   `json:"draft"`
	Prerelease bool   `json:"prerelease"`
	Immutable  bool   `json:"-"`
	// Created is the date of the commit.
	Created, Published time.Time `json:"-"`
	Author             string    `json:"-"`
	Assets             []Asset   `json:"-"`
}

// Asset returns the asset of that name.
func (r Release) Asset(name string) (Asset, bool) {
	return serve.First(r.Assets, func(a Asset) bool { return a.Name == name })
}

// Names returns the names of the assets, sorted.
func (r Release) Names() []string {
	var names []string
	for _, a := range r.Assets {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

// The states of an asset. Starter is one whose upload did not end.
const (
	Uploaded = "uploaded"
	Starter  = "starter"
)

// Asset is a file of a release.
type Asset struct {
	// ID is given by the server.
	ID   int64
	Name string
	// Label is shown to people in the place of the name.
	Label       string
	ContentType string
	// State is Uploaded if empty.
	State string
	Size  int64
	// Digest is what the server says, with the algorithm before a colon; empty
	// means null. AddRelease calculates it.
	Digest string
	// Data are the bytes, for AddRelease. In what Releases returns it is nil; use
	// Content.
	Data []byte
}

type repository struct {
	Repository
	id       int64
	releases []*release
	// latest is the release that was made the latest one; 0 means the newest.
	latest int64
	// used are the tags of releases that were immutable.
	used map[string]bool
}

type release struct {
	Release
	// untagged is in the addresses of a draft in the place of the tag.
	untagged  string
	notLatest bool
	updated   time.Time
	assets    []*asset
}

type asset struct {
	Asset
	uploader         string
	created, updated time.Time
	blob             *serve.Blob
	release          *release
}

func (r *repository) fullName() string { return r.Owner + "/" + r.Name }

func (r *repository) head() Commit { return r.Commits[len(r.Commits)-1] }

func (r *repository) tag(name string) (Tag, bool) {
	return serve.First(r.Tags, func(t Tag) bool { return t.Name == name })
}

func (r *repository) commit(sha string) (Commit, bool) {
	return serve.First(r.Commits, func(c Commit) bool { return c.SHA == sha })
}

// resolve finds the commit of a branch, tag or SHA. Empty is main.
func (r *repository) resolve(name string) (Commit, bool) {
	name = strings.TrimPrefix(name, "refs/heads/")
	if name == "" || name == "main" {
		return r.head(), true
	}
	if t, ok := r.tag(strings.TrimPrefix(name, "refs/tags/")); ok {
		return r.commit(t.SHA)
	}
	return r.commit(name)
}

func (r *repository) byTag(tag string, drafts bool) *release {
	found, _ := serve.First(r.releases, func(rel *release) bool { return rel.Tag == tag && rel.Draft == drafts })
	return found
}

func (r *release) asset(name string) *asset {
	found, _ := serve.First(r.assets, func(a *asset) bool { return a.Name == name })
	return found
}

func (r *release) snapshot() Release {
	out := r.Release
	out.Assets = nil
	for _, a := range r.assets {
		out.Assets = append(out.Assets, a.Asset)
	}
	return out
}

// AnnotatedSHA is the object of an annotated tag in a fake repository.
func AnnotatedSHA(repo, tag string) string {
	sum := sha1.Sum([]byte(repo + " " + tag))
	return hex.EncodeToString(sum[:])
}

// AddToken makes a token known.
func (s *Server) AddToken(t Token) {
	t.User = cmp.Or(t.User, "publisher")
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.tokens[t.Secret] = &t
}

// AddRepository makes a repository. What is left empty in r gets a sensible
// value; that includes one commit.
func (s *Server) AddRepository(r Repository) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if len(r.Commits) == 0 {
		r.Commits = []Commit{{SHA: AnnotatedSHA(r.Owner+"/"+r.Name, "commit")}}
	}
	r.Commits, r.Tags = slices.Clone(r.Commits), slices.Clone(r.Tags)
	for i := range r.Commits {
		if r.Commits[i].Date.IsZero() {
			r.Commits[i].Date = time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		}
	}
	repo := &repository{Repository: r, id: s.NextID(), used: map[string]bool{}}
	for i, t := range repo.Tags {
		repo.Tags[i].SHA = cmp.Or(t.SHA, repo.head().SHA)
	}
	s.repos = append(s.repos, repo)
}

// repo finds a repository by owner/name. Names are equal in any case.
func (s *Server) repo(name string) (repo *repository, former bool) {
	is := func(n string) bool { return strings.EqualFold(n, name) }
	if r, ok := serve.First(s.repos, func(r *repository) bool { return is(r.fullName()) }); ok {
		return r, false
	}
	return serve.First(s.repos, func(r *repository) bool { return slices.ContainsFunc(r.Former, is) })
}

// AddRelease puts a release there as it is, for tests that begin in the middle
// and for a second publisher. A published one gets its tag.
func (s *Server) AddRelease(repo string, r Release) (id int64, err error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	to, _ := s.repo(repo)
	if to == nil {
		return 0, fmt.Errorf("add release: no repository %s", repo)
	}
	rel := s.newRelease(to, r)
	for _, a := range r.Assets {
		if err := s.addAsset(rel, a); err != nil {
			return 0, err
		}
	}
	rel.Release.Assets = nil
	if !r.Draft {
		if _, ok := to.tag(r.Tag); !ok {
			commit, _ := to.resolve(r.Target)
			to.Tags = append(to.Tags, Tag{Name: r.Tag, SHA: commit.SHA})
		}
		if rel.Published.IsZero() {
			rel.Published = rel.Created
		}
	}
	return rel.ID, nil
}

func (s *Server) newRelease(to *repository, r Release) *release {
	rel := &release{Release: r}
	rel.ID = s.NextID()
	rel.untagged = "untagged-" + AnnotatedSHA("draft", fmt.Sprint(rel.ID))[:20]
	rel.Author = cmp.Or(rel.Author, "publisher")
	if rel.Created.IsZero() {
		commit, ok := to.resolve(r.Target)
		if !ok {
			commit = to.head()
		}
		rel.Created = commit.Date
	}
	rel.updated = rel.Created
	to.releases = append(to.releases, rel)
	return rel
}

func (s *Server) addAsset(to *release, a Asset) error {
	b, err := serve.Receive(bytes.NewReader(a.Data), int64(len(a.Data)), false)
	if err != nil {
		return err
	}
	n := &asset{Asset: a, uploader: to.Author, created: to.Created, updated: to.Created, blob: b, release: to}
	n.Data = nil
	n.ID, n.Size = s.NextID(), b.Size
	n.State, n.ContentType = cmp.Or(n.State, Uploaded), cmp.Or(n.ContentType, "application/octet-stream")
	if n.Digest == "" && n.State == Uploaded {
		n.Digest = "sha256:" + b.SHA256
	}
	to.assets = append(to.assets, n)
	return nil
}

// read returns what of a repository is asked for, nothing if there is none.
func read[T any](s *Server, repo string, do func(*repository) T) (out T) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if r, _ := s.repo(repo); r != nil {
		out = do(r)
	}
	return out
}

// RemoveRelease removes a release and leaves its tag, as GitHub does.
func (s *Server) RemoveRelease(repo string, id int64) {
	read(s, repo, func(r *repository) bool { r.remove(id); return true })
}

func (r *repository) byID(id int64) *release {
	found, _ := serve.First(r.releases, func(rel *release) bool { return rel.ID == id })
	return found
}

func (r *repository) remove(id int64) {
	r.releases = slices.DeleteFunc(r.releases, func(rel *release) bool { return rel.ID == id })
	if r.latest == id {
		r.latest = 0
	}
}

// Releases returns the releases of a repository as they are now, drafts
// included, oldest first.
func (s *Server) Releases(repo string) []Release {
	return read(s, repo, func(r *repository) (out []Release) {
		for _, rel := range r.releases {
			out = append(out, rel.snapshot())
		}
		return out
	})
}

// Published returns the release that readers see under a tag.
func (s *Server) Published(repo, tag string) (Release, bool) {
	return serve.First(s.Releases(repo), func(r Release) bool { return r.Tag == tag && !r.Draft })
}

// Drafts returns the drafts of a repository.
func (s *Server) Drafts(repo string) []Release {
	return slices.DeleteFunc(s.Releases(repo), func(r Release) bool { return !r.Draft })
}

// Latest returns the tag of the latest release, or nothing.
func (s *Server) Latest(repo string) string {
	return read(s, repo, func(r *repository) string {
		if rel := r.latestRelease(); rel != nil {
			return rel.Tag
		}
		return ""
	})
}

// AddTag creates a tag, as a push does.
func (s *Server) AddTag(repo string, t Tag) {
	read(s, repo, func(r *repository) bool { r.Tags = append(r.Tags, t); return true })
}

// Tags returns the tags of a repository, oldest first.
func (s *Server) Tags(repo string) []Tag {
	return read(s, repo, func(r *repository) []Tag { return slices.Clone(r.Tags) })
}

// Content returns the bytes of an asset as they are stored.
func (s *Server) Content(asset int64) ([]byte, error) {
	return s.Bytes(func() *serve.Blob {
		if a := s.assetByID(asset); a != nil {
			return a.blob
		}
		return nil
	})
}

func (s *Server) assetByID(id int64) *asset {
	for _, r := range s.repos {
		for _, rel := range r.releases {
			for _, a := range rel.assets {
				if a.ID == id {
					return a
				}
			}
		}
	}
	return nil
}
