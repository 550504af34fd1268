package cli

import (
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
)

// site opens a DEST. The delivery may be nil for reading.
func (a *app) site(name string, d *delivery) (publish.Site, error) {
	place, err := layouts.ParsePlace(name, a.servers())
	if err != nil {
		return publish.Site{}, usage(err)
	}
	if place.Kind == layouts.Local {
		folder, err := local.New(a.path(filepath.FromSlash(place.Folder)))
		if err != nil {
			return publish.Site{}, usage(err)
		}
		return folder.Site(), nil
	}
	return publish.Site{}, usagef("publishing to %s is not possible yet; publish to a folder and copy from there", name)
}

// destinationAt opens the place of a release on a server.
func (a *app) destinationAt(l layouts.Location) (publish.Destination, error) {
	return nil, usagef("%s: reading from %s is not possible yet; copy the release into a folder and name that", l.URL(), l.Kind)
}

// env returns the first of the variables that is set to something.
func (a *app) env(names ...string) string {
	for _, name := range names {
		if v, _ := a.Env(name); v != "" {
			return v
		}
	}
	return ""
}

// servers are the forges that the environment names, as the runners of GitHub
// and GitLab set them.
func (a *app) servers() layouts.Servers {
	return layouts.Servers{
		GitHub: strings.TrimSuffix(a.env("GITHUB_SERVER_URL"), "/"),
		GitLab: strings.TrimSuffix(a.env("CI_SERVER_URL", "GITLAB_SERVER_URL"), "/"),
	}
}
