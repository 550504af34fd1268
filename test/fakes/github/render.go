package github

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

type object = map[string]any

func stamp(t time.Time) any { return serve.Stamp(t, time.RFC3339) }

func nodeID(kind string, id int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + strconv.FormatInt(id, 10)))
}

// links fills in URLs that clients expect and do not follow.
func links(to object, base, names string) {
	to["url"] = base
	for name := range strings.FieldsSeq(names) {
		to[name+"_url"] = base + "/" + name
	}
}

const (
	userLinks       = "followers following gists starred subscriptions organizations repos events received_events"
	repositoryLinks = `archive assignees blobs branches collaborators comments commits compare contents contributors
		deployments downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys
		labels languages merges milestones notifications pulls releases stargazers statuses subscribers subscription
		tags teams trees`
)

func (c *call) user(login string) object {
	u := object{
		"login": login, "id": 1, "node_id": nodeID("User", 1), "gravatar_id": "", "type": "User", "site_admin": false,
		"avatar_url": c.place.web + "/avatars/" + login, "html_url": c.place.web + "/" + login,
	}
	links(u, c.place.api+"/users/"+login, userLinks)
	return u
}

func (c *call) renderRepository(r *repository) object {
	visibility := "public"
	if r.Private {
		visibility = "private"
	}
	web := c.place.web + "/" + r.fullName()
	when := stamp(r.head().Date)
	out := object{
		"id": r.id, "node_id": nodeID("Repository", r.id), "name": r.Name, "full_name": r.fullName(), "owner": c.user(r.Owner),
		"private": r.Private, "visibility": visibility, "html_url": web, "description": nil, "fork": false,
		"created_at": when, "updated_at": when, "pushed_at": when, "default_branch": "main", "archived": r.Archived, "disabled": false,
		"git_url": "git://" + r.fullName() + ".git", "ssh_url": "git@" + r.fullName() + ".git", "clone_url": web + ".git", "svn_url": web,
		"homepage": nil, "language": nil, "license": nil, "mirror_url": nil, "topics": []string{}, "size": 1,
		"has_issues": true, "has_projects": true, "has_wiki": true, "has_pages": false, "has_discussions": false, "has_downloads": true,
		"is_template": false, "allow_forking": true, "web_commit_signoff_required": false,
		"forks": 0, "forks_count": 0, "open_issues": 0, "open_issues_count": 0, "stargazers_count": 0, "watchers": 0, "watchers_count": 0,
		"network_count": 0, "subscribers_count": 0,
	}
	links(out, c.place.api+"/repos/"+r.fullName(), repositoryLinks)
	if c.token != nil {
		have := c.right(r)
		out["permissions"] = object{"admin": have >= Admin, "maintain": have >= Admin, "push": have >= Write, "triage": have >= Write, "pull": have >= Read}
	}
	return out
}

// shown is the tag in the addresses of a release. A draft has none that readers
// could guess.
func (r *release) shown() string {
	if r.Draft {
		return r.untagged
	}
	return r.Tag
}

func (c *call) renderRelease(repo *repository, r *release) object {
	api := fmt.Sprintf("%s/repos/%s/releases/%d", c.place.api, repo.fullName(), r.ID)
	assets := []object{}
	for _, a := range r.assets {
		assets = append(assets, c.renderAsset(repo, a))
	}
	out := object{
		"url": api, "assets_url": api + "/assets",
		"upload_url": fmt.Sprintf("%s/repos/%s/releases/%d/assets{?name,label}", c.place.upload, repo.fullName(), r.ID),
		"html_url":   c.place.web + "/" + repo.fullName() + "/releases/tag/" + url.PathEscape(r.shown()),
		"id":         r.ID, "node_id": nodeID("Release", r.ID), "author": c.user(r.Author),
		"tag_name": r.Tag, "target_commitish": cmp.Or(r.Target, "main"), "name": r.Name, "body": r.Body,
		"draft": r.Draft, "prerelease": r.Prerelease, "immutable": r.Immutable,
		"created_at": stamp(r.Created), "published_at": stamp(r.Published), "updated_at": stamp(r.updated), "assets": assets,
		"tarball_url": nil, "zipball_url": nil,
	}
	if r.Draft {
		out["published_at"] = nil
	} else {
		for _, kind := range []string{"tarball", "zipball"} {
			out[kind+"_url"] = c.place.api + "/repos/" + repo.fullName() + "/" + kind + "/" + url.PathEscape(r.Tag)
		}
	}
	return out
}

func (c *call) renderAsset(repo *repository, a *asset) object {
	var digest any
	if a.Digest != "" {
		digest = a.Digest
	}
	return object{
		"url": fmt.Sprintf("%s/repos/%s/releases/assets/%d", c.place.api, repo.fullName(), a.ID),
		"browser_download_url": c.place.web + "/" + repo.fullName() + "/releases/download/" + url.PathEscape(a.release.shown()) + "/" +
			url.PathEscape(a.Name),
		"id": a.ID, "node_id": nodeID("ReleaseAsset", a.ID), "name": a.Name, "label": a.Label, "state": a.State,
		"content_type": a.ContentType, "size": a.Size, "digest": digest, "download_count": 0,
		"created_at": stamp(a.created), "updated_at": stamp(a.updated), "uploader": c.user(a.uploader),
	}
}
