package open

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
)

// staticScheme begins a DEST that is a folder for a web server, static:DIR.
const staticScheme = "static:"

// StaticFolder is where the releases are in it: clusterctl asks a host whose
// name begins with gitlab. for them there, and needs no more of GitLab than the
// files (clusterctl: NewGitLabRepository).
const StaticFolder = "api/v4/projects/1/packages/generic"

// Static returns the folder of the releases in static:DIR, and whether the name
// has that form.
func Static(name string) (folder string, ok bool) {
	dir, ok := strings.CutPrefix(name, staticScheme)
	if !ok || dir == "" {
		return "", false
	}
	return filepath.Join(filepath.FromSlash(dir), filepath.FromSlash(StaticFolder)), true
}

// Served returns the destination with the URLs under which a web server at the
// address shows the folder DIR of static:DIR. Without an address, URL fails. The
// error says why clusterctl would not read from there.
func Served(d publish.Destination, label, address string) (publish.Destination, error) {
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
			strings.Trim(u.Path, "/") != "" || !strings.HasPrefix(u.Host, "gitlab.") {
			return nil, fmt.Errorf("the address %q must have the form https://gitlab.HOST: clusterctl reads web servers only under such names, over https and without a path", address)
		}
	}
	return served{d, label, strings.TrimRight(address, "/")}, nil
}

type served struct {
	publish.Destination
	label, address string
}

func (s served) URL(version, componentsFile string) (string, error) {
	switch {
	case s.address == "":
		return "", errors.New("the address of the web server is unknown; pass it with --url, such as --url https://gitlab.example.com")
	case version == layouts.Latest:
		return "", errors.New("clusterctl cannot ask a web server for the latest version; name a version (--pin)")
	}
	if _, err := s.Destination.URL(version, componentsFile); err != nil {
		return "", err
	}
	return s.address + "/" + StaticFolder + "/" + s.label + "/" + version + "/" + componentsFile, nil
}

// static returns static:DIR as a place to publish to.
func (p *Places) static(name, folder, address string) (publish.Site, error) {
	if _, err := Served(nil, "", address); err != nil {
		return publish.Site{}, err
	}
	at, err := local.New(p.path(folder))
	if err != nil {
		return publish.Site{}, err
	}
	site := at.Site()
	of := site.Of
	site.Name = name
	site.Of = func(provider layouts.Provider) (publish.Destination, error) {
		d, err := of(provider)
		if err != nil {
			return nil, err
		}
		return Served(d, provider.Label(), address)
	}
	return site, nil
}
