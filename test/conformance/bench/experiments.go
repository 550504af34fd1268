package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// experiment is a part of the report.
type experiment struct {
	name string
	run  func(*bench, context.Context) error
}

var experiments = []experiment{
	{"github", (*bench).gitHub},
	{"gitlab", (*bench).gitLab},
	{"oci", (*bench).oci},
	{"memory", (*bench).memory},
	{"mirror", (*bench).mirror},
}

// load is a release to publish. The numbers are those of the files beside
// metadata and components.
type load struct {
	name        string
	files, size int
}

// GitHub takes 80 files in a minute, so clusterctl-repo does not send more at once.
var (
	large = load{"200 MB in 8 files", 8, 25e6}
	few   = load{"78 files of 10 kB", 78, 10e3}
	many  = load{"500 files of 10 kB", 500, 10e3}
	// The registry takes its time for every file.
	some = load{"100 files of 10 kB", 100, 10e3}
)

func (l load) bytes() int64 { return int64(l.files) * int64(l.size) }

// names returns the files in a folder.
func names(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "*")) }

// publishing is a side that publishes with this project's program to a new world.
func (b *bench) publishing(dir, to string) side {
	return side{"clusterctl-repo publish", func(ctx context.Context) (cost, error) {
		w, err := newWorld(b.dir)
		if err != nil {
			return cost{}, err
		}
		defer w.close()
		c, err := b.run(ctx, command{w.env, []string{b.tool, "publish", dir, "--to", to}})
		c.Upload = w.watch.span()
		return c, err
	}}
}

// gitHub compares with gh.
func (b *bench) gitHub(ctx context.Context) error {
	for _, l := range []load{large, few} {
		dir, err := b.generated(ctx, l.files, l.size)
		if err != nil {
			return err
		}
		files, err := names(dir)
		if err != nil {
			return err
		}
		gh := func(read bool) func(ctx context.Context) (cost, error) {
			return func(ctx context.Context) (cost, error) {
				w, err := newWorld(b.dir)
				if err != nil {
					return cost{}, err
				}
				defer w.close()
				commands := []command{
					{w.gh, []string{"gh", "release", "create", "v1.0.0", "-R", "acme/provider", "--draft", "--notes", ""}},
					{w.gh, append([]string{"gh", "release", "upload", "v1.0.0", "-R", "acme/provider"}, files...)},
					{w.gh, []string{"gh", "release", "edit", "v1.0.0", "-R", "acme/provider", "--draft=false"}},
				}
				if read {
					back := filepath.Join(w.dir, "back")
					commands = append(commands, command{w.gh, []string{"gh", "release", "download", "v1.0.0", "-R", "acme/provider", "--dir", back}},
						command{w.gh, []string{"sh", "-c", "sha256sum " + back + "/* >/dev/null"}})
				}
				c, err := b.run(ctx, commands...)
				c.Upload = w.watch.span()
				return c, err
			}
		}
		work := "GitHub, " + l.name
		c, err := b.compare(ctx, work, b.publishing(dir, "https://github.com/acme/provider"),
			side{"gh release create, upload, edit", gh(false)}, side{"gh, with download and sha256sum", gh(true)})
		if err != nil {
			return err
		}
		b.report.faster(work+", uploading", "gh release upload", l.bytes(), c[0].median(upload), c[1].median(upload))
		b.report.faster(work+", with reading back", "gh with download and sha256sum", l.bytes(), c[0].median(wall), c[2].median(wall))
	}
	return nil
}

// gitLab compares with curl, which uploads one file after the other on one
// connection, as GitLab asks for.
func (b *bench) gitLab(ctx context.Context) error {
	for _, l := range []load{large, many} {
		dir, err := b.generated(ctx, l.files, l.size)
		if err != nil {
			return err
		}
		files, err := names(dir)
		if err != nil {
			return err
		}
		url := func(file string) string {
			return "https://" + gitLabHost + "/api/v4/projects/" + strings.ReplaceAll(project, "/", "%2F") + "/packages/generic/infrastructure-acme/v1.0.0/" + filepath.Base(file)
		}
		curl := func(read bool) func(ctx context.Context) (cost, error) {
			return func(ctx context.Context) (cost, error) {
				w, err := newWorld(b.dir)
				if err != nil {
					return cost{}, err
				}
				defer w.close()
				up, down := curlFile{dir: w.dir, name: "up"}, curlFile{dir: w.dir, name: "down"}
				for _, f := range files {
					up.add("header = \"PRIVATE-TOKEN: %s\"\nupload-file = %q\noutput = /dev/null\nurl = %q\n", secret, f, url(f))
					down.add("create-dirs\noutput = %q\nurl = %q\n", filepath.Join(w.dir, "back", filepath.Base(f)), url(f))
				}
				commands := []command{up.command(w.env)}
				if read {
					commands = append(commands, down.command(w.env), command{w.env, []string{"sh", "-c", "sha256sum " + w.dir + "/back/* >/dev/null"}})
				}
				if err := errors.Join(up.err, down.err); err != nil {
					return cost{}, err
				}
				c, err := b.run(ctx, commands...)
				c.Upload = w.watch.span()
				return c, err
			}
		}
		work := "GitLab, " + l.name
		c, err := b.compare(ctx, work, b.publishing(dir, "https://"+gitLabHost+"/"+project),
			side{"curl --upload-file", curl(false)}, side{"curl, with download and sha256sum", curl(true)})
		if err != nil {
			return err
		}
		b.report.faster(work+", uploading", "curl --upload-file", l.bytes(), c[0].median(upload), c[1].median(upload))
		b.report.faster(work+", with reading back", "curl with download and sha256sum", l.bytes(), c[0].median(wall), c[2].median(wall))
	}
	return nil
}

// curlFile is a configuration of curl with many transfers.
type curlFile struct {
	dir, name string
	text      strings.Builder
	err       error
}

func (c *curlFile) add(format string, args ...any) {
	if c.text.Len() > 0 {
		c.text.WriteString("next\n")
	}
	fmt.Fprintf(&c.text, "silent\nfail\nlocation\n"+format, args...)
}

func (c *curlFile) command(env []string, flags ...string) command {
	path := filepath.Join(c.dir, c.name+".curl")
	c.err = os.WriteFile(path, []byte(c.text.String()), 0o600)
	return command{env, append(append([]string{"curl"}, flags...), "--config", path)}
}

// oci compares with skopeo, which gets the artifact from a folder.
func (b *bench) oci(ctx context.Context) error {
	for _, l := range []load{large, some} {
		dir, err := b.generated(ctx, l.files, l.size)
		if err != nil {
			return err
		}
		layout := filepath.Join(b.dir, fmt.Sprintf("layout%d", l.files))
		env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir}
		publish := func(host string) command {
			return command{env, []string{b.tool, "publish", dir, "--to", "oci://" + host + "/acme"}}
		}
		err = b.withRegistry(func(host string) error {
			_, err := b.run(ctx, publish(host), command{env, []string{"skopeo", "copy", "--quiet", "--src-tls-verify=false", "docker://" + host + "/acme:v1.0.0", "oci:" + layout + ":v1.0.0"}})
			return err
		})
		if err != nil {
			return err
		}
		ours := func(ctx context.Context) (c cost, err error) {
			err = b.withRegistry(func(host string) error {
				c, err = b.run(ctx, publish(host))
				return err
			})
			return c, err
		}
		skopeo := func(read bool) func(ctx context.Context) (cost, error) {
			return func(ctx context.Context) (c cost, err error) {
				err = b.withRegistry(func(host string) error {
					commands := []command{{env, []string{"skopeo", "copy", "--quiet", "--dest-tls-verify=false", "oci:" + layout + ":v1.0.0", "docker://" + host + "/acme:v1.0.0"}}}
					if read {
						back, err := os.MkdirTemp(b.dir, "back")
						if err != nil {
							return err
						}
						defer os.RemoveAll(back)
						commands = append(commands, command{env, []string{"skopeo", "copy", "--quiet", "--src-tls-verify=false", "docker://" + host + "/acme:v1.0.0", "oci:" + back + ":v1.0.0"}})
					}
					c, err = b.run(ctx, commands...)
					return err
				})
				return c, err
			}
		}
		work := "docker-registry, " + l.name
		c, err := b.compare(ctx, work, side{"clusterctl-repo publish", ours}, side{"skopeo copy", skopeo(false)}, side{"skopeo copy, there and back", skopeo(true)})
		if err != nil {
			return err
		}
		b.report.faster(work+", against no reading back", "skopeo copy", l.bytes(), c[0].median(wall), c[1].median(wall))
		b.report.faster(work+", with reading back", "skopeo copy there and back", l.bytes(), c[0].median(wall), c[2].median(wall))
	}
	return nil
}

// memory compares small releases with large ones.
func (b *bench) memory(ctx context.Context) error {
	const gitHub, gitLab = "https://github.com/acme/provider", "https://" + gitLabHost + "/" + project
	for _, tt := range []struct {
		what         string
		to           string
		small, large load
	}{
		{"GitHub, size of a file", gitHub, load{"1 MB", 1, 1e6}, load{"200 MB", 1, 200e6}},
		{"GitHub, number of files", gitHub, load{"8 files", 8, 10e3}, load{"78 files", 78, 10e3}},
		{"GitLab, size of a file", gitLab, load{"1 MB", 1, 1e6}, load{"200 MB", 1, 200e6}},
		{"GitLab, number of files", gitLab, load{"8 files", 8, 10e3}, load{"998 files", 998, 10e3}},
		{"docker-registry, size of a file", "", load{"1 MB", 1, 1e6}, load{"200 MB", 1, 200e6}},
		{"docker-registry, number of files", "", load{"8 files", 8, 10e3}, load{"998 files", 998, 10e3}},
	} {
		var sides []side
		for _, l := range []load{tt.small, tt.large} {
			dir, err := b.generated(ctx, l.files, l.size)
			if err != nil {
				return err
			}
			s := b.publishing(dir, tt.to)
			if tt.to == "" {
				s.do = func(ctx context.Context) (c cost, err error) {
					err = b.withRegistry(func(host string) error {
						c, err = b.run(ctx, command{[]string{"HOME=" + b.dir}, []string{b.tool, "publish", dir, "--to", "oci://" + host + "/acme"}})
						return err
					})
					return c, err
				}
			}
			s.name = "clusterctl-repo publish, " + l.name
			sides = append(sides, s)
		}
		c, err := b.compare(ctx, "Memory, "+tt.what, sides...)
		if err != nil {
			return err
		}
		b.report.flat("Memory of `publish`, "+tt.what+": "+tt.large.name, tt.small.name, c[0].rss(), c[1].rss())
	}
	return nil
}

// jobs is how many downloads go on at the same time on both sides.
const jobs = "8"

// mirror compares mirroring real providers with loading down their files, whose
// addresses are known already, and computing their checksums.
func (b *bench) mirror(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(b.corpus, "*", "*", "*"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Fprintf(os.Stderr, "no releases of real providers in %s; nothing to mirror\n", b.corpus)
		return nil
	}
	var bytes int64
	labels := map[string]string{} // the components file by label and version
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		bytes += info.Size()
		release := filepath.Dir(strings.TrimPrefix(f, b.corpus+"/"))
		if strings.Contains(filepath.Base(f), "-components") {
			labels[release] = filepath.Base(f)
		}
	}
	var repositories []string
	for release := range labels {
		repositories = append(repositories, filepath.Dir(release))
	}
	w, err := newWorld(b.dir, repositories...)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := b.run(ctx, command{w.env, []string{b.tool, "publish", b.corpus, "--to", "https://github.com/acme/{provider}"}}); err != nil {
		return err
	}
	config := "providers:\n"
	for release, file := range labels {
		label, version := filepath.Split(release)
		label = strings.TrimSuffix(label, "/")
		p, err := layouts.ParseLabel(label)
		if err != nil {
			return err
		}
		config += fmt.Sprintf("- {name: %q, type: %q, url: \"https://github.com/acme/%s/releases/%s/%s\"}\n", p.Name, p.Type, label, version, file)
	}
	settings := filepath.Join(w.dir, "clusterctl.yaml")
	if err := os.WriteFile(settings, []byte(config), 0o600); err != nil {
		return err
	}
	mirror := []string{b.tool, "mirror", "--config", settings, "--jobs", jobs, "--to"}
	into := func(run func(dir string) (cost, error)) (cost, error) {
		dir, err := os.MkdirTemp(b.dir, "mirror")
		if err != nil {
			return cost{}, err
		}
		defer os.RemoveAll(dir)
		return run(dir)
	}
	ours := side{"clusterctl-repo mirror", func(ctx context.Context) (cost, error) {
		return into(func(dir string) (cost, error) {
			return b.run(ctx, command{w.env, append(mirror[:len(mirror):len(mirror)], dir)})
		})
	}}
	curl := func(sums bool) func(ctx context.Context) (cost, error) {
		return func(ctx context.Context) (cost, error) {
			return into(func(dir string) (cost, error) {
				down := curlFile{dir: dir, name: "down"}
				for _, f := range files {
					release, name := filepath.Split(strings.TrimPrefix(f, b.corpus+"/"))
					label, version := filepath.Split(strings.TrimSuffix(release, "/"))
					down.add("create-dirs\noutput = %q\nurl = \"https://github.com/acme/%sreleases/download/%s/%s\"\n", filepath.Join(dir, release, name), label, version, name)
				}
				commands := []command{down.command(w.env, "--parallel", "--parallel-max", jobs)}
				if down.err != nil {
					return cost{}, down.err
				}
				if sums {
					commands = append(commands, command{w.env, []string{"sh", "-c", "sha256sum " + dir + "/*/*/* >/dev/null"}})
				}
				return b.run(ctx, commands...)
			})
		}
	}
	work := fmt.Sprintf("`mirror` %d providers, %d files, %.0f MB, from GitHub to a folder", len(labels), len(files), float64(bytes)/1e6)
	for _, distance := range []time.Duration{0, 50 * time.Millisecond} {
		w.watch.distance = distance
		name := work
		if distance > 0 {
			name += fmt.Sprintf(", %s away", distance)
		}
		c, err := b.compare(ctx, name, ours, side{"curl --parallel", curl(false)}, side{"curl --parallel, with sha256sum", curl(true)})
		if err != nil {
			return err
		}
		b.report.faster(name, "curl --parallel --parallel-max "+jobs+" and sha256sum of the same files", bytes, c[0].median(wall), c[2].median(wall))
	}
	return nil
}
