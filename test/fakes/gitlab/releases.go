package gitlab

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// linkFields are what clients send about a link.
type linkFields struct {
	Name, URL string
	Direct    string `json:"direct_asset_path"`
	Type      string `json:"link_type"`
}

type releaseFields struct {
	Tag                    string `json:"tag_name"`
	Name, Description, Ref string
	Assets                 struct{ Links []linkFields }
}

func (p *project) release(tag string) *Release {
	found, _ := serve.First(p.releases, func(r *Release) bool { return r.Tag == tag })
	return found
}

func (c *call) listReleases() reply {
	p := c.project
	all := slices.Clone(p.releases)
	slices.Reverse(all)
	return pages(c, all, func(r *Release) any { return c.renderRelease(r) })
}

func (c *call) createRelease() reply {
	var f releaseFields
	c.decode(&f)
	p := c.project
	sha, exists := p.Tags[f.Tag]
	if !exists {
		if f.Tag == "" || f.Ref != "main" && f.Ref != headSHA {
			refuse(http.StatusBadRequest, "Failed to create tag '%s': invalid reference name '%s'.", f.Tag, f.Ref)
		}
		sha = headSHA
	}
	if p.release(f.Tag) != nil {
		refuse(http.StatusConflict, "Release already exists")
	}
	r := &Release{Tag: f.Tag, Name: cmp.Or(f.Name, f.Tag), Description: f.Description, Commit: sha, Created: fault.Now(c.r.Context())}
	for _, l := range f.Assets.Links {
		c.addLink(r, l)
	}
	p.Tags[f.Tag] = sha
	p.releases = append(p.releases, r)
	return reply{Status: http.StatusCreated, Body: c.renderRelease(r)}
}

func (c *call) getRelease() reply { return serve.OK(c.renderRelease(c.release)) }

// addLink adds a link. Names, addresses and paths are there only once.
func (c *call) addLink(r *Release, f linkFields) {
	if f.Name == "" || f.URL == "" {
		bad("name, url is missing")
	}
	for _, other := range r.Links {
		if f.Name == other.Name || f.URL == other.URL || f.Direct != "" && f.Direct == other.Direct {
			bad("a link has already been taken")
		}
	}
	r.Links = append(r.Links, Link{ID: c.s.NextID(), Name: f.Name, URL: f.URL, Direct: f.Direct, Type: cmp.Or(f.Type, "other")})
}

func (c *call) listLinks() reply {
	r := c.release
	return pages(c, r.Links, func(l Link) any { return c.renderLink(r, l) })
}

func (c *call) createLink() reply {
	var f linkFields
	c.decode(&f)
	r := c.release
	c.addLink(r, f)
	return reply{Status: http.StatusCreated, Body: c.renderLink(r, r.Links[len(r.Links)-1])}
}

func (c *call) renderLink(r *Release, l Link) object {
	direct := l.URL
	if l.Direct != "" {
		direct = c.base + "/" + c.project.Path + "/-/releases/" + url.PathEscape(r.Tag) + "/downloads" + l.Direct
	}
	return object{"id": l.ID, "name": l.Name, "url": l.URL, "direct_asset_url": direct, "link_type": l.Type}
}

func (c *call) renderCommit(sha string) object {
	return object{"id": sha, "short_id": sha[:min(8, len(sha))], "title": "x", "message": "x", "created_at": "2026-01-02T03:04:05.000Z"}
}

func (c *call) renderRelease(r *Release) object {
	links := []object{}
	for _, l := range slices.Backward(r.Links) {
		links = append(links, c.renderLink(r, l))
	}
	return object{
		"tag_name": r.Tag, "name": r.Name, "description": r.Description, "created_at": stamp(r.Created), "released_at": stamp(r.Created),
		"upcoming_release": false, "author": object{"id": 1, "username": "publisher", "name": "publisher", "state": "active"},
		"commit": c.renderCommit(r.Commit), "assets": object{"count": len(links) + 4, "sources": []object{}, "links": links},
		"_links": object{"self": c.base + "/" + c.project.Path + "/-/releases/" + url.PathEscape(r.Tag)},
	}
}

func (c *call) getTag() reply {
	sha, ok := c.project.Tags[c.vars["name"]]
	if !ok {
		refuse(http.StatusNotFound, "404 Tag Not Found")
	}
	return serve.OK(object{"name": c.vars["name"], "target": sha, "message": "", "protected": false, "release": nil, "commit": c.renderCommit(sha)})
}
