package github

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// operations lists everything that the server can do. The first one that matches
// counts. What is below a repository is also found by the number of the
// repository, where renamed ones redirect to.
func operations() []operation {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	row := serve.Row[Right, *call]
	below := []operation{
		row("get-repository", roleAPI, get, "", Read, (*call).getRepository),
		row("list-releases", roleAPI, get, "/releases", Read, (*call).listReleases),
		row("create-release", roleAPI, post, "/releases", Write, (*call).createRelease),
		row("get-latest", roleAPI, get, "/releases/latest", Read, (*call).getLatest),
		row("get-release-by-tag", roleAPI, get, "/releases/tags/{tag...}", Read, (*call).getByTag),
		row("get-asset", roleAPI, get, "/releases/assets/{asset}", Read, (*call).getAsset),
		row("edit-asset", roleAPI, patch, "/releases/assets/{asset}", Write, (*call).editAsset),
		row("delete-asset", roleAPI, del, "/releases/assets/{asset}", Write, (*call).deleteAsset),
		row("get-release", roleAPI, get, "/releases/{release}", Read, (*call).getRelease),
		row("edit-release", roleAPI, patch, "/releases/{release}", Write, (*call).editRelease),
		row("delete-release", roleAPI, del, "/releases/{release}", Write, (*call).deleteRelease),
		row("list-assets", roleAPI, get, "/releases/{release}/assets", Read, (*call).listAssets),
		row("upload-asset", roleUpload, post, "/releases/{release}/assets", Write, (*call).upload),
		row("get-ref", roleAPI, get, "/git/ref/{ref...}", Read, (*call).getRef),
		row("delete-ref", roleAPI, del, "/git/refs/{ref...}", Write, (*call).deleteRef),
		row("get-tag-object", roleAPI, get, "/git/tags/{sha}", Read, (*call).getTagObject),
		row("get-commit", roleAPI, get, "/commits/{ref...}", Read, (*call).getCommit),
		row("get-immutable", roleAPI, get, "/immutable-releases", Admin, (*call).getImmutable),
	}
	out := []operation{
		row("graphql", roleAPI, post, "/graphql", None, (*call).graphql),
		row("download", roleWeb, get, "/{owner}/{repo}/releases/download/{tag}/{name}", Read, (*call).webDownload),
		row(serve.StorageStep, roleStorage, get, serve.ObjectPattern, None, (*call).storage),
	}
	for _, prefix := range []string{"/repos/{owner}/{repo}", "/repositories/{repository}"} {
		for _, o := range below {
			o.Pattern = prefix + o.Pattern
			out = append(out, o)
		}
	}
	return out
}

func (c *call) getRepository() reply {
	return serve.OK(c.renderRepository(c.repo))
}

// drafts reports whether the client sees drafts.
func (c *call) drafts() bool { return c.token != nil && c.right(c.repo) >= Write }

// page cuts a list as the query says and makes the Link header.
func page[T any](c *call, all []T) ([]T, string) {
	q := c.r.URL.Query()
	some, current, _, last := serve.Part(q, all, 30)
	base := c.place.api + "/repositories/" + strconv.FormatInt(c.repo.id, 10)
	if parts := strings.SplitN(c.place.path, "/", 5); parts[1] == "repos" && len(parts) == 5 {
		base += "/" + parts[4]
	} else if parts := strings.SplitN(c.place.path, "/", 4); len(parts) == 4 {
		base += "/" + parts[3]
	}
	var link []string
	add := func(rel string, n int, when bool) {
		if !when {
			return
		}
		q.Set("page", strconv.Itoa(n))
		link = append(link, fmt.Sprintf(`<%s?%s>; rel="%s"`, base, q.Encode(), rel))
	}
	add("prev", current-1, current > 1)
	add("next", current+1, current < last)
	add("last", last, current < last)
	add("first", 1, current > 1)
	return some, strings.Join(link, ", ")
}

func (c *call) listReleases() reply {
	drafts := c.drafts()
	seen := slices.DeleteFunc(slices.Clone(c.repo.releases), func(r *release) bool { return r.Draft && !drafts })
	slices.SortFunc(seen, func(a, b *release) int { return cmp.Compare(b.ID, a.ID) })
	some, link := page(c, seen)
	out := []object{}
	for _, r := range some {
		out = append(out, c.renderRelease(c.repo, r))
	}
	return reply{Status: http.StatusOK, Body: out, Link: link}
}

func (c *call) getRelease() reply { return c.show(c.release) }

// show describes a release, if there is one.
func (c *call) show(r *release) reply {
	if r == nil {
		return notFound()
	}
	return serve.OK(c.renderRelease(c.repo, r))
}

// getByTag never finds a draft.
func (c *call) getByTag() reply {
	return c.show(c.repo.byTag(c.vars["tag"], false))
}

func (c *call) getLatest() reply {
	return c.show(c.repo.latestRelease())
}

// latestRelease is the one that was made the latest, else the one with the
// youngest commit, else with the highest version.
func (r *repository) latestRelease() *release {
	if rel := r.byID(r.latest); rel != nil && !rel.Draft && !rel.Prerelease {
		return rel
	}
	var best *release
	for _, rel := range r.releases {
		if rel.Draft || rel.Prerelease || rel.notLatest {
			continue
		}
		if best == nil || cmp.Or(rel.Created.Compare(best.Created), compareVersions(rel.Tag, best.Tag)) > 0 {
			best = rel
		}
	}
	return best
}

// compareVersions compares the numbers in two tags.
func compareVersions(a, b string) int {
	numbers := func(s string) (out []int) {
		for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(f)
			out = append(out, n)
		}
		return out
	}
	return slices.Compare(numbers(a), numbers(b))
}

// fields are what clients send about a release. What they do not send stays.
type fields struct {
	Release
	MakeLatest   *string `json:"make_latest"`
	GenerateNote bool    `json:"generate_release_notes"`
}

// change reads what clients send about a release.
func (c *call) change(r Release) fields {
	f := fields{Release: r}
	c.decode(&f)
	return f
}

// checkTarget looks at the commit that the release is of.
func (c *call) checkTarget(r Release) {
	if _, exists := c.repo.tag(r.Tag); exists {
		return
	}
	commit, ok := c.repo.resolve(r.Target)
	if !ok {
		problems := []fieldError{{Resource: "Release", Code: "invalid", Field: "target_commitish"}}
		if !r.Draft {
			problems = append([]fieldError{
				{"Release", "custom", "tag_name", "tag_name is not a valid tag"},
				{Resource: "Release", Code: "custom", Message: "Published releases must have a valid tag"},
			}, problems...)
		}
		refuse(problems...)
	}
	if commit.Workflows && (c.token.Kind == Actions || !c.token.Workflows) {
		c.forbid()
	}
}

// checkTag refuses to publish a release whose tag cannot be used or made.
func (c *call) checkTag(r Release) {
	repo, must := c.repo, fieldError{Resource: "Release", Code: "custom", Message: "Published releases must have a valid tag"}
	for _, other := range repo.releases {
		if other.ID != r.ID && !other.Draft && other.Tag == r.Tag {
			refuse(fieldError{Resource: "Release", Code: "already_exists", Field: "tag_name"})
		}
	}
	restricted := fieldError{"Release", "custom", "pre_receive", "pre_receive Repository rule violations found\n\nCannot create ref due to creations being restricted.\n\n"}
	if repo.used[r.Tag] {
		refuse(restricted, fieldError{"Release", "custom", "tag_name", "tag_name was used by an immutable release"}, must)
	}
	if _, exists := repo.tag(r.Tag); exists {
		return
	}
	if slices.Contains(repo.ProtectedTags, r.Tag) {
		refuse(restricted, must)
	}
}

// publish makes a release visible, with its tag if that does not exist yet.
func (c *call) publish(r *release, makeLatest *string) {
	repo := c.repo
	tag, exists := repo.tag(r.Tag)
	if !exists {
		commit, _ := repo.resolve(r.Target)
		tag = Tag{Name: r.Tag, SHA: commit.SHA}
		repo.Tags = append(repo.Tags, tag)
	}
	if commit, ok := repo.commit(tag.SHA); ok {
		r.Created = commit.Date
	}
	r.Draft, r.Immutable = false, repo.Immutable
	r.Published = fault.Now(c.r.Context())
	if r.Immutable {
		repo.used[r.Tag] = true
	}
	c.makeLatest(r, makeLatest, true)
}

func (c *call) makeLatest(r *release, how *string, fresh bool) {
	switch no := how != nil && *how == "false"; {
	case r.Draft || r.Prerelease || no:
		if c.repo.latest == r.ID {
			c.repo.latest = 0
		}
		r.notLatest = r.notLatest || no
	case how != nil || fresh:
		c.repo.latest, r.notLatest = r.ID, false
	}
}

func (c *call) createRelease() reply {
	f := c.change(Release{Author: c.token.User})
	r := f.Release
	if r.Tag == "" {
		refuse(fieldError{Resource: "Release", Code: "missing_field", Field: "tag_name"})
	}
	c.checkTarget(r)
	if f.GenerateNote {
		r.Name = cmp.Or(r.Name, r.Tag)
		r.Body = strings.TrimSpace(r.Body + "\n\n" + c.notes(r.Tag))
	}
	if !r.Draft {
		c.checkTag(r)
	}
	rel := c.s.newRelease(c.repo, r)
	rel.updated = fault.Now(c.r.Context())
	if !r.Draft {
		c.publish(rel, f.MakeLatest)
	}
	body := c.renderRelease(c.repo, rel)
	return reply{Status: http.StatusCreated, Body: body, Location: body["url"].(string)}
}

func (c *call) editRelease() reply {
	rel := c.release
	before := rel.Release
	f := c.change(before)
	r := f.Release
	if before.Immutable && (r.Draft || r.Tag != before.Tag || r.Target != before.Target) {
		return unprocessable("Cannot edit an immutable release.")
	}
	if r.Tag != before.Tag || r.Target != before.Target || before.Draft {
		c.checkTarget(r)
	}
	if !r.Draft && (before.Draft || r.Tag != before.Tag) {
		c.checkTag(r)
		rel.Release = r
		c.publish(rel, f.MakeLatest)
	} else {
		rel.Release = r
		c.makeLatest(rel, f.MakeLatest, false)
	}
	rel.updated = fault.Now(c.r.Context())
	return serve.OK(c.renderRelease(c.repo, rel))
}

func (c *call) deleteRelease() reply {
	rel := c.release
	c.repo.remove(rel.ID)
	return reply{Status: http.StatusNoContent}
}

func (c *call) notes(tag string) string {
	return "**Full Changelog**: " + c.place.web + "/" + c.repo.fullName() + "/commits/" + tag
}

func (c *call) listAssets() reply {
	rel := c.release
	some, link := page(c, rel.assets)
	out := []object{}
	for _, a := range some {
		out = append(out, c.renderAsset(c.repo, a))
	}
	return reply{Status: http.StatusOK, Body: out, Link: link}
}

// AssetName returns the name that GitHub gives to an asset that is uploaded under
// that name.
func AssetName(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_+", r):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "."):
			b.WriteByte('.')
		}
	}
	return cmp.Or(strings.Trim(b.String(), "."), "default")
}

const cannotUpload = "Cannot upload assets to an immutable release."

var taken = fieldError{Resource: "ReleaseAsset", Code: "already_exists", Field: "name"}

// upload takes the bytes of an asset. The name is taken from the first moment;
// an upload that breaks off leaves an asset in the state starter.
func (c *call) upload() reply {
	length := c.r.ContentLength
	if length <= 0 {
		return failure(http.StatusBadRequest, "Bad Content-Length")
	}
	query := c.r.URL.Query()
	if query.Get("name") == "" {
		refuse(fieldError{Resource: "ReleaseAsset", Code: "missing_field", Field: "name"})
	}
	a := c.reserve(AssetName(query.Get("name")), query.Get("label"))
	ctx := c.r.Context()
	if fault.Has(ctx, fault.Starter) {
		return failure(http.StatusBadGateway, "Server Error")
	}
	var b *serve.Blob
	var err error
	c.s.Unlocked(func() { b, err = serve.Receive(c.r.Body, length, fault.Has(ctx, fault.WrongDigest)) })
	if err != nil {
		return failure(http.StatusBadGateway, "Server Error")
	}
	if !slices.Contains(a.release.assets, a) {
		return notFound()
	}
	if a.release.Immutable {
		return unprocessable(cannotUpload)
	}
	a.finish(b, c.s.opts.NoDigests)
	a.updated = fault.Now(ctx)
	body := c.renderAsset(c.repo, a)
	return reply{Status: http.StatusCreated, Body: body, Location: body["url"].(string)}
}

func (a *asset) finish(b *serve.Blob, noDigest bool) {
	a.blob, a.Size, a.State = b, b.Size, Uploaded
	if !noDigest {
		a.Digest = "sha256:" + b.SHA256
	}
}

func (c *call) reserve(name, label string) *asset {
	rel := c.release
	switch {
	case rel.Immutable:
		serve.Refuse(unprocessable(cannotUpload))
	case rel.asset(name) != nil:
		refuse(taken)
	}
	now := fault.Now(c.r.Context())
	a := &asset{release: rel, uploader: c.token.User, created: now, updated: now}
	a.Asset = Asset{ID: c.s.NextID(), Name: name, Label: label, State: Starter, ContentType: cmp.Or(c.r.Header.Get("Content-Type"), "application/octet-stream")}
	rel.assets = append(rel.assets, a)
	return a
}

// getAsset describes an asset or, if the client asks for that, gives its bytes.
func (c *call) getAsset() reply {
	a := c.asset
	if !strings.Contains(c.r.Header.Get("Accept"), "application/octet-stream") {
		return serve.OK(c.renderAsset(c.repo, a))
	}
	if a.State != Uploaded {
		return notFound()
	}
	if !c.s.opts.Direct {
		return reply{Status: http.StatusFound, Location: c.signed(a)}
	}
	b := a.blob
	c.w.Header().Set("Content-Disposition", "attachment; filename="+a.Name)
	c.s.Unlocked(func() { serve.Send(c.w, c.r, b) })
	return reply{Done: true}
}

// signed returns the address of the bytes.
func (c *call) signed(a *asset) string { return c.place.storage + c.s.Bucket.Address(a.ID, a.Name) }

func (c *call) storage() reply {
	return c.s.Object(c.w, c.r, func(id int64) *serve.Blob {
		if a := c.s.assetByID(id); a != nil {
			return a.blob
		}
		return nil
	})
}

func (c *call) editAsset() reply {
	a := c.asset
	f := struct {
		Name  string `json:"name"`
		Label string `json:"label"`
	}{a.Name, a.Label}
	c.decode(&f)
	if a.release.Immutable {
		return unprocessable("Cannot update assets of an immutable release.")
	}
	if f.Name = AssetName(f.Name); f.Name != a.Name && a.release.asset(f.Name) != nil {
		refuse(taken)
	}
	a.Name, a.Label = f.Name, f.Label
	a.updated = fault.Now(c.r.Context())
	return serve.OK(c.renderAsset(c.repo, a))
}

func (c *call) deleteAsset() reply {
	a := c.asset
	if a.release.Immutable {
		return unprocessable("Cannot delete asset from an immutable release.")
	}
	rel := a.release
	rel.assets = slices.DeleteFunc(rel.assets, func(x *asset) bool { return x == a })
	return reply{Status: http.StatusNoContent}
}

// getRef answers refs/tags.
func (c *call) getRef() reply {
	name, tags := strings.CutPrefix(c.vars["ref"], "tags/")
	t, ok := c.repo.tag(name)
	if !tags || !ok {
		return notFound()
	}
	sha, what := t.SHA, "commit"
	if t.Annotated {
		sha, what = AnnotatedSHA(c.repo.fullName(), name), "tag"
	}
	api := c.place.api + "/repos/" + c.repo.fullName() + "/git/"
	return serve.OK(object{
		"ref": "refs/" + c.vars["ref"], "node_id": nodeID("Ref", 1), "url": api + "refs/" + c.vars["ref"],
		"object": object{"sha": sha, "type": what, "url": api + what + "s/" + sha},
	})
}

// deleteRef removes a tag. The release of the tag becomes a draft.
func (c *call) deleteRef() reply {
	name, ok := strings.CutPrefix(c.vars["ref"], "tags/")
	_, exists := c.repo.tag(name)
	if !ok || !exists {
		return unprocessable("Reference does not exist")
	}
	if rel := c.repo.byTag(name, false); rel != nil {
		if rel.Immutable {
			return unprocessable("Repository rule violations found\n\nCannot delete this tag")
		}
		rel.Draft = true
	}
	c.repo.Tags = slices.DeleteFunc(c.repo.Tags, func(t Tag) bool { return t.Name == name })
	return reply{Status: http.StatusNoContent}
}

func (c *call) getTagObject() reply {
	for _, t := range c.repo.Tags {
		if t.Annotated && AnnotatedSHA(c.repo.fullName(), t.Name) == c.vars["sha"] {
			api := c.place.api + "/repos/" + c.repo.fullName() + "/git/"
			return serve.OK(object{
				"node_id": nodeID("Tag", 1), "tag": t.Name, "sha": c.vars["sha"], "url": api + "tags/" + c.vars["sha"], "message": t.Name,
				"tagger": object{"name": "x", "email": "x@example.com", "date": stamp(c.repo.head().Date)},
				"object": object{"sha": t.SHA, "type": "commit", "url": api + "commits/" + t.SHA},
			})
		}
	}
	return notFound()
}

func (c *call) getCommit() reply {
	commit, ok := c.repo.resolve(c.vars["ref"])
	if !ok {
		return unprocessable("No commit found for SHA: " + c.vars["ref"])
	}
	// No client wants more than its name.
	c.w.Header().Set("Content-Type", "application/vnd.github.sha")
	fmt.Fprint(c.w, commit.SHA)
	return reply{Done: true}
}

// getImmutable says that the setting is on, or is not found.
func (c *call) getImmutable() reply {
	if !c.repo.Immutable || c.place.enterprise {
		return notFound()
	}
	return serve.OK(object{"enabled": true, "enforced_by_owner": false})
}

// visible finds a public repository by the path. People have no token in the
// address bar.
func (c *call) visible() *repository {
	repo, former := c.s.repo(c.vars["owner"] + "/" + c.vars["repo"])
	if repo == nil || repo.Private {
		serve.Refuse(c.page404())
	}
	if former {
		parts := strings.SplitN(c.place.path, "/", 4)
		serve.Refuse(reply{Status: http.StatusMovedPermanently, Location: c.place.web + "/" + repo.fullName() + "/" + parts[3]})
	}
	return repo
}

func (c *call) page404() reply {
	http.Error(c.w, "Not Found", http.StatusNotFound)
	return reply{Done: true}
}

func (c *call) webDownload() reply {
	if rel := c.visible().byTag(c.vars["tag"], false); rel != nil {
		if a := rel.asset(c.vars["name"]); a != nil && a.State == Uploaded {
			return reply{Status: http.StatusFound, Location: c.signed(a)}
		}
	}
	return c.page404()
}

// graphql answers the two questions that gh has about releases.
func (c *call) graphql() reply {
	var q struct {
		Query     string
		Variables map[string]json.RawMessage
	}
	c.decode(&q)
	text := func(name string) (s string) { _ = json.Unmarshal(q.Variables[name], &s); return s }
	repo, _ := c.s.repo(text("owner") + "/" + text("name"))
	if c.token == nil || repo == nil {
		return notFound()
	}
	c.repo = repo
	asked, _, _ := strings.Cut(strings.TrimPrefix(q.Query, "query "), "(")
	switch asked {
	case "RepositoryReleaseByTag":
		rel := repo.byTag(text("tagName"), false)
		if rel == nil && c.drafts() {
			rel = repo.byTag(text("tagName"), true)
		}
		var body any
		if rel != nil {
			body = object{"databaseId": rel.ID, "isDraft": rel.Draft}
		}
		return serve.OK(object{"data": object{"repository": object{"release": body}}})
	case "RepositoryReleaseList":
		nodes := []object{}
		for _, rel := range slices.Backward(repo.releases) {
			if rel.Draft && !c.drafts() {
				continue
			}
			node := object{"name": rel.Name, "tagName": rel.Tag, "isDraft": rel.Draft, "isPrerelease": rel.Prerelease,
				"isLatest": rel == repo.latestRelease(), "isImmutable": rel.Immutable, "createdAt": stamp(rel.Created), "publishedAt": stamp(rel.Published)}
			// Clients of different age ask for different fields.
			maps.DeleteFunc(node, func(field string, _ any) bool { return !strings.Contains(q.Query, field) })
			nodes = append(nodes, node)
		}
		return reply{Status: http.StatusOK, Body: object{"data": object{"repository": object{"releases": object{
			"nodes": nodes, "pageInfo": object{"hasNextPage": false, "endCursor": ""}}}}}}
	}
	return serve.OK(object{"errors": []object{{"message": "the fake does not know the query " + asked}}})
}
