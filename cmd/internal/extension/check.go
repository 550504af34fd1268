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
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/probe"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

type checkFlags struct {
	caFile, clientCert, clientKey string
	serverName, service           string
	level, save                   string
	settings, skip, objects       []string
	timeout                       time.Duration
	core                          cli.Core
	out                           cli.Findings
}

func checkCommand(env *cli.Env) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check URL [TARGET]",
		Short: "Check whether a running extension follows the Runtime SDK",
		Long: `Calls the server of a runtime extension as Cluster API does, and reports what
Cluster API would refuse, and what would surprise its users. No cluster is
needed: a server on this machine or behind a forwarded port is enough. Name the
Service with --service, so that the certificate is judged as in the cluster.

At level discover it asks only which handlers there are. At level pure it also
calls the hooks that compute an answer and must not do anything else. At level
all it calls every hook: those that act may install, change or delete something
for the Cluster in the request.

Each handler gets a complete request twice, and one of each other shape: with
unknown fields, variables and settings, without what may be missing, and one that
cannot be read. Requests are made from the ClusterClass and the Cluster that are
given with --objects, or from ones that are built in. With a TARGET the server is
compared with the release: its ExtensionConfig and Service, and the ClusterClasses
that name its handlers.

The exit code is 1 if there are findings at or above --fail-on.`,
		Example: `  # A server on this machine
  clusterctl-repo extension check https://localhost:9443 --ca-file ca.crt \
    --service acme-system/acme-webhook

  # With the ClusterClass that uses it, against the release that it is part of
  clusterctl-repo extension check https://localhost:9443 --ca-file ca.crt \
    out/runtime-extension-acme --objects clusterclass-acme.yaml

  # Call hooks that act too, and keep what was sent
  clusterctl-repo extension check https://localhost:9443 --ca-file ca.crt \
    --level all --out calls`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args[0], args[1:]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.caFile, "ca-file", "", "")
	flags.StringVar(&f.clientCert, "client-cert", "", "")
	flags.StringVar(&f.clientKey, "client-key", "", "")
	flags.StringVar(&f.serverName, "server-name", "", "")
	flags.StringVar(&f.service, "service", "", "")
	flags.StringArrayVar(&f.objects, "objects", nil, "")
	flags.StringVar(&f.level, "level", extension.Pure.String(), strings.Join(extension.Levels(), ", "))
	flags.StringArrayVar(&f.settings, "setting", nil, "")
	flags.StringArrayVar(&f.skip, "skip", nil, "")
	flags.StringVar(&f.save, "out", "", "")
	flags.DurationVar(&f.timeout, "for", 2*time.Minute, "")
	f.core.Bind(flags)
	f.out.Bind(flags)
	return cmd
}

func (f *checkFlags) run(ctx context.Context, env *cli.Env, address string, release []string) error {
	o, err := f.probeOptions(ctx, env, address, release)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	r := probe.Run(limited, *o)
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.out.Judge(env, r, report.Options{})
}

// probeOptions checks the flags and reads the files before anything is called. The
// release that the server is compared with is none or one.
func (f *checkFlags) probeOptions(ctx context.Context, env *cli.Env, address string, release []string) (*probe.Options, error) {
	o := &probe.Options{ServerName: f.serverName, Skip: f.skip}
	var err error
	if o.URL, err = serverURL(address); err != nil {
		return nil, err
	}
	if o.Core, err = f.core.Parse(); err != nil {
		return nil, err
	}
	known := false
	if o.Level, known = extension.ParseLevel(f.level); !known {
		return nil, cli.Usagef("--level is %q; it must be %s", f.level, strings.Join(extension.Levels(), ", "))
	}
	if f.timeout <= 0 {
		return nil, cli.Usagef("--for is %s; it must be positive", f.timeout)
	}
	if o.Settings, err = keyValues(f.settings); err != nil {
		return nil, err
	}
	if f.service != "" {
		if namespace, name, _ := strings.Cut(f.service, "/"); o.ServerName == "" {
			o.ServerName = name + "." + namespace + ".svc"
		}
	}
	if err := f.trust(env, o); err != nil {
		return nil, err
	}
	for _, name := range release {
		if err := compare(ctx, env, name, o); err != nil {
			return nil, err
		}
	}
	var files []*manifest.File
	for _, name := range f.objects {
		data, err := env.ReadFile(name)
		if err != nil {
			return nil, cli.UsageError(err)
		}
		file := manifest.New(&repo.Artifact{Name: filepath.Base(name), Path: name}, layouts.ClusterClass, data)
		files = append(files, file)
		o.Classes = append(o.Classes, clusterclass.In(file)...)
	}
	if o.Topology, err = extension.ReadTopology(files...); err != nil {
		return nil, cli.UsageError(err)
	}
	if f.save != "" {
		if err := env.MakeFolder(f.save); err != nil {
			return nil, err
		}
		o.Record = saver(env, f.save)
	}
	return o, nil
}

func serverURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, cli.Usagef("%q is not a URL; the form is https://HOST:PORT/PATH", address)
	case u.User != nil:
		return nil, cli.Usagef("the URL has a user or a password; extensions accept neither")
	case u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, cli.Usagef("%q is not a server address; the form is https://HOST:PORT/PATH", address)
	case u.Scheme != "https":
		return nil, cli.Usagef("%q does not begin with https://; Cluster API calls extensions only over TLS", address)
	}
	return u, nil
}

// keyValues reads the values of --setting, of the form KEY=VALUE.
func keyValues(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range list {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			// The value may be a secret.
			return nil, cli.Usagef("--setting must be KEY=VALUE")
		}
		out[key] = value
	}
	return out, nil
}

func readCA(env *cli.Env, name string) (text []byte, pool *x509.CertPool, err error) {
	if text, err = env.ReadFile(name); err != nil {
		return nil, nil, cli.UsageError(err)
	}
	pool = x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, nil, cli.Usagef("%s has no certificate in PEM", name)
	}
	return text, pool, nil
}

func (f *checkFlags) trust(env *cli.Env, o *probe.Options) error {
	if f.caFile != "" {
		var err error
		if _, o.Roots, err = readCA(env, f.caFile); err != nil {
			return err
		}
	}
	if (f.clientCert == "") != (f.clientKey == "") {
		return cli.Usagef("--client-cert and --client-key belong together")
	}
	if f.clientCert != "" {
		cert, err := tls.LoadX509KeyPair(env.Path(f.clientCert), env.Path(f.clientKey))
		if err != nil {
			return cli.Usagef("the client certificate %s with its key cannot be read: %w", f.clientCert, files.Cause(err))
		}
		o.Certificate = &cert
	}
	return nil
}

// compare reads the release that the server belongs to.
func compare(ctx context.Context, env *cli.Env, name string, o *probe.Options) error {
	t, err := targets.Open(ctx, env, name, &targets.Source{})
	if err != nil {
		return err
	}
	releases, err := t.Newest()
	if err != nil {
		return err
	}
	var server *extension.Server
	for _, r := range releases {
		kinds := r.Kinds()
		for _, artifact := range r.Artifacts {
			kind := kinds(artifact)
			if kind != layouts.Components && kind != layouts.ClusterClass && kind != layouts.ClusterTemplate {
				continue
			}
			file, err := manifest.Read(artifact, kind)
			if err != nil {
				return fmt.Errorf("%s: %w", artifact.Path, err)
			}
			o.Classes = append(o.Classes, clusterclass.In(file)...)
			if kind != layouts.Components || r.Provider.Type != layouts.RuntimeExtension {
				continue
			}
			if server != nil {
				return cli.Usagef("%s has several runtime extensions; name the release of one", name)
			}
			if server, err = extension.FindServer(file.Objects(), ""); err != nil {
				return fmt.Errorf("%s: %w", artifact.Path, err)
			}
			register(env, o, server, artifact.Path)
		}
	}
	if server == nil {
		return cli.Usagef("%s has no runtime extension; name the release of one", name)
	}
	return nil
}

// register fills in what a release says of its server.
func register(env *cli.Env, o *probe.Options, s *extension.Server, file string) {
	if o.ServerName == "" {
		o.ServerName = s.Name()
		env.Detail("the certificate must be for %s, the Service of the release", s.Name())
	}
	o.Registration = &probe.Registration{
		File: file, Object: "Service " + s.Service, Name: s.Name(), Path: s.Path, Ports: append([]string{fmt.Sprint(s.Port)}, s.Targets...),
	}
	if s.Config != nil {
		o.Registration.Object = extension.ConfigKind + " " + s.Config.Name
		o.Name = s.Config.Name
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
