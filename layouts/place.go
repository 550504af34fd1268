package layouts

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// ProviderPlaceholder stands for the label of a provider in the name of a
// repository to publish to.
const ProviderPlaceholder = "{provider}"

// Place is a DEST taken apart: where releases are published to.
type Place struct {
	Kind LocationKind
	// Folder is the path of a Local place, with slashes, as it was written.
	Folder string
	// Server is the address of GitHub or GitLab, such as https://github.com,
	// without a slash at the end, or the host of an OCI registry.
	Server string
	// Name is OWNER/REPO on GitHub, the path of a project on GitLab, the
	// repository of an OCI registry. It may hold ProviderPlaceholder.
	Name string
	// Package is the generic package on GitLab; empty stands for one of each provider,
	// named by its label. It may hold ProviderPlaceholder.
	Package string
	// Version and File are what the release must have, if the DEST is the URL of a package.
	Version, File string
}

// Servers are the addresses of forges whose names do not tell what they are,
// such as https://code.example.com; empty if there are none.
type Servers struct{ GitHub, GitLab string }

// ParsePlace takes a DEST apart: a folder, file:///FOLDER,
// https://github.com/OWNER/REPO, https://gitlab.HOST/GROUP/PROJECT,
// oci://HOST/REPO, a project on one of the servers, or what the URL of a GitLab package
// begins with: https://gitlab.HOST/api/v4/projects/ID[/packages/generic/PACKAGE[/VERSION[/FILE]]].
func ParsePlace(raw string, servers Servers) (Place, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		if strings.HasPrefix(raw, "file:") {
			return Place{}, fmt.Errorf("%s: write file:/// and the absolute path", raw)
		}
		return Place{Kind: Local, Folder: raw}, nil
	}
	switch scheme {
	case "file":
		if !strings.HasPrefix(rest, "/") {
			return Place{}, fmt.Errorf("%s is not absolute; write file:/// and the path", raw)
		}
		u, err := url.Parse(raw)
		if err != nil {
			return Place{}, fmt.Errorf("%s: %w", raw, err)
		}
		return Place{Kind: Local, Folder: u.Path}, nil
	case "oci":
		l, err := parseOCI(raw, strings.ReplaceAll(strings.TrimSuffix(rest, "/"), ProviderPlaceholder, "provider"))
		if err != nil {
			return Place{}, err
		}
		if l.Version != "" {
			return Place{}, fmt.Errorf("%s: a destination must not have a tag; the version becomes the tag", raw)
		}
		host, name, _ := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
		return Place{Kind: OCI, Server: host, Name: name}, nil
	case "https", "http":
		return parseForge(raw, servers)
	}
	return Place{}, fmt.Errorf("%s: cannot publish to %s://; a destination is a folder, https://github.com/OWNER/REPO, https://gitlab.HOST/GROUP/PROJECT or oci://HOST/REPO", raw, scheme)
}

func parseForge(raw string, servers Servers) (Place, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Place{}, fmt.Errorf("destination: %w", err)
	}
	if u.User != nil {
		return Place{}, fmt.Errorf("%s: a destination must not have a user or password; tokens come from the environment", u.Redacted())
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return Place{}, fmt.Errorf("%s: a destination ends with the name of the project", raw)
	}
	if kind, _ := forge(u, servers); kind != GitHub && kind != GitLab {
		return Place{}, fmt.Errorf("%s: the host %s is unknown; a destination is https://github.com/OWNER/REPO, or a project on a host whose name begins with gitlab. or github., or on the one in GITHUB_SERVER_URL or CI_SERVER_URL", raw, u.Host)
	}
	kind, server, u, ok := onForge(raw, servers)
	if !ok {
		return Place{}, fmt.Errorf("%s: write https; nothing is sent without encryption", raw)
	}
	if rest, ok := strings.CutPrefix(u.EscapedPath(), gitLabAPIPrefix); ok && kind == GitLab {
		return parsePackage(raw, server, strings.TrimSuffix(rest, "/"))
	}
	name := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || part == "-" {
			return Place{}, fmt.Errorf("%s: %q is not a project name", raw, name)
		}
	}
	if kind == GitHub && len(parts) != 2 {
		return Place{}, fmt.Errorf("%s: the form is %s/OWNER/REPO", raw, server)
	}
	if kind == GitLab && (len(parts) < 2 || parts[0] == "api") {
		return Place{}, fmt.Errorf("%s: the form is %s/GROUP/PROJECT", raw, server)
	}
	return Place{Kind: kind, Server: server, Name: name}, nil
}

// parsePackage reads what follows the API of a GitLab in the URL of a package.
func parsePackage(raw, server, rest string) (Place, error) {
	const most = 6
	parts := strings.Split(rest, "/")
	fixed := append([]string{parts[0], "packages", "generic"}, parts[min(len(parts), 3):]...)
	project, err := url.PathUnescape(parts[0])
	if err != nil || len(parts) > most || len(parts) > 1 && (len(parts) < 4 || !slices.Equal(parts, fixed)) || slices.Contains(parts, "") {
		return Place{}, fmt.Errorf("%s: the form is %s%sID/packages/generic/PACKAGE, where ID is a number or the path of the project with %%2F for every slash", raw, server, gitLabAPIPrefix)
	}
	parts = append(parts, make([]string, most)...)
	out := Place{Kind: GitLab, Server: server, Name: project, Version: parts[4], File: parts[5]}
	out.Package, err = url.PathUnescape(parts[3])
	return out, err
}

// onForge takes an address on a forge apart: what kind that is, where it is, and the path below.
func onForge(raw string, servers Servers) (kind LocationKind, server string, u *url.URL, ok bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return Local, "", nil, false
	}
	kind, root := forge(u, servers)
	server = u.Scheme + "://" + u.Host
	if rest, ok := strings.CutPrefix(u.Path, "/"+root+"/"); ok && root != "" {
		server += "/" + root
		u.Path, u.RawPath = "/"+rest, strings.TrimPrefix(u.EscapedPath(), "/"+root)
	}
	return kind, server, u, kind != Local && (u.Scheme == "https" || server == servers.GitHub || server == servers.GitLab)
}

// forge tells which kind of server a URL leads to, and below which path the
// server is.
func forge(u *url.URL, servers Servers) (kind LocationKind, root string) {
	for _, s := range []struct {
		address string
		kind    LocationKind
	}{{servers.GitHub, GitHub}, {servers.GitLab, GitLab}} {
		known, err := url.Parse(s.address)
		if err == nil && s.address != "" && strings.EqualFold(known.Host, u.Host) {
			return s.kind, strings.Trim(known.Path, "/")
		}
	}
	host := strings.ToLower(u.Host)
	switch {
	case host == gitHubHost || strings.HasPrefix(host, "github."):
		return GitHub, ""
	case strings.HasPrefix(host, gitLabHostPrefix):
		return GitLab, ""
	}
	return Local, ""
}

// Shared reports whether all providers have the same place, so that those of
// one version are one release there.
func (p Place) Shared() bool {
	return (p.Kind == GitHub || p.Kind == OCI || p.Package != "") && !strings.Contains(p.Name+p.Package, ProviderPlaceholder)
}

// For returns the place of a provider, with its label put into the names.
func (p Place) For(label string) Place {
	p.Name = strings.ReplaceAll(p.Name, ProviderPlaceholder, label)
	p.Package = strings.ReplaceAll(p.Package, ProviderPlaceholder, label)
	return p
}

// InRelease reports whether a slash-separated path ends like a folder of a
// repository, LABEL/VERSION. In a source tree such a folder is the output of an
// earlier build, never a source.
func InRelease(dir string) bool {
	parent, version := path.Split(path.Clean(dir))
	if _, err := ParseVersion(version); err != nil {
		return false
	}
	_, err := ParseLabel(path.Base(parent))
	return err == nil && parent != ""
}
