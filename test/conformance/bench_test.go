package conformance

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/conformance/registry"
	"github.com/clusterctl-repo/clusterctl-repo/test/cost"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// The benchmarks publish and mirror side by side with the programs that people use
// for the same. Both sides get the same files and meet the same servers in the same
// way. A benchmark that is over its budget tells so; docs/benchmarks.md has the budgets.

// stopwatch measures at the server how long uploads take: from the beginning of
// the first to the end of the last. It can also make the server far away.
type stopwatch struct {
	distance time.Duration // how long every answer takes

	mu          sync.Mutex
	first, last time.Time
}

func (s *stopwatch) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(s.distance)
		if r.Method != http.MethodPut && (r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/assets")) {
			h.ServeHTTP(w, r)
			return
		}
		s.mu.Lock()
		if s.first.IsZero() {
			s.first = time.Now()
		}
		s.mu.Unlock()
		h.ServeHTTP(w, r)
		s.mu.Lock()
		s.last = time.Now()
		s.mu.Unlock()
	})
}

// inWorld does work in a world of its own that holds nothing but empty places, and
// adds what the server's clock says of uploads.
func inWorld(b *testing.B, do func(w *world) cost.Cost) cost.Cost {
	b.Helper()
	watch := &stopwatch{}
	w := newServers(b, watch.wrap, github.Repository{Owner: "acme", Name: "provider"})
	defer w.close()
	c := do(w)
	c.Upload = watch.last.Sub(watch.first)
	return c
}

// inRegistry does work with a registry of its own.
func inRegistry(b *testing.B, do func(host string) cost.Cost) cost.Cost {
	b.Helper()
	dir := given.Value(os.MkdirTemp(b.TempDir(), ""))(b)
	defer os.RemoveAll(dir)
	r, err := registry.Start(dir)
	if err != nil {
		missing(b, err.Error())
	}
	defer r.Close()
	return do(r.Host)
}

// process is a run of a program.
func (p program) process(args ...string) cost.Process {
	return cost.Process{Args: append([]string{p.path}, args...), Env: p.env}
}

// load is a release to publish, without metadata and components.
type load struct {
	name        string
	files, size int
}

// GitHub takes 80 files in a minute, so the program does not send more at once. The
// registry takes its time for every file.
var (
	large = load{"200MB", 8, 25e6}
	few   = load{"78-files", 78, 10e3}
	some  = load{"100-files", 100, 10e3}
	many  = load{"500-files", 500, 10e3}
)

// write makes the release and returns its folder and the files in it.
func (l load) write(b *testing.B) (dir string, files []string) {
	b.Helper()
	dir = filepath.Join(b.TempDir(), "infrastructure-acme", "v1.0.0")
	texts := map[string]string{
		"metadata.yaml":                  "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n",
		"infrastructure-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n  labels: {cluster.x-k8s.io/provider: infrastructure-acme}\n",
	}
	for i := range l.files {
		line := fmt.Sprintf("# file %04d %s\n", i, strings.Repeat("x", 84))
		texts[fmt.Sprintf("extra-%04d.yaml", i)] = strings.Repeat(line, l.size/len(line)+1)[:l.size-1] + "\n"
	}
	err := os.MkdirAll(dir, 0o755)
	for name, text := range texts {
		files = append(files, filepath.Join(dir, name))
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	given.NoError(b, err)
	return dir, files
}

const labDestination = "https://" + gitLabHost + "/" + labProject

// publishing is a side that publishes with this project's program.
func publishing(b *testing.B, name, dir, to string) cost.Side {
	return cost.Side{Name: name, Do: func() cost.Cost {
		return inWorld(b, func(w *world) cost.Cost {
			return cost.Run(b, w.tool.process("publish", dir, "--to", to, "--fail-on", "never"))
		})
	}}
}

// sums is a process that reads back what was loaded down.
func sums(w *world, pattern string) cost.Process {
	return program{"sh", w.tool.env}.process("-c", "sha256sum "+pattern+" >/dev/null")
}

// within are the budgets for publishing: no slower than the others, who upload only,
// while they upload, and no slower than they with reading back.
func within(b *testing.B, c []cost.Cost) {
	b.Helper()
	cost.AtMost(b, "of-upload", cost.Ratio(c[0].Upload, c[1].Upload), 1)
	cost.AtMost(b, "of-reading-back", cost.Ratio(c[0].Wall, c[2].Wall), 1)
}

// BenchmarkGitHub compares publish with gh.
func BenchmarkGitHub(b *testing.B) {
	for _, l := range []load{large, few} {
		b.Run(l.name, func(b *testing.B) {
			gh := find(b, "gh", "Debian's package of that name")
			dir, files := l.write(b)
			side := func(name string, read bool) cost.Side {
				return cost.Side{Name: name, Do: func() cost.Cost {
					return inWorld(b, func(w *world) cost.Cost {
						gh := program{gh.path, w.tool.env}.with("GH_CONFIG_DIR="+w.home, "GH_NO_UPDATE_NOTIFIER=1", "GH_PROMPT_DISABLED=1")
						release := func(args ...string) cost.Process {
							return gh.process(append([]string{"release", args[0], "v1.0.0", "-R", "acme/provider"}, args[1:]...)...)
						}
						all := []cost.Process{release("create", "--draft", "--notes", ""), release(append([]string{"upload"}, files...)...), release("edit", "--draft=false")}
						if read {
							back := filepath.Join(w.home, "back")
							all = append(all, release("download", "--dir", back), sums(w, back+"/*"))
						}
						return cost.Run(b, all...)
					})
				}}
			}
			within(b, cost.Compare(b, publishing(b, "ours", dir, "https://github.com/acme/provider"), side("gh", false), side("gh-and-back", true)))
		})
	}
}

// curlFile is a configuration of curl with many transfers.
type curlFile struct{ strings.Builder }

func (c *curlFile) add(format string, args ...any) {
	if c.Len() > 0 {
		c.WriteString("next\n")
	}
	fmt.Fprintf(c, "silent\nfail\nlocation\n"+format, args...)
}

func (c *curlFile) process(b *testing.B, w *world, flags ...string) cost.Process {
	b.Helper()
	f, err := os.CreateTemp(w.home, "*.curl")
	if err == nil {
		_, err = f.WriteString(c.String())
		err = errors.Join(err, f.Close())
	}
	given.NoError(b, err)
	return program{"curl", w.tool.env}.with("CURL_CA_BUNDLE=" + w.proxy.CAFile).process(append(flags, "--config", f.Name())...)
}

// BenchmarkGitLab compares publish with curl, which uploads one file after the other
// on one connection, as GitLab asks for.
func BenchmarkGitLab(b *testing.B) {
	for _, l := range []load{large, many} {
		b.Run(l.name, func(b *testing.B) {
			find(b, "curl", "Debian's package of that name")
			dir, files := l.write(b)
			side := func(name string, read bool) cost.Side {
				return cost.Side{Name: name, Do: func() cost.Cost {
					return inWorld(b, func(w *world) cost.Cost {
						var up, down curlFile
						for _, f := range files {
							url := "https://" + gitLabHost + "/api/v4/projects/" + strings.ReplaceAll(labProject, "/", "%2F") + "/packages/generic/infrastructure-acme/v1.0.0/" + filepath.Base(f)
							up.add("header = \"PRIVATE-TOKEN: %s\"\nupload-file = %q\noutput = /dev/null\nurl = %q\n", secret, f, url)
							down.add("create-dirs\noutput = %q\nurl = %q\n", filepath.Join(w.home, "back", filepath.Base(f)), url)
						}
						all := []cost.Process{up.process(b, w)}
						if read {
							all = append(all, down.process(b, w), sums(w, w.home+"/back/*"))
						}
						return cost.Run(b, all...)
					})
				}}
			}
			within(b, cost.Compare(b, publishing(b, "ours", dir, labDestination), side("curl", false), side("curl-and-back", true)))
		})
	}
}

// BenchmarkRegistry compares publish with skopeo, which gets the artifact from a folder.
func BenchmarkRegistry(b *testing.B) {
	for _, l := range []load{large, some} {
		b.Run(l.name, func(b *testing.B) {
			skopeo := find(b, "skopeo", "Debian's package of that name")
			tool := program{path(b, tool), skopeo.env}
			dir, _ := l.write(b)
			layout := filepath.Join(b.TempDir(), "layout")
			remote := func(host string) string { return "docker://" + host + "/acme:v1.0.0" }
			publish := func(host string) cost.Process {
				return tool.process("publish", dir, "--to", "oci://"+host+"/acme", "--fail-on", "never")
			}
			pull := func(host, to string) cost.Process {
				return skopeo.process("copy", "--quiet", "--src-tls-verify=false", remote(host), "oci:"+to+":v1.0.0")
			}
			inRegistry(b, func(host string) cost.Cost { return cost.Run(b, publish(host), pull(host, layout)) })
			side := func(name string, read bool) cost.Side {
				return cost.Side{Name: name, Do: func() cost.Cost {
					return inRegistry(b, func(host string) cost.Cost {
						all := []cost.Process{skopeo.process("copy", "--quiet", "--dest-tls-verify=false", "oci:"+layout+":v1.0.0", remote(host))}
						if read {
							all = append(all, pull(host, filepath.Join(b.TempDir(), "back")))
						}
						return cost.Run(b, all...)
					})
				}}
			}
			ours := cost.Side{Name: "ours", Do: func() cost.Cost {
				return inRegistry(b, func(host string) cost.Cost { return cost.Run(b, publish(host)) })
			}}
			c := cost.Compare(b, ours, side("skopeo", false), side("skopeo-and-back", true))
			cost.AtMost(b, "of-upload", cost.Ratio(c[0].Wall, c[1].Wall), 1)
			cost.AtMost(b, "of-reading-back", cost.Ratio(c[0].Wall, c[2].Wall), 1)
		})
	}
}

// BenchmarkMemory compares small releases with large ones: memory must follow
// neither the size of a file nor the number of files.
func BenchmarkMemory(b *testing.B) {
	const hub = "https://github.com/acme/provider"
	for _, tt := range []struct {
		name, to     string
		small, large load
	}{
		{"GitHub/size", hub, load{"", 1, 1e6}, load{"", 1, 200e6}},
		{"GitHub/number", hub, load{"", 8, 10e3}, load{"", 78, 10e3}},
		{"GitLab/size", labDestination, load{"", 1, 1e6}, load{"", 1, 200e6}},
		{"GitLab/number", labDestination, load{"", 8, 10e3}, load{"", 998, 10e3}},
		{"registry/size", "", load{"", 1, 1e6}, load{"", 1, 200e6}},
		{"registry/number", "", load{"", 8, 10e3}, load{"", 998, 10e3}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			side := func(name string, l load) cost.Side {
				dir, _ := l.write(b)
				if tt.to != "" {
					return publishing(b, name, dir, tt.to)
				}
				return cost.Side{Name: name, Do: func() cost.Cost {
					return inRegistry(b, func(host string) cost.Cost {
						return cost.Run(b, program{path(b, tool), []string{"HOME=" + dir}}.process("publish", dir, "--to", "oci://"+host+"/acme", "--fail-on", "never"))
					})
				}}
			}
			c := cost.Compare(b, side("small", tt.small), side("large", tt.large))
			cost.AtMost(b, "memory-of-small", float64(c[1].RSS)/float64(c[0].RSS), 1.2)
		})
	}
}

// BenchmarkMirror compares mirroring real providers with loading down their files,
// whose addresses are known already, and computing their checksums.
func BenchmarkMirror(b *testing.B) {
	for _, distance := range []time.Duration{0, 50 * time.Millisecond} {
		b.Run(distance.String(), func(b *testing.B) {
			find(b, "curl", "Debian's package of that name")
			root := share.Corpus(b, "releases")
			all := releases(b, root)
			var repositories []github.Repository
			config := "providers:\n"
			for _, r := range all {
				repositories = append(repositories, github.Repository{Owner: "acme", Name: r.Label()})
				config += fmt.Sprintf("- {name: %q, type: %q, url: %q}\n", r.Name, r.Type, r.gitHub("acme/"+r.Label(), r.version))
			}
			watch := &stopwatch{}
			w := newServers(b, watch.wrap, repositories...)
			defer w.close()
			cost.Run(b, w.tool.process("publish", root, "--to", "https://github.com/acme/{provider}", "--fail-on", "never"))
			settings := filepath.Join(w.home, "clusterctl.yaml")
			given.NoError(b, os.WriteFile(settings, []byte(config), 0o600))
			watch.distance = distance
			ours := cost.Side{Name: "ours", Do: func() cost.Cost {
				return cost.Run(b, w.tool.process("mirror", settings, "--to", filepath.Join(b.TempDir(), "mirror")))
			}}
			curl := cost.Side{Name: "curl", Do: func() cost.Cost {
				dir := b.TempDir()
				var down curlFile
				for _, r := range all {
					entries := given.Value(os.ReadDir(r.dir))(b)
					for _, e := range entries {
						down.add("create-dirs\noutput = %q\nurl = \"https://github.com/acme/%s/releases/download/%s/%s\"\n",
							filepath.Join(dir, r.Label(), r.version, e.Name()), r.Label(), r.version, e.Name())
					}
				}
				return cost.Run(b, down.process(b, w, "--parallel", "--parallel-max", "8"), sums(w, dir+"/*/*/*"))
			}}
			c := cost.Compare(b, ours, curl)
			cost.AtMost(b, "of-curl", cost.Ratio(c[0].Wall, c[1].Wall), 1)
		})
	}
}
