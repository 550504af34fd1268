package gitlab

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// operations lists everything that the server can do. The first one that matches
// counts.
func operations() []operation {
	const get, put, del = http.MethodGet, http.MethodPut, http.MethodDelete
	files := func(role Role) access { return access{[]Kind{Personal, Job, Deploy}, true, role} }
	users := func(role Role) access { return access{tokens: []Kind{Personal, Job}, role: role} }
	personal := access{tokens: []Kind{Personal}}
	const p = "/projects/{project}"
	row := serve.Row[access, *call]
	return []operation{
		row("upload-file", 0, put, p+"/packages/generic/{package}/{version}/{file}", files(Developer), (*call).upload),
		row("download-file", 0, get, p+"/packages/generic/{package}/{version}/{file}", files(NoMember), (*call).download),
		row("list-packages", 0, get, p+"/packages", users(NoMember), (*call).listPackages),
		row("delete-package", 0, del, p+"/packages/{id}", users(Maintainer), (*call).deletePackage),
		row("list-files", 0, get, p+"/packages/{id}/package_files", users(NoMember), (*call).listFiles),
		row("delete-file", 0, del, p+"/packages/{id}/package_files/{file}", users(Maintainer), (*call).deleteFile),
		row("get-project", 0, get, p, personal, (*call).getProject),
		row("get-user", 0, get, "/user", personal, (*call).getUser),
		row("get-version", 0, get, "/version", personal, (*call).getVersion),
		row(serve.StorageStep, 1, get, serve.ObjectPattern, access{}, (*call).object),
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

// open finds the project of the path for a client with at least that role, and what
// the path names in it. For anyone who may not know of the project there is none.
func (c *call) open(need access) {
	p, role, write := c.s.project(c.vars["project"]), NoMember, need.role > NoMember
	if p != nil {
		role = c.role(p)
	}
	public := p != nil && (!p.Private || p.PublicPackages && !write && strings.Contains(c.r.URL.Path, "/packages"))
	switch {
	case role == NoMember && !public && c.token == nil && need.wall:
		unauthorized()
	case role == NoMember && !public:
		refuse(http.StatusNotFound, "404 Project Not Found")
	}
	c.scope(write)
	switch {
	case write && c.token == nil:
		unauthorized()
	case role < need.role, write && p.Archived:
		refuse(http.StatusForbidden, "403 Forbidden")
	}
	c.project = p
	named := func(k *pkg) bool { return strconv.FormatInt(k.ID, 10) == c.vars["id"] && k.Status != statusPending }
	c.pkg, _ = serve.First(p.packages, named)
	if c.vars["id"] != "" && c.pkg == nil {
		notFound()
	}
}

// fileName is the name of a file in the path, if GitLab refuses no part of that.
func (c *call) fileName() string {
	name := c.vars["file"]
	for what, ok := range map[string]bool{
		"package_name":    matches(`[A-Za-z0-9._\-+]+`, c.vars["package"]),
		"package_version": matches(`[\w+.-]+`, c.vars["version"]) && !strings.Contains(c.vars["version"], ".."),
		"file_name":       matches(`[A-Za-z0-9._\-+]([A-Za-z0-9._\-+~@]*[A-Za-z0-9._\-+])?`, name) && name != "..",
	} {
		if !ok {
			bad(what + " is invalid")
		}
	}
	return name
}

func matches(pattern, s string) bool {
	return s != "" && regexp.MustCompile(`^(?:`+pattern+`)$`).MatchString(s)
}

// checkSettings applies the settings of the project to an upload, except for duplicates.
func (c *call) checkSettings(p *project) {
	if p.NoPackages {
		refuse(http.StatusForbidden, "403 Forbidden")
	}
	for _, rule := range p.Protected {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(rule.Pattern), `\*`, `.*`)
		if matches(pattern, c.vars["package"]) && c.role(p) < rule.Role {
			refuse(http.StatusForbidden, "403 Forbidden - Package protected.")
		}
	}
}

// upload takes a file. The same name again makes a second file, and the last one
// is what readers get.
func (c *call) upload() reply {
	p, name := c.project, c.fileName()
	c.checkSettings(p)
	limit := cmp.Or(c.s.opts.MaxFileSize, 5<<30)
	var b *serve.Blob
	err := errTooLarge
	if c.r.ContentLength <= limit {
		c.s.Unlocked(func() {
			body := http.MaxBytesReader(c.w, c.r.Body, limit)
			b, err = serve.Receive(body, c.r.ContentLength, fault.Has(c.r.Context(), fault.WrongDigest))
		})
	}
	if err != nil {
		refuse(http.StatusBadRequest, "400 Bad request - File is too large")
	}
	return c.store(p, name, b)
}

var errTooLarge = errors.New("it is too large")

// usable are the states in which a package takes another file.
func usable() []string { return append(installable(), statusError, "processing") }

func (c *call) store(p *project, name string, b *serve.Blob) reply {
	query := c.r.URL.Query()
	k := p.find(c.vars["package"], c.vars["version"], usable())
	if k != nil && k.file(name) != nil && p.NoDuplicates {
		refuse(http.StatusBadRequest, "400 Bad request - Duplicate package is not allowed")
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
		return serve.OK(renderStored(k, f))
	}
	return reply{Status: http.StatusCreated, Body: object{"message": "201 Created"}}
}

// download gives the last file of that name.
func (c *call) download() reply {
	name := c.fileName()
	k := c.project.find(c.vars["package"], c.vars["version"], installable())
	f := k.file(name)
	if f == nil {
		notFound()
	}
	k.downloaded = time.Now()
	if c.s.opts.DirectDownload {
		storage, _ := c.s.storage(c.r)
		return reply{Status: http.StatusFound, Location: storage + c.s.Bucket.Address(f.ID, f.Name)}
	}
	h := c.w.Header()
	h.Set("X-Checksum-Sha256", f.SHA256)
	h.Set("Content-Disposition", `attachment; filename="`+f.Name+`"`)
	c.s.Unlocked(func() { serve.Send(c.w, c.r, f.blob) })
	return reply{Done: true}
}

// object is the storage.
func (c *call) object() reply { return c.s.Object(c.w, c.r, c.s.fileByID) }

// pages cuts a list as the query says and makes the headers.
func pages[T any](c *call, all []T, render func(T) any) reply {
	q := c.r.URL.Query()
	some, current, size, last := serve.Part(q, all, 20)
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
	out := []any{}
	for _, x := range some {
		out = append(out, render(x))
	}
	return reply{Status: http.StatusOK, Body: out, Header: h}
}

// listPackages finds packages. The name need only be a part of theirs.
func (c *call) listPackages() reply {
	p := c.project
	q := c.r.URL.Query()
	states := listed()
	if q.Has("status") {
		states = []string{q.Get("status")}
	}
	found := slices.DeleteFunc(slices.Clone(p.packages), func(k *pkg) bool {
		return !slices.Contains(states, k.Status) ||
			!strings.Contains(strings.ToLower(k.Name), strings.ToLower(q.Get("package_name"))) ||
			q.Get("package_version") != "" && k.Version != q.Get("package_version")
	})
	return pages(c, found, func(k *pkg) any { return c.renderPackage(p, k) })
}

func (c *call) deletePackage() reply {
	c.pkg.Status = statusPending
	return reply{Status: http.StatusNoContent}
}

func (c *call) listFiles() reply {
	return pages(c, c.pkg.files, func(f *file) any { return renderFile(c.pkg, f) })
}

func (c *call) deleteFile() reply {
	before := len(c.pkg.files)
	c.pkg.files = slices.DeleteFunc(c.pkg.files, func(f *file) bool { return strconv.FormatInt(f.ID, 10) == c.vars["file"] })
	if len(c.pkg.files) == before {
		notFound()
	}
	return reply{Status: http.StatusNoContent}
}

func stamp(t time.Time) any { return serve.Stamp(t, "2006-01-02T15:04:05.000Z07:00") }

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
	p := c.project
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
		"id": p.id, "name": name, "path": name, "path_with_namespace": p.Path, "visibility": visibility, "default_branch": "main",
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
	return serve.OK(out)
}

// known refuses those who do not say who they are.
func (c *call) known() {
	if c.token == nil {
		unauthorized()
	}
}

func (c *call) getUser() reply {
	c.known()
	return serve.OK(object{"id": 1, "username": c.token.User, "name": c.token.User, "state": "active"})
}

func (c *call) getVersion() reply {
	c.known()
	return serve.OK(object{"version": "17.5.0", "revision": "fake"})
}
