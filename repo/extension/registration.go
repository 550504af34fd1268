package extension

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// configGroup, configVersion and ConfigKind of ExtensionConfigs.
const (
	configGroup   = "runtime.cluster.x-k8s.io"
	configVersion = configGroup + "/v1beta2"
	ConfigKind    = "ExtensionConfig"
	// injectCA is the annotation that lets Cluster API copy a CA from a Secret.
	injectCA = configGroup + "/inject-ca-from-secret"
)

// defaultPort is the one of an ExtensionConfig without a port.
const defaultPort = 443

// Server is how Cluster API reaches a server.
type Server struct {
	// Config is the ExtensionConfig of the components; nil if they have none.
	Config *manifest.Object
	// Service is the one that leads to the server, in Namespace, with Port. Path
	// comes before that of each hook.
	Service, Namespace string
	Port               int64
	Path               string
	// Targets are the ports of the pods that Port leads to.
	Targets []string
	// Secret holds the certificate with its CA; empty if it is not known.
	Secret string
}

// FindServer returns the server among the objects of components: the Service that is given
// as NAMESPACE/NAME, or else the one of an ExtensionConfig, or the one that a Certificate
// is for, or the only one. The error says what is missing, and which Services there are.
func FindServer(objects []*manifest.Object, service string) (*Server, error) {
	s := &Server{Port: defaultPort}
	full := func(o *manifest.Object) string { return o.Namespace + "/" + o.Name }
	var services []*manifest.Object
	var names []string
	for _, o := range objects {
		switch {
		case o.Is(configGroup, ConfigKind) && s.Config == nil:
			s.Config = o
		case o.Is("", "Service"):
			services = append(services, o)
			names = append(names, full(o))
		}
	}
	var config *yamldoc.Node
	if s.Config != nil {
		config = s.Config.Get("spec", "clientConfig", "service")
	}
	if name := config.Get("name").Str(); service == "" && name != "" {
		service = config.Get("namespace").Str() + "/" + name
	}
	if service == "" {
		for _, o := range services {
			if secretOf(objects, o) != "" {
				if service != "" {
					return nil, fmt.Errorf("certificates are for several Services: %s and %s", service, full(o))
				}
				service = full(o)
			}
		}
	}
	if service == "" && len(services) == 1 {
		service = full(services[0])
	}
	// Clusterctl moves a Service without a namespace to the one of the provider.
	i := slices.IndexFunc(services, func(o *manifest.Object) bool {
		return full(o) == service || o.Namespace == "" && strings.HasSuffix(service, "/"+o.Name)
	})
	switch {
	case service == "" && len(services) == 0:
		return nil, fmt.Errorf("the components have no Service")
	case service == "":
		return nil, fmt.Errorf("several Services may belong to the extension: %s", strings.Join(names, ", "))
	case i < 0:
		return nil, errors.New(phrase.Unknown("Service", service, names))
	}
	found := services[i]
	s.Service, s.Namespace, s.Path = found.Name, found.Namespace, config.Get("path").Str()
	if port, ok := config.Get("port").Int(); ok && config.Get("name").Str() == found.Name {
		s.Port = port
	} else if ports := found.Get("spec", "ports").List(); len(ports) > 0 && !hasPort(ports, s.Port) {
		if port, ok := ports[0].Get("port").Int(); ok {
			s.Port = port
		}
	}
	s.Targets = targets(objects, found, s.Port)
	if s.Secret = secretOf(objects, found); s.Secret == "" && s.Config != nil {
		annotation, _ := s.Config.Annotation(injectCA)
		_, s.Secret, _ = strings.Cut(annotation, "/")
	}
	return s, nil
}

// Name is the one of the server in its certificate.
func (s *Server) Name() string { return s.Service + "." + s.Namespace + ".svc" }

// secretOf returns the Secret of the Certificate for a Service, or "".
func secretOf(objects []*manifest.Object, service *manifest.Object) string {
	for _, o := range objects {
		if !o.Is("cert-manager.io", "Certificate") {
			continue
		}
		if yamldoc.Has(o.Get("spec", "dnsNames").List(), service.Name+"."+service.Namespace+".svc") {
			return o.Get("spec", "secretName").Str()
		}
	}
	return ""
}

func hasPort(ports []*yamldoc.Node, port int64) bool {
	return slices.ContainsFunc(ports, func(p *yamldoc.Node) bool {
		n, ok := p.Get("port").Int()
		return ok && n == port
	})
}

// targets are the ports of pods that a port of a Service leads to.
func targets(objects []*manifest.Object, service *manifest.Object, port int64) []string {
	var out []string
	for _, p := range service.Get("spec", "ports").List() {
		if n, ok := p.Get("port").Int(); !ok || n != port {
			continue
		}
		target := p.Get("targetPort")
		if n, ok := target.Int(); ok {
			out = append(out, strconv.FormatInt(n, 10))
			continue
		}
		if target.Str() == "" {
			out = append(out, strconv.FormatInt(port, 10))
			continue
		}
		for _, o := range objects {
			pod := o.Get("spec", "template")
			if !selects(service.Get("spec", "selector"), pod.Get("metadata", "labels")) {
				continue
			}
			for _, declared := range pod.All("spec", "containers", "*", "ports", "*") {
				if n, ok := declared.Get("containerPort").Int(); ok && declared.Get("name").Str() == target.Str() {
					out = append(out, strconv.FormatInt(n, 10))
				}
			}
		}
	}
	return out
}

// selects reports whether a selector is met by labels; an empty one selects nothing.
func selects(selector, labels *yamldoc.Node) bool {
	return len(selector.Fields()) > 0 && !slices.ContainsFunc(selector.Fields(), func(f yamldoc.Field) bool {
		return labels.Get(f.Name) == nil || labels.Get(f.Name).Str() != f.Value.Str()
	})
}

// Config says what an ExtensionConfig shall have that the components do not tell.
type Config struct {
	Name string
	// Namespace is where the components are installed; empty for where they say.
	Namespace string
	// CA are certificates in PEM. Without them Cluster API copies the CA from the
	// Secret of the Certificate.
	CA []byte
	// Settings replace those of the components, key by key.
	Settings map[string]string
}

// ErrNoCA says that nothing vouches for the server.
var ErrNoCA = errors.New("the components have no Certificate for the Service, so it is not known who vouches for the server")

// Write returns the ExtensionConfig of a server. Settings and the selector of
// namespaces are those of the components, if they have one. The error says what
// Cluster API would not take.
func (s *Server) Write(c Config) (map[string]any, error) {
	if problems := validation.IsDNS1123Label(c.Name); len(problems) > 0 {
		return nil, fmt.Errorf("%q is not a valid name for an ExtensionConfig: %s", c.Name, problems[0])
	}
	namespace := cmp.Or(c.Namespace, s.Namespace)
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return nil, fmt.Errorf("the Service %s has no valid namespace: %q", s.Service, namespace)
	}
	metadata := map[string]any{"name": c.Name}
	service := map[string]any{"name": s.Service, "namespace": namespace, "port": s.Port}
	if s.Path != "" {
		service["path"] = s.Path
	}
	client := map[string]any{"service": service}
	switch {
	case len(c.CA) > 0:
		client["caBundle"] = base64.StdEncoding.EncodeToString(c.CA)
	case s.Secret != "":
		metadata["annotations"] = map[string]any{injectCA: namespace + "/" + s.Secret}
	default:
		return nil, ErrNoCA
	}
	spec := map[string]any{"clientConfig": client}
	settings := map[string]any{}
	if s.Config != nil {
		if selector := s.Config.Get("spec", "namespaceSelector"); selector.Is(yamldoc.Map) {
			spec["namespaceSelector"] = selector.Value()
		}
		for _, f := range s.Config.Get("spec", "settings").Fields() {
			settings[f.Name] = f.Value.Str()
		}
	}
	for k, v := range c.Settings {
		settings[k] = v
	}
	if len(settings) > 0 {
		spec["settings"] = settings
	}
	return map[string]any{"apiVersion": configVersion, "kind": ConfigKind, "metadata": metadata, "spec": spec}, nil
}
