package extension

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/coreapi"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/request"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// checkFlags are the flags of extension check.
type checkFlags struct {
	caFile, clientCert, clientKey string
	serverName, service, name     string
	classFile, clusterFile        string
	repo, level, ready            string
	restart, save, config         string
	settings, skip                []string
	timeout, retries              time.Duration
	rarity                        int
	chance                        float64
	core                          cli.Core
	out                           cli.Findings
}

func checkCommand(env *cli.Env) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Check whether a running extension keeps to the Runtime SDK",
		Long: `Calls the server of a runtime extension as Cluster API does, and reports what
Cluster API would refuse, and what would surprise its users. No cluster is
needed: a server on this machine or behind a forwarded port is enough. Name the
Service with --service, so that the certificate is judged as in the cluster.

At level discover it asks only which handlers there are. At level pure it also
calls the hooks that compute an answer and must not do anything else. At level
all it calls every hook: those that act may install, change or delete something
for the Cluster in the request.

Pure hooks and discovery are asked again and again, in other orders and at other
times: often enough to see a fault of one call in twelve with a chance of 99.99 %
(--rare, --chance). All answers are compared. The retries of hooks that block are
followed, early, when they are due, and late, within --retry-budget.

Requests are complete. They are made from the ClusterClass and the Cluster that
are given, or from ones that are built in. With --repo the server is compared
with the release: its ExtensionConfig and Service, the ClusterClasses that name
its handlers, and the CRDs that patched objects must fit.

The exit code is 1 if there are findings at or above --fail-on.`,
		Example: `  # A server on this machine
  clusterctl-repo extension check https://localhost:9443 --ca-file ca.crt --service acme-system/acme-webhook

  # With the ClusterClass that uses it, against the release that it is part of
  clusterctl-repo extension check https://localhost:9443 --ca-file ca.crt \
    --repo out/runtime-extension-acme --cluster-class clusterclass-acme.yaml

  # Call hooks that act too, and keep what was sent
  clusterctl-repo extension check https://localhost:9443 --ca-file ca.crt --level all --save calls`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.caFile, "ca-file", "", "trust the certificates in this PEM `FILE`, as in caBundle (default: those of the system)")
	flags.StringVar(&f.clientCert, "client-cert", "", "show this client certificate, a PEM `FILE`")
	flags.StringVar(&f.clientKey, "client-key", "", "the key of the client certificate, a PEM `FILE`")
	flags.StringVar(&f.serverName, "server-name", "", "the `NAME` that the certificate must be for (default: that of --service, of --repo, or the host)")
	flags.StringVar(&f.service, "service", "", "the Service in the cluster, as `NAMESPACE/NAME`")
	flags.StringVar(&f.name, "name", "", "the `NAME` of the ExtensionConfig (default: that of --repo)")
	flags.StringVar(&f.classFile, "cluster-class", "", "make requests from the ClusterClass and the templates in this `FILE`")
	flags.StringVar(&f.clusterFile, "cluster", "", "make requests from the Cluster in this `FILE`")
	flags.StringVar(&f.repo, "repo", "", "compare the server with the release in this `TARGET`")
	flags.StringVar(&f.level, "level", extension.Pure.String(), "what may be called: "+strings.Join(extension.Levels(), ", "))
	flags.StringArrayVar(&f.settings, "setting", nil, "send this setting, `KEY=VALUE`; may be repeated")
	flags.StringArrayVar(&f.skip, "skip", nil, "do not call this `HANDLER`; may be repeated")
	flags.StringVar(&f.ready, "ready-url", "", "the `URL` of the readiness endpoint")
	flags.StringVar(&f.restart, "restart", "", "a shell `COMMAND` that restarts the server; it is checked again after it")
	flags.StringVar(&f.save, "save", "", "write requests and answers into this `FOLDER`")
	flags.StringVar(&f.config, "config", "", "take the severities of checks from the configuration in this `FILE`")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "stop after this time")
	flags.IntVar(&f.rarity, "rare", probe.Rarity, "repeat requests so often that a fault of one call in `N` is seen")
	flags.Float64Var(&f.chance, "chance", probe.Chance, "with this chance, from 0.5 to 0.999999")
	flags.DurationVar(&f.retries, "retry-budget", probe.RetryBudget, "follow the retries of hooks that block for this time; 0 for not at all")
	f.core.Bind(flags)
	f.out.Bind(flags)
	return cmd
}

func (f *checkFlags) run(ctx context.Context, env *cli.Env, address string) error {
	if err := f.out.Parse(); err != nil {
		return err
	}
	o, err := f.probeOptions(ctx, env, address)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	r := probe.Run(limited, *o)
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.out.Judge(env, r.Report, report.Options{Latencies: r.Latencies})
}

// probeOptions checks the flags and reads the files before anything is called.
func (f *checkFlags) probeOptions(ctx context.Context, env *cli.Env, address string) (*probe.Options, error) {
	o := &probe.Options{ServerName: f.serverName, Name: f.name, Skip: f.skip}
	var err error
	if o.URL, err = serverURL(address, "https"); err != nil {
		return nil, err
	}
	if o.Core, err = f.core.Parse(); err != nil {
		return nil, err
	}
	known := false
	if o.Level, known = extension.ParseLevel(f.level); !known {
		return nil, cli.Usagef("--level is %q; it must be %s", f.level, strings.Join(extension.Levels(), ", "))
	}
	switch {
	case f.timeout <= 0:
		return nil, cli.Usagef("--timeout is %s; it must be positive", f.timeout)
	case f.rarity < 1:
		return nil, cli.Usagef("--rare is %d; it must be at least 1", f.rarity)
	case f.chance < 0.5 || f.chance > 0.999999:
		return nil, cli.Usagef("--chance is %v; it must be from 0.5 to 0.999999", f.chance)
	case f.retries < 0:
		return nil, cli.Usagef("--retry-budget is %s; it must not be negative", f.retries)
	}
	o.Rarity, o.Chance, o.RetryBudget = f.rarity, f.chance, f.retries
	if f.retries == 0 {
		o.RetryBudget = -1
	}
	if o.Settings, err = keyValues("--setting", f.settings); err != nil {
		return nil, err
	}
	if f.ready != "" {
		if o.Ready, err = serverURL(f.ready, "https", "http"); err != nil {
			return nil, err
		}
	}
	if f.service != "" {
		namespace, name, ok := strings.Cut(f.service, "/")
		if !ok || !layouts.IsDNSLabel(namespace) || !layouts.IsDNSLabel(name) {
			return nil, cli.Usagef("--service is %q; it must be NAMESPACE/NAME", f.service)
		}
		if o.ServerName == "" {
			o.ServerName = name + "." + namespace + ".svc"
		}
	}
	if o.Severity, err = targets.Severities(env, f.config); err != nil {
		return nil, err
	}
	if err := f.trust(env, o); err != nil {
		return nil, err
	}
	if err := f.compare(ctx, env, o); err != nil {
		return nil, err
	}
	var files []*manifest.File
	for _, name := range []string{f.classFile, f.clusterFile} {
		if name == "" {
			continue
		}
		file, err := readManifest(env, name)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		o.Classes = append(o.Classes, clusterclass.In(file)...)
	}
	if o.Topology, err = request.New(files...); err != nil {
		return nil, cli.UsageError(err)
	}
	if f.restart != "" {
		o.Restart = func(ctx context.Context) error { return env.Shell(ctx, f.restart) }
	}
	if f.save != "" {
		if err := env.MakeFolder(f.save); err != nil {
			return nil, err
		}
		o.Record = saver(env, f.save)
	}
	return o, nil
}

// serverURL reads the address of a server.
func serverURL(address string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, cli.Usagef("%q is no URL", address)
	case u.User != nil:
		return nil, cli.Usagef("the URL has a user or a password; extensions have none")
	case u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, cli.Usagef("%q is no address of a server; the form is https://HOST:PORT/PATH", address)
	}
	for _, s := range schemes {
		if u.Scheme == s {
			return u, nil
		}
	}
	return nil, cli.Usagef("%q does not begin with https://; Cluster API calls extensions by TLS only", address)
}

// keyValues reads values of a flag of the form KEY=VALUE.
func keyValues(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range list {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			// The value may be a secret.
			return nil, cli.Usagef("%s must be KEY=VALUE", flag)
		}
		out[key] = value
	}
	return out, nil
}

// trust reads the certificates.
func (f *checkFlags) trust(env *cli.Env, o *probe.Options) error {
	if f.caFile != "" {
		data, err := env.ReadFile(f.caFile)
		if err != nil {
			return cli.UsageError(err)
		}
		o.Roots = x509.NewCertPool()
		if !o.Roots.AppendCertsFromPEM(data) {
			return cli.Usagef("%s has no certificate in PEM", f.caFile)
		}
	}
	if (f.clientCert == "") != (f.clientKey == "") {
		return cli.Usagef("--client-cert and --client-key belong together")
	}
	if f.clientCert != "" {
		cert, err := tls.LoadX509KeyPair(env.Path(f.clientCert), env.Path(f.clientKey))
		if err != nil {
			return cli.Usagef("the client certificate %s with its key cannot be read: %w", f.clientCert, cli.Cause(err))
		}
		o.Certificate = &cert
	}
	return nil
}

// readManifest reads a file of objects that the user named.
func readManifest(env *cli.Env, name string) (*manifest.File, error) {
	data, err := env.ReadFile(name)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	return manifest.New(&repo.Artifact{Name: filepath.Base(name), Path: name}, layouts.ClusterClass, data), nil
}

// compare reads the release that the server belongs to.
func (f *checkFlags) compare(ctx context.Context, env *cli.Env, o *probe.Options) error {
	o.Schema = coreapi.Schema
	if f.repo == "" {
		return nil
	}
	t, err := targets.Open(ctx, env, f.repo, &targets.Source{})
	if err != nil {
		return err
	}
	releases, err := t.Newest()
	if err != nil {
		return err
	}
	definitions := map[[2]string]*crd.CRD{}
	var server *extension.Server
	for _, r := range releases {
		kinds := r.Kinds()
		for _, artifact := range r.Artifacts {
			kind := kinds(artifact)
			if kind != layouts.Components && kind != layouts.ClusterClass && kind != layouts.ClusterTemplate {
				continue
			}
			data, err := artifact.Bytes()
			if err != nil {
				return fmt.Errorf("%s: %w", artifact.Path, err)
			}
			file := manifest.New(artifact, kind, data)
			o.Classes = append(o.Classes, clusterclass.In(file)...)
			if kind != layouts.Components {
				continue
			}
			for _, object := range file.Objects() {
				if object.Is(crd.Group, crd.Kind) {
					c := crd.Of(object)
					definitions[[2]string{c.Group, c.Kind}] = c
				}
			}
			if r.Provider.Type == layouts.RuntimeExtension {
				if server != nil {
					return cli.Usagef("%s has several runtime extensions; name the release of one", f.repo)
				}
				if server, err = extension.FindServer(file.Objects(), ""); err != nil {
					return fmt.Errorf("%s: %w", artifact.Path, err)
				}
				register(env, o, server, artifact.Path)
			}
		}
	}
	if server == nil {
		return cli.Usagef("%s has no runtime extension; name the release of one", f.repo)
	}
	o.Schema = func(group, kind, version string) (crd.Schema, bool) {
		if c := definitions[[2]string{group, kind}]; c != nil {
			if v := c.Version(version); v != nil {
				return v.Schema, true
			}
		}
		return coreapi.Schema(group, kind, version)
	}
	return nil
}

// register fills in what a release says of its server.
func register(env *cli.Env, o *probe.Options, s *extension.Server, file string) {
	if o.ServerName == "" {
		o.ServerName = s.Name()
		env.Detail("the certificate must be for %s, the Service of the release", s.Name())
	}
	o.Registration = &probe.Registration{File: file, Object: "Service " + s.Service, Path: s.Path, Ports: append([]string{fmt.Sprint(s.Port)}, s.Targets...)}
	if s.Config != nil {
		o.Registration.Object = extension.ConfigKind + " " + s.Config.Name
		if o.Name == "" {
			o.Name = s.Config.Name
		}
	}
}

// saver writes requests and answers into a folder, from where curl can send them.
func saver(env *cli.Env, dir string) func(hook, handler string, request, answer []byte) {
	return func(hook, handler string, request, answer []byte) {
		name := strings.ToLower(hook)
		if handler != "" {
			name += "." + handler
		}
		for suffix, data := range map[string][]byte{".request.json": request, ".answer": answer} {
			if err := env.WriteFile(filepath.Join(dir, name+suffix), data); err != nil {
				env.Say("%v", err)
			}
		}
	}
}
