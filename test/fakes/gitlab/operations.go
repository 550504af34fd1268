package gitlab

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/blob"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/bucket"
)

// operations lists everything that the server can do. The first one that matches
// counts.
func operations() []operation {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	all, users, personal := []Kind{Personal, Job, Deploy}, []Kind{Personal, Job}, []Kind{Personal}
	const p = "/projects/{project}"
	return []operation{
		{"upload-file", put, p + "/packages/generic/{package}/{version}/{file...}", all, true, (*call).upload},
		{"download-file", get, p + "/packages/generic/{package}/{version}/{file...}", all, true, (*call).download},
		{"list-packages", get, p + "/packages", users, false, (*call).listPackages},
		{"get-package", get, p + "/packages/{id}", users, false, (*call).getPackage},
		{"delete-package", del, p + "/packages/{id}", users, false, (*call).deletePackage},
		{"list-files", get, p + "/packages/{id}/package_files", users, false, (*call).listFiles},
		{"delete-file", del, p + "/packages/{id}/package_files/{file}", users, false, (*call).deleteFile},
		{"list-releases", get, p + "/releases", users, false, (*call).listReleases},
		{"create-release", post, p + "/releases", users, false, (*call).createRelease},
		{"get-release", get, p + "/releases/{tag}", users, false, (*call).getRelease},
		{"edit-release", put, p + "/releases/{tag}", users, false, (*call).editRelease},
		{"delete-release", del, p + "/releases/{tag}", users, false, (*call).deleteRelease},
		{"list-links", get, p + "/releases/{tag}/assets/links", users, false, (*call).listLinks},
		{"create-link", post, p + "/releases/{tag}/assets/links", users, false, (*call).createLink},
		{"get-link", get, p + "/releases/{tag}/assets/links/{link}", users, false, (*call).getLink},
		{"delete-link", del, p + "/releases/{tag}/assets/links/{link}", users, false, (*call).deleteLink},
		{"get-tag", get, p + "/repository/tags/{tag}", personal, false, (*call).getTag},
		{"get-commit", get, p + "/repository/commits/{sha}", personal, false, (*call).getCommit},
		{"get-project", get, p, personal, false, (*call).getProject},
		{"get-user", get, "/user", personal, false, (*call).getUser},
		{"get-token", get, "/personal_access_tokens/self", personal, false, (*call).getToken},
		{"get-version", get, "/version", personal, false, (*call).getVersion},
	}
}

// The states of a package.
const (
	statusDefault = "default"
	statusHidden  = "hidden"
	statusError   = "error"
	statusPending = "pending_destruction"
)

// installable are the states in which a package can be downloaded.
func installable() []string { return []string{statusDefault, statusHidden, "deprecated"} }

// listed are the states that lists show.
func listed() []string { return []string{statusDefault, "deprecated", statusError} }

// open finds the project of the path for a client with at least that role. For
// anyone who may not know of the project there is none. A wall says that
// strangers are asked to log in first, as the endpoints of generic packages do.
func (c *call) open(need Role, write, wall bool) (*project, reply, bool) {
	p := c.s.project(c.vars["project"])
	role := NoMember
	if p != nil {
		role = c.role(p)
	}
	public := p != nil && (!p.Private || p.PublicPackages && !write && strings.Contains(c.r.URL.Path, "/packages"))
	switch {
	case role == NoMember && !public && c.token == nil && wall:
		return nil, unauthorized(), false
	case role == NoMember && !public:
		return nil, failure(http.StatusNotFound, "404 Project Not Found"), false
	}
	if answer, ok := c.scope(write); !ok {
		return nil, answer, false
	}
	switch {
	case need > NoMember && c.token == nil:
		return nil, unauthorized(), false
	case role < need, write && p.Archived:
		return nil, failure(http.StatusForbidden, "403 Forbidden"), false
	}
	return p, reply{}, true
}

func bad(why string) reply { return reply{status: http.StatusBadRequest, body: object{"error": why}} }

// checkNames reports which parts of the path GitLab refuses.
func (c *call) checkNames() (fileName string, answer reply, ok bool) {
	path := strings.Split(c.vars["file"], "/")
	name := path[len(path)-1]
	var wrong []string
	traversal := func(s string) bool { return slices.Contains(strings.Split(s, "/"), "..") }
	if !matches(`[A-Za-z0-9._\-+]+`, c.vars["package"]) || traversal(c.vars["package"]) {
		wrong = append(wrong, "package_name is invalid")
	}
	if !matches(`[\w+.-]+`, c.vars["version"]) || strings.Contains(c.vars["version"], "..") {
		wrong = append(wrong, "package_version is invalid")
	}
	if !matches(`[A-Za-z0-9._\-+~@]+`, name) || strings.ContainsAny(name[:1]+name[len(name)-1:], "~@") || name == ".." {
		wrong = append(wrong, "file_name is invalid")
	}
	if slices.Contains(path[:len(path)-1], "..") || slices.Contains(path, "") {
		wrong = append(wrong, "path should be a valid file path")
	}
	if len(wrong) > 0 {
		return "", bad(strings.Join(wrong, ", ")), false
	}
	if len(path) > 1 {
		return url.QueryEscape(strings.Join(path, "/")), reply{}, true
	}
	return name, reply{}, true
}

func matches(pattern, s string) bool {
	return s != "" && regexp.MustCompile(`^(?:`+pattern+`)$`).MatchString(s)
}

// forbid reports whether the settings of the project refuse the upload, except
// for duplicates.
func (c *call) forbid(p *project) (reply, bool) {
	if p.NoPackages {
		return failure(http.StatusForbidden, "403 Forbidden"), true
	}
	for _, rule := range p.Protected {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(rule.Pattern), `\*`, `.*`)
		if matches(pattern, c.vars["package"]) && c.role(p) < rule.Role {
			return failure(http.StatusForbidden, "403 Forbidden - Package protected."), true
		}
	}
	return reply{}, false
}

func (p *project) duplicatesAllowed(name, version string) bool {
	except := p.except != nil && (p.except.MatchString(name) || p.except.MatchString(version))
	return p.NoDuplicates == except
}

// upload takes a file. The same name again makes a second file, and the last one
// is what readers get.
func (c *call) upload() reply {
	if c.token == nil {
		return unauthorized()
	}
	query := c.r.URL.Query()
	name, answer, ok := c.checkNames()
	if !ok {
		return answer
	}
	if s := query.Get("status"); query.Has("status") && s != statusDefault && s != statusHidden {
		return bad("status does not have a valid value")
	}
	if s := query.Get("select"); query.Has("select") && s != "package_file" {
		return bad("select does not have a valid value")
	}
	c.s.mu.Lock()
	p, answer, ok := c.open(Developer, true, true)
	if !ok {
		c.s.mu.Unlock()
		return answer
	}
	answer, no := c.forbid(p)
	existed := p.find(c.vars["package"], c.vars["version"], usable()) != nil
	c.s.mu.Unlock()
	if no {
		return answer
	}
	limit := cmp.Or(c.s.opts.MaxFileSize, 5<<30)
	if c.r.ContentLength > limit {
		return failure(http.StatusBadRequest, "400 Bad request - File is too large")
	}
	ctx := c.r.Context()
	b, err := c.s.blobs.Receive(http.MaxBytesReader(c.w, c.r.Body, limit), c.r.ContentLength, fault.Has(ctx, fault.WrongDigest))
	if err != nil {
		return failure(http.StatusBadRequest, "400 Bad request - File is too large")
	}
	return c.store(p, name, existed, b)
}

// usable are the states in which a package takes another file.
func usable() []string { return append(installable(), statusError, "processing") }

func (c *call) store(p *project, name string, existed bool, b *blob.Blob) reply {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	query := c.r.URL.Query()
	k := p.find(c.vars["package"], c.vars["version"], usable())
	if k != nil && !existed && c.s.opts.RaceFirstUploads {
		return failure(http.StatusInternalServerError, "500 Internal Server Error")
	}
	if k != nil && k.file(name) != nil && !p.duplicatesAllowed(k.Name, k.Version) {
		return failure(http.StatusBadRequest, "400 Bad request - Duplicate package is not allowed")
	}
	if k == nil {
		k = c.s.newPackage(p, c.vars["package"], c.vars["version"], statusDefault)
	}
	if query.Has("status") {
		k.Status = query.Get("status")
	}
	f := c.s.addFile(k, name, b)
	f.created = fault.Now(c.r.Context())
	if query.Get("select") == "package_file" {
		return reply{status: http.StatusOK, body: renderStored(k, f)}
	}
	return reply{status: http.StatusCreated, body: object{"message": "201 Created"}}
}

// download gives the last file of that name.
func (c *call) download() reply {
	name, answer, ok := c.checkNames()
	if !ok {
		return answer
	}
	c.s.mu.Lock()
	p, answer, ok := c.open(NoMember, false, true)
	if !ok {
		c.s.mu.Unlock()
		return answer
	}
	var f *file
	if k := p.find(c.vars["package"], c.vars["version"], installable()); k != nil {
		if f = k.file(name); f != nil {
			k.downloaded = time.Now()
		}
	}
	c.s.mu.Unlock()
	if f == nil {
		return failure(http.StatusNotFound, "404 Not Found")
	}
	h := c.w.Header()
	if c.s.opts.DirectDownload {
		storage, _ := c.s.storage(c.r)
		h.Set("Location", storage+c.s.bucket.Address(f.ID, f.Name))
		return reply{status: http.StatusFound}
	}
	h.Set("X-Checksum-Sha256", f.SHA256)
	h.Set("Content-Disposition", `attachment; filename="`+f.Name+`"`)
	bucket.Send(c.w, c.r, f.blob)
	return reply{done: true}
}

// object is the storage.
func (c *call) object() reply {
	c.s.bucket.Serve(c.w, c.r, func(id int64) *blob.Blob {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		return c.s.fileByID(id)
	})
	return reply{done: true}
}

// pages cuts a list as the query says and makes the headers.
func pages[T any](c *call, all []T, render func(T) any) reply {
	q := c.r.URL.Query()
	number := func(name string, otherwise int) int {
		n, err := strconv.Atoi(q.Get(name))
		if err != nil || n < 1 {
			return otherwise
		}
		return n
	}
	size, current := min(number("per_page", 20), 100), number("page", 1)
	last := max(1, (len(all)+size-1)/size)
	h := map[string]string{"X-Page": strconv.Itoa(current), "X-Per-Page": strconv.Itoa(size), "X-Total": strconv.Itoa(len(all)),
		"X-Total-Pages": strconv.Itoa(last), "X-Next-Page": "", "X-Prev-Page": ""}
	var link []string
	for _, l := range []struct {
		rel    string
		page   int
		header string
		when   bool
	}{
		{"prev", current - 1, "X-Prev-Page", current > 1},
		{"next", current + 1, "X-Next-Page", current < last},
		{"first", 1, "", true},
		{"last", last, "", true},
	} {
		if !l.when {
			continue
		}
		q.Set("page", strconv.Itoa(l.page))
		q.Set("per_page", strconv.Itoa(size))
		q.Del("private_token")
		link = append(link, "<"+c.base+strings.TrimPrefix(c.r.URL.EscapedPath(), c.s.opts.Root)+"?"+q.Encode()+`>; rel="`+l.rel+`"`)
		if l.header != "" {
			h[l.header] = strconv.Itoa(l.page)
		}
	}
	h["Link"] = strings.Join(link, ", ")
	from := min((current-1)*size, len(all))
	out := []any{}
	for _, x := range all[from:min(from+size, len(all))] {
		out = append(out, render(x))
	}
	return reply{status: http.StatusOK, body: out, header: h}
}

// listPackages finds packages. The name need only be a part of theirs.
func (c *call) listPackages() reply {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	p, answer, ok := c.open(NoMember, false, false)
	if !ok {
		return answer
	}
	q := c.r.URL.Query()
	states := listed()
	if q.Has("status") {
		states = []string{q.Get("status")}
		if !slices.Contains([]string{statusDefault, statusHidden, "processing", statusError, statusPending, "deprecated"}, states[0]) {
			return bad("status does not have a valid value")
		}
	}
	if t := q.Get("package_type"); t != "" && t != "generic" {
		return pages(c, []*pkg(nil), nil)
	}
	found := slices.DeleteFunc(slices.Clone(p.packages), func(k *pkg) bool {
		return !slices.Contains(states, k.Status) ||
			!strings.Contains(strings.ToLower(k.Name), strings.ToLower(q.Get("package_name"))) ||
			q.Get("package_version") != "" && k.Version != q.Get("package_version")
	})
	order := map[string]func(a, b *pkg) int{
		"name":    func(a, b *pkg) int { return cmp.Compare(a.Name, b.Name) },
		"version": func(a, b *pkg) int { return cmp.Compare(a.Version, b.Version) },
	}[q.Get("order_by")]
	if order != nil {
		slices.SortStableFunc(found, order)
	}
	if q.Get("sort") == "desc" {
		slices.Reverse(found)
	}
	return pages(c, found, func(k *pkg) any { return c.renderPackage(p, k) })
}

func (c *call) pkg(p *project) *pkg {
	for _, k := range p.packages {
		if strconv.FormatInt(k.ID, 10) == c.vars["id"] && k.Status != statusPending {
			return k
		}
	}
	return nil
}

// withPackage opens the package of the path.
func (c *call) withPackage(need Role, do func(*project, *pkg) reply) reply {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	p, answer, ok := c.open(need, need > NoMember, false)
	if !ok {
		return answer
	}
	k := c.pkg(p)
	if k == nil {
		return failure(http.StatusNotFound, "404 Not Found")
	}
	return do(p, k)
}

func (c *call) getPackage() reply {
	return c.withPackage(NoMember, func(p *project, k *pkg) reply {
		return reply{status: http.StatusOK, body: c.renderPackage(p, k)}
	})
}

func (c *call) deletePackage() reply {
	return c.withPackage(Maintainer, func(_ *project, k *pkg) reply {
		k.Status = statusPending
		return reply{status: http.StatusNoContent}
	})
}

func (c *call) listFiles() reply {
	return c.withPackage(NoMember, func(_ *project, k *pkg) reply {
		return pages(c, k.files, func(f *file) any { return renderFile(k, f) })
	})
}

func (c *call) deleteFile() reply {
	return c.withPackage(Maintainer, func(_ *project, k *pkg) reply {
		before := len(k.files)
		k.files = slices.DeleteFunc(k.files, func(f *file) bool { return strconv.FormatInt(f.ID, 10) == c.vars["file"] })
		if len(k.files) == before {
			return failure(http.StatusNotFound, "404 Not Found")
		}
		return reply{status: http.StatusNoContent}
	})
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

func (c *call) renderPackage(p *project, k *pkg) object {
	path := "/" + p.Path + "/-/packages/" + strconv.FormatInt(k.ID, 10)
	return object{
		"id": k.ID, "name": k.Name, "version": k.Version, "package_type": "generic", "status": k.Status, "created_at": stamp(k.Created),
		"last_downloaded_at": stamp(k.downloaded), "tags": []any{}, "pipelines": []any{},
		"_links": object{"web_path": path, "delete_api_path": c.base + api + "/projects/" + strconv.FormatInt(p.id, 10) + "/packages/" + strconv.FormatInt(k.ID, 10)},
	}
}

func renderFile(k *pkg, f *file) object {
	return object{"id": f.ID, "package_id": k.ID, "created_at": stamp(f.created), "file_name": f.Name, "size": f.Size,
		"file_md5": nil, "file_sha1": nil, "file_sha256": f.SHA256}
}

// renderStored is a file as the answer to its upload shows it.
func renderStored(k *pkg, f *file) object {
	out := renderFile(k, f)
	out["updated_at"], out["file_store"], out["status"] = out["created_at"], 1, statusDefault
	out["file"] = object{"url": nil}
	return out
}

func (c *call) getProject() reply {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	p, answer, ok := c.open(NoMember, false, false)
	if !ok {
		return answer
	}
	visibility, registry := "public", "enabled"
	if p.Private {
		visibility, registry = "private", "private"
	}
	if p.PublicPackages {
		registry = "public"
	}
	if p.NoPackages {
		registry = "disabled"
	}
	parts := strings.Split(p.Path, "/")
	name := parts[len(parts)-1]
	out := object{
		"id": p.id, "name": name, "path": name, "path_with_namespace": p.Path, "visibility": visibility, "default_branch": p.DefaultBranch,
		"web_url": c.base + "/" + p.Path, "archived": p.Archived, "packages_enabled": !p.NoPackages, "package_registry_access_level": registry,
		"created_at": stamp(time.Unix(0, 0)), "namespace": object{"full_path": strings.Join(parts[:len(parts)-1], "/")},
	}
	if c.token != nil {
		var access any
		if role := c.role(p); role > NoMember {
			access = object{"access_level": role, "notification_level": 3}
		}
		out["permissions"] = object{"project_access": access, "group_access": nil}
	}
	return reply{status: http.StatusOK, body: out}
}

func (c *call) getUser() reply {
	if c.token == nil {
		return unauthorized()
	}
	return reply{status: http.StatusOK, body: object{"id": 1, "username": c.token.User, "name": c.token.User, "state": "active"}}
}

func (c *call) getToken() reply {
	if c.token == nil {
		return unauthorized()
	}
	scopes := c.token.Scopes
	if len(scopes) == 0 {
		scopes = []string{"api"}
	}
	return reply{status: http.StatusOK, body: object{"id": 1, "name": "token", "revoked": false, "active": true, "scopes": scopes, "user_id": 1, "expires_at": nil}}
}

func (c *call) getVersion() reply {
	if c.token == nil {
		return unauthorized()
	}
	return reply{status: http.StatusOK, body: object{"version": cmp.Or(c.s.opts.Version, "17.5.0"), "revision": "fake"}}
}

func (c *call) decode(to any) (reply, bool) {
	kind := c.r.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "application/json") {
		return bad("the fake takes JSON only"), false
	}
	if err := json.NewDecoder(http.MaxBytesReader(c.w, c.r.Body, 1<<20)).Decode(to); err != nil {
		return bad("The request body is not valid JSON"), false
	}
	return reply{}, true
}
