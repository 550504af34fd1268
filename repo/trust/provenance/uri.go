package provenance

import (
	"fmt"
	"net/url"
	"strings"
)

// repositoryURI returns the URI of a git remote as SLSA and SPDX write it, with
// git+ before the way in which git reads it. It is empty if there is nothing to
// say to others: no remote, or a path of this machine.
func repositoryURI(remote string) string {
	host, path, ok := strings.Cut(remote, ":")
	if ok && len(host) > 1 && !strings.ContainsAny(host, "/\\") && !strings.HasPrefix(path, "//") {
		// git's short form of ssh, [USER@]HOST:PATH. A single letter is a drive.
		remote = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil || u.Host == "" {
		return ""
	}
	switch u.Scheme {
	case "https", "http", "ssh", "git":
		u.Scheme = "git+" + u.Scheme
	case "", "file", "git+file":
		return ""
	}
	return public(u)
}

// platformURI returns a URI of a build platform. What is the name of its place
// in messages.
func platformURI(what, uri string) (string, error) {
	if uri == "" {
		return "", nil
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
		// It may hold a token, so it is not repeated.
		return "", fmt.Errorf("the %s is not a URI, such as https://ci.example.com/runs/1", what)
	}
	return public(u), nil
}

// public leaves out what only the user of a URI should know: credentials, and
// what follows the path.
func public(u *url.URL) string {
	p := url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return p.String()
}
