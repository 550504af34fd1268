package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // the other ways to log in are programs
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Cluster is a management cluster.
type Cluster struct {
	// Namespace is that of the context in the kubeconfig.
	Namespace string
	// Host is the address of the API server.
	Host   string
	client *rest.RESTClient
}

// Open prepares the access to a management cluster. As for clusterctl, without a
// path the kubeconfig is that of $KUBECONFIG or of the home folder, and without a
// name the context is the current one (clusterctl: client/cluster/proxy.go).
// Nothing is asked of the cluster yet.
func Open(path, kubeContext string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	kubeconfig := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext})
	config, err := kubeconfig.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no kubeconfig names a cluster: pass --kubeconfig, or set KUBECONFIG")
	}
	loaded, readErr := rules.Load()
	if err != nil && readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
		// The words of the library are about its types.
		return nil, fmt.Errorf("%s is not a kubeconfig file, which is YAML with kind: Config",
			cmp.Or(path, strings.Join(rules.Precedence, ", ")))
	}
	if loaded != nil && kubeContext != "" && loaded.Contexts[kubeContext] == nil {
		return nil, fmt.Errorf("%s: %s", cmp.Or(path, strings.Join(rules.Precedence, ", ")), phrase.Unknown("context", kubeContext, slices.Sorted(maps.Keys(loaded.Contexts))))
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w; correct the file, or pass another one with --kubeconfig", err)
	}
	namespace, _, err := kubeconfig.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return connect(config, namespace)
}

// connect returns a management cluster with the access of a configuration.
func connect(config *rest.Config, namespace string) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server says itself when it is too much
	config.UserAgent = "clusterctl-repo"
	config.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme() // only for what the server says when it refuses
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme)
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &Cluster{Namespace: cmp.Or(namespace, "default"), Host: config.Host, client: client}, nil
}

// The kinds that are asked for by themselves.
var (
	definitions = resource{group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions", kind: "CustomResourceDefinition"}
	providers   = resource{group: clusterctlGroup, version: "v1alpha3", plural: "providers", kind: "Provider"}
	secrets     = resource{version: "v1", plural: "secrets", kind: "Secret"}
	configMaps  = resource{version: "v1", plural: "configmaps", kind: "ConfigMap"}
	leases      = resource{group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease"}
	events      = resource{version: "v1", plural: "events", kind: "Event"}
)

const (
	coreGroup       = "cluster.x-k8s.io"
	clusterctlGroup = "clusterctl.cluster.x-k8s.io"
)

// resource is a kind in one version of its API.
type resource struct {
	group, version, plural, kind string
	global                       bool
	status                       bool // has a subresource for it
}

// String is the name of the resource with its group.
func (r resource) String() string { return strings.TrimSuffix(r.plural+"."+r.group, ".") }

func (r resource) apiVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }

func (r resource) path(namespace string) string {
	parts := []string{"/apis", r.group, r.version}
	if r.group == "" {
		parts = []string{"/api", r.version}
	}
	if namespace != "" && !r.global {
		parts = append(parts, "namespaces", namespace)
	}
	return strings.Join(append(parts, r.plural), "/")
}

// get reads an answer. The error says why the server refused, which that of
// Request.DoRaw does not.
func (c *Cluster) get(ctx context.Context, path string, into any) error {
	body, err := send(ctx, c.client.Get().AbsPath(path), "application/json")
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func send(ctx context.Context, r *rest.Request, accept string) ([]byte, error) {
	result := r.SetHeader("Accept", accept).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// Server returns the UID of the Namespace kube-system, which names a server; it is empty
// if that must not be read. The error is set if the server cannot be asked.
func (c *Cluster) Server(ctx context.Context) (string, error) {
	var object metav1.PartialObjectMetadata
	err := c.get(ctx, "/api/v1/namespaces/kube-system", &object)
	var answer apierrors.APIStatus
	if err != nil && (!errors.As(err, &answer) || apierrors.IsUnauthorized(err)) {
		return "", fmt.Errorf("cannot query the API server: %w", err)
	}
	return string(object.UID), nil
}

// kinds lists the resources of Cluster API and its providers in the versions that the
// server prefers, or in another one for kinds that the preferred version of their group
// lacks. They are sorted by group. The error names what could not be read.
func (c *Cluster) kinds(ctx context.Context) ([]resource, error) {
	var groups metav1.APIGroupList
	if err := c.get(ctx, "/apis", &groups); err != nil {
		return nil, fmt.Errorf("the API groups cannot be read: %w", err)
	}
	var out []resource
	var failed error
	for _, g := range groups.Groups {
		if g.Name != coreGroup && !strings.HasSuffix(g.Name, "."+coreGroup) {
			continue
		}
		seen := map[string]int{}
		for i, v := range slices.Concat([]metav1.GroupVersionForDiscovery{g.PreferredVersion}, g.Versions) {
			if i > 0 && v == g.PreferredVersion {
				continue
			}
			var list metav1.APIResourceList
			if err := c.get(ctx, "/apis/"+g.Name+"/"+v.Version, &list); err != nil {
				failed = errors.Join(failed, fmt.Errorf("the kinds of %s/%s cannot be read: %w", g.Name, v.Version, err))
				continue
			}
			for _, r := range list.APIResources {
				if i := seen[r.Name]; i == 0 && !strings.Contains(r.Name, "/") &&
					slices.Contains(r.Verbs, "watch") && slices.Contains(r.Verbs, "list") {
					out = append(out, resource{group: g.Name, version: v.Version, plural: r.Name, kind: r.Kind, global: !r.Namespaced})
					seen[r.Name] = len(out)
				}
			}
			for _, r := range list.APIResources {
				plural, sub, _ := strings.Cut(r.Name, "/")
				if i := seen[plural]; i > 0 && sub == "status" && out[i-1].version == v.Version {
					out[i-1].status = true
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b resource) int {
		return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.kind, b.kind))
	})
	return out, failed
}

// Read returns what clusterctl would look at to move a namespace, or all of them
// if it is empty: objects of the kinds whose definitions carry its label, in the
// version in which they are stored, Secrets and ConfigMaps; the Secrets of
// infrastructure providers; ClusterClasses in other namespaces with their
// templates, and the Clusters that use them (clusterctl: client/cluster/objectgraph.go,
// getDiscoveryTypes and Discovery). What must not be read becomes a problem of the
// snapshot.
//
// The error is set if the server cannot be reached, or ctx is done.
func (c *Cluster) Read(ctx context.Context, namespace string) (*snapshot.Snapshot, error) {
	r := &reader{Cluster: c, s: &snapshot.Snapshot{}}
	if err := r.list(ctx, definitions, ""); err != nil {
		return nil, err
	}
	kinds := []resource{secrets, configMaps}
	for i := range r.s.Objects {
		o := &r.s.Objects[i]
		d, ok := o.Detail.(*snapshot.Definition)
		if ok && o.Has(snapshot.Clusterctl) && d.Storage != "" {
			kinds = append(kinds, resourceOf(d, d.Storage))
		}
	}
	clusters := slices.IndexFunc(kinds, func(k resource) bool { return k.group == coreGroup && k.kind == "Cluster" })
	if clusters < 0 {
		return nil, fmt.Errorf("%s is not a management cluster: the definition of Clusters with the label clusterctl.cluster.x-k8s.io is missing", c.Host)
	}
	if r.definition(providers.group, providers.kind) != nil {
		if err := r.list(ctx, providers, ""); err != nil {
			return nil, err
		}
	}
	for i, kind := range kinds {
		in := namespace
		if i == clusters {
			in = "" // those of other namespaces may use a class of this one
		}
		problems := len(r.s.Problems)
		if err := r.list(ctx, kind, in); err != nil {
			return nil, err
		}
		if len(r.s.Problems) > problems && in != namespace {
			if err := r.list(ctx, kind, namespace); err != nil {
				return nil, err
			}
		}
	}
	if namespace == "" {
		return r.s, nil
	}
	for _, in := range r.providerNamespaces(namespace) {
		if err := r.list(ctx, secrets, in); err != nil {
			return nil, err
		}
	}
	return r.s, r.classes(ctx, namespace)
}

// reader fills a snapshot.
type reader struct {
	*Cluster
	s *snapshot.Snapshot
	// lean reads whole objects only of kinds with details.
	lean bool
}

// definition returns that of a kind, or nil.
func (r *reader) definition(group, kind string) *snapshot.Definition {
	for i := range r.s.Objects {
		if d, ok := r.s.Objects[i].Detail.(*snapshot.Definition); ok && d.Group == group && d.Kind == kind {
			return d
		}
	}
	return nil
}

func resourceOf(d *snapshot.Definition, version string) resource {
	return resource{group: d.Group, version: version, plural: d.Plural, kind: d.Kind, global: d.Global}
}

// providerNamespaces are those of infrastructure providers, without the one that is
// listed anyway.
func (r *reader) providerNamespaces(namespace string) []string {
	var out []string
	for i := range r.s.Objects {
		o := &r.s.Objects[i]
		p, ok := o.Detail.(*snapshot.Provider)
		if ok && p.Type == "InfrastructureProvider" && o.Namespace != namespace && !slices.Contains(out, o.Namespace) {
			out = append(out, o.Namespace)
		}
	}
	return out
}

// classes reads the ClusterClasses in other namespaces that Clusters use.
func (r *reader) classes(ctx context.Context, namespace string) error {
	type key struct{ namespace, name string }
	done := map[key]bool{}
	for i := range len(r.s.Objects) {
		o := &r.s.Objects[i]
		cluster, ok := o.Detail.(*snapshot.Cluster)
		if !ok || o.Namespace != namespace || cluster.Class == "" {
			continue
		}
		k := key{cmp.Or(cluster.ClassNamespace, namespace), cluster.Class}
		if k.namespace == namespace || done[k] {
			continue
		}
		done[k] = true
		class, err := r.one(ctx, snapshot.Ref{Group: coreGroup, Kind: "ClusterClass", Name: k.name}, k.namespace)
		if err != nil {
			return err
		}
		if class == nil {
			continue
		}
		for _, ref := range class.Templates {
			if _, err := r.one(ctx, ref, k.namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// one reads one object, and returns what it says if it is a ClusterClass. What is
// not there is left out.
func (r *reader) one(ctx context.Context, ref snapshot.Ref, namespace string) (*snapshot.Class, error) {
	d := r.definition(ref.Group, ref.Kind)
	if d == nil {
		return nil, nil
	}
	kind := resourceOf(d, cmp.Or(ref.Version, d.Storage))
	before := len(r.s.Objects)
	_, err := r.fetch(ctx, kind, kind.path(namespace)+"/"+url.PathEscape(ref.Name), nil)
	switch n := len(r.s.Objects); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, r.problem(ctx, kind, namespace, err)
	case n > before:
		class, _ := r.s.Objects[n-1].Detail.(*snapshot.Class)
		return class, nil
	}
	return nil, nil
}

// pageSize is how many objects the server sends at once.
const pageSize = "500"

// list reads the objects of a kind. There are none of a version that the server
// does not serve.
func (r *reader) list(ctx context.Context, kind resource, namespace string) error {
	next, before, limit := "", len(r.s.Objects), pageSize
	for {
		query := url.Values{"limit": {limit}}
		if next != "" {
			query.Set("continue", next)
		}
		var err error
		next, err = r.fetch(ctx, kind, kind.path(namespace), query)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && limit != "0":
			// It took too long: once more, and all at once.
			r.s.Objects, limit = r.s.Objects[:before], "0"
		case err != nil:
			return r.problem(ctx, kind, namespace, err)
		case next == "":
			return nil
		}
	}
}

// problem notes what cannot be read. It returns errors that concern everything.
func (r *reader) problem(ctx context.Context, kind resource, namespace string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	where := kind.String()
	if namespace != "" && !kind.global {
		where += " in namespace " + namespace
	}
	err = fmt.Errorf("%s cannot be read: %w", where, err)
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || apierrors.IsUnauthorized(err) || kind == definitions {
		return err
	}
	r.s.Problem(err)
	return nil
}

// metadataOnly asks for less than the objects; a server that does not know it
// sends them whole.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// fetch reads an answer into the snapshot.
func (r *reader) fetch(ctx context.Context, kind resource, path string, query url.Values) (next string, err error) {
	accept := metadataOnly
	if query == nil || snapshot.HasDetail(kind.group, kind.kind) ||
		!r.lean && snapshot.NeedsSpec(kind.group, kind.kind) {
		accept = "application/json"
	}
	request := r.client.Get().AbsPath(path).SetHeader("Accept", accept)
	for key := range query {
		request.Param(key, query.Get(key))
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return "", err
	}
	defer body.Close()
	return r.s.ReadList(ctx, snapshot.Source{Name: path, APIVersion: kind.apiVersion(), Kind: kind.kind}, body)
}
