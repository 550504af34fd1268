package github

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	sdk "github.com/google/go-github/v60/github"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// Options say which repository, and how its releases look. Only Owner and Name
// are needed; the rest is for those who publish or who do not use github.com.
type Options struct {
	Owner, Name string
	// ServerURL is the address for people; https://github.com if empty.
	ServerURL string
	// APIURL is the root of the REST API. If empty it follows from ServerURL:
	// https://api.HOST for github.com and for tenants of ghe.com, otherwise
	// https://HOST/api/v3, as on GitHub Enterprise Server.
	APIURL string
	// Token is needed for publishing and for private repositories. Only the
	// API sees it, and where the API takes uploads.
	Token string
	// TokenName is what the user calls the place of the token, for messages;
	// GITHUB_TOKEN if empty.
	TokenName string
	// Tool is the name and version of the program, such as tool/v1.2.3, for
	// the user agent and for the marker in a draft.
	Tool string
	// Base makes the connections; transport.Usual if nil.
	Base   http.RoundTripper
	Policy transport.Policy

	// Target is the commit that the tag has or gets: a SHA, a branch or a tag. If it
	// is empty, it is Commit, which is what the release was made of as far as is known,
	// for a version that is not published yet. If both are empty, a tag that exists stays
	// where it is, and a new one is created at the target of the adopted draft, or at
	// the head of the default branch.
	Target, Commit string
	// Notes is the text of the release, in Markdown.
	Notes string
	// GenerateNotes lets GitHub add its list of changes to Notes.
	GenerateNotes bool
	// AdoptDraft allows to finish a draft that somebody else began. Its name
	// and text stay, unless Notes has a text.
	AdoptDraft bool
	// Complete allows to add files to a published release that lacks nothing
	// but files. Without it that is a conflict like any other.
	Complete bool
}

// Repository is a GitHub repository with its releases. It is safe for
// concurrent use, also by several processes.
type Repository struct {
	opt Options
	// base is the root of the API.
	base *url.URL
	// elsewhere is true if the API is not where that of the server usually is.
	elsewhere bool
	// hosts may see the token.
	hosts []string
	// client shows the token to the API; anonymous shows it to nobody, as
	// clusterctl's downloads.
	client, anonymous *http.Client
	secrets           transport.Secrets

	mu   sync.Mutex
	home *home
}

const (
	gitHub = "https://github.com"
	// maxNotes is the length of the text of a release, in characters. GitHub
	// takes 125000; the marker needs some.
	maxNotes = 124_000
	// maxAssets and maxSize limit a release (GitHub: About releases).
	maxAssets = 1000
	maxSize   = 2 << 30
	// maxName is the length of a tag or of the name of an asset, in bytes.
	maxName = 255
	// maxBody is what the text of a release can have, in bytes.
	maxBody = 4 * 125_000
)

// New returns the destination. It makes no request.
func New(o Options) (*Repository, error) {
	name := regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	fail := func(err error) (*Repository, error) {
		return nil, fmt.Errorf("GitHub repository %s/%s: %w", o.Owner, o.Name, err)
	}
	for _, n := range []string{o.Owner, o.Name} {
		if !name.MatchString(n) || strings.Trim(n, ".") == "" {
			return nil, fmt.Errorf("%q is not a GitHub repository; the form is OWNER/NAME, of letters, digits, dots, dashes and underscores", o.Owner+"/"+o.Name)
		}
	}
	o.ServerURL, o.TokenName, o.Tool = cmp.Or(o.ServerURL, gitHub), cmp.Or(o.TokenName, "GITHUB_TOKEN"), cmp.Or(o.Tool, "clusterctl-repo")
	server, err := transport.ParseServer(o.ServerURL, addressForm)
	if err != nil {
		return fail(err)
	}
	usual, err := transport.ParseServer(apiOf(*server), addressForm)
	if err != nil {
		return fail(err)
	}
	api, err := transport.ParseServer(cmp.Or(o.APIURL, usual.String()), addressForm)
	if err != nil {
		return fail(err)
	}
	o.ServerURL, o.APIURL = server.String(), api.String()
	o.Token = strings.TrimSpace(o.Token)
	if o.Token != "" && !transport.Protected(api) {
		return nil, fmt.Errorf("%s does not use encryption, so the token in %s is not sent there; use https", o.APIURL, o.TokenName)
	}
	if n := utf8.RuneCountInString(o.Notes); n > maxNotes {
		return nil, fmt.Errorf("the release notes have %d characters, and GitHub accepts about %d; shorten them", n, maxNotes)
	}
	hosts := []string{api.Host}
	for _, host := range []string{api.Host, usual.Host} {
		if rest, ok := strings.CutPrefix(host, "api."); ok {
			hosts = append(hosts, "uploads."+rest)
		}
	}
	d := &Repository{
		opt:       o,
		base:      api,
		elsewhere: api.String() != usual.String(),
		hosts:     hosts,
		client:    transport.New(o.Base, o.Policy, transport.Credential{Hosts: hosts, Header: "Authorization", Value: bearer(o.Token)}),
		anonymous: transport.New(o.Base, o.Policy),
	}
	d.secrets.Add(o.Token)
	return d, nil
}

// api returns a new client of the library. Kept in a field, one would add a megabyte to
// the program: templates call methods by name, so the linker keeps all methods of what a
// Destination holds. A client that has made a request also remembers rate limits, and
// refuses requests by the local clock; package transport obeys the limits by the clock
// of the server.
func (d *Repository) api() *sdk.Client {
	client := sdk.NewClient(transport.Bounded(d.client))
	client.UserAgent = d.opt.Tool
	client.BaseURL = d.base.JoinPath("/")
	client.UploadURL = client.BaseURL // uploads bring their own URL
	return client
}

func bearer(token string) string {
	if token == "" {
		return ""
	}
	return "Bearer " + token
}

// addressForm shows the addresses of GitHub servers.
const addressForm = "https://HOST, or https://HOST/api/v3 for the API"

// apiOf returns the usual root of the API of a server.
func apiOf(server url.URL) string {
	if host := server.Hostname(); host == "github.com" || strings.HasSuffix(host, ".ghe.com") {
		server.Host = "api." + server.Host
	} else {
		server.Path += "/api/v3"
	}
	return server.String()
}

func (d *Repository) String() string { return d.opt.ServerURL + "/" + d.full() }

func (d *Repository) full() string { return d.opt.Owner + "/" + d.opt.Name }

// enterprise reports whether clusterctl does not read the server (clusterctl:
// repositoryFactory).
func (d *Repository) enterprise() bool { return d.opt.ServerURL != gitHub }

// URL returns the provider URL of a release, or of the latest one. On GitHub
// Enterprise it has the same form, which clusterctl does not read.
func (d *Repository) URL(version, componentsFile string) (string, error) {
	if version != layouts.Latest {
		if _, err := layouts.ParseVersion(version); err != nil {
			return "", err
		}
	}
	if err := publish.CheckFileName(componentsFile); err != nil {
		return "", err
	}
	l := layouts.Location{Kind: layouts.GitHub, Owner: d.opt.Owner, Repository: d.opt.Name, Version: version, File: componentsFile}
	if d.enterprise() {
		l.Server = d.opt.ServerURL
	}
	return l.URL(), nil
}

// page returns the address of a release for people.
func (d *Repository) page(version string) string { return d.below("releases/tag/" + version) }

// link returns the address of a file for readers, the one that clusterctl uses
// (clusterctl: gitHubRepository.httpGetFilesFromRelease).
func (d *Repository) link(version, name string) string {
	return d.below("releases/download/" + version + "/" + name)
}

func (d *Repository) below(path string) string {
	return d.opt.ServerURL + (&url.URL{Path: "/" + d.full() + "/" + path}).EscapedPath()
}

// marker is a comment in the text of a draft by which a later run knows whose
// it is, what belongs into it, and at which commit its tag was to be created; the
// commit is empty if the tag was there.
type marker struct{ version, plan, tool, commit string }

const markerStart, atCommit, markerEnd = "<!-- clusterctl-repo release ", " at ", " -->"

func (m marker) String() string {
	at := ""
	if m.commit != "" {
		at = atCommit + m.commit
	}
	return markerStart + m.version + " plan " + m.plan + " by " + strings.ReplaceAll(m.tool, "--", "-") + at + markerEnd
}

func findMarker(text string) (m marker, ok bool) {
	_, rest, ok := strings.Cut(text, markerStart)
	if !ok {
		return marker{}, false
	}
	rest, _, ok = strings.Cut(rest, markerEnd)
	words := strings.Fields(rest)
	if !ok || len(words) < 4 || words[1] != "plan" || words[3] != "by" {
		return marker{}, false
	}
	m = marker{version: words[0], plan: words[2], tool: strings.Join(words[4:], " ")}
	if at := strings.LastIndex(m.tool, atCommit); at >= 0 {
		m.tool, m.commit = m.tool[:at], m.tool[at+len(atCommit):]
	}
	return m, true
}

// marked adds the comment to a text, in the place of one that it has.
func (m marker) marked(text string) string {
	if before, rest, ok := strings.Cut(text, markerStart); ok {
		if _, after, ok := strings.Cut(rest, markerEnd); ok {
			return before + m.String() + after
		}
	}
	if text = strings.TrimRight(text, "\r\n"); text != "" {
		text += "\n\n"
	}
	return text + m.String()
}
