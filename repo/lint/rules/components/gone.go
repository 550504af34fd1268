package components

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// removedAPI is a version of an API that its server no longer has.
type removedAPI struct {
	group, version string
	// kinds are those that are gone; none means all.
	kinds []string
	// minor is the first version of Kubernetes, 1.minor, without it; 0 for APIs
	// of another server.
	minor int
	// instead is what to write.
	instead string
}

// removedAPIs are those of the Kubernetes API deprecation guide, and of the
// cert-manager release notes (v1.6, and v0.11 for the old group).
var removedAPIs = []removedAPI{
	{"extensions", "v1beta1", []string{"Ingress"}, 22, "networking.k8s.io/v1"},
	{"extensions", "v1beta1", []string{"PodSecurityPolicy"}, 16, ""},
	{"extensions", "v1beta1", []string{"NetworkPolicy"}, 16, "networking.k8s.io/v1"},
	{"extensions", "v1beta1", nil, 16, "apps/v1"},
	{"apps", "v1beta1", nil, 16, "apps/v1"},
	{"apps", "v1beta2", nil, 16, "apps/v1"},
	{"policy", "v1beta1", []string{"PodSecurityPolicy"}, 25, ""},
	{"policy", "v1beta1", nil, 25, "policy/v1"},
	{"networking.k8s.io", "v1beta1", []string{"Ingress", "IngressClass"}, 22, "networking.k8s.io/v1"},
	{"admissionregistration.k8s.io", "v1beta1", []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}, 22, "admissionregistration.k8s.io/v1"},
	{crd.Group, "v1beta1", nil, 22, crd.Group + "/v1"},
	{"rbac.authorization.k8s.io", "v1alpha1", nil, 22, "rbac.authorization.k8s.io/v1"},
	{"rbac.authorization.k8s.io", "v1beta1", nil, 22, "rbac.authorization.k8s.io/v1"},
	{"apiregistration.k8s.io", "v1beta1", nil, 22, "apiregistration.k8s.io/v1"},
	{"certificates.k8s.io", "v1beta1", []string{"CertificateSigningRequest"}, 22, "certificates.k8s.io/v1"},
	{"coordination.k8s.io", "v1beta1", []string{"Lease"}, 22, "coordination.k8s.io/v1"},
	{"scheduling.k8s.io", "v1alpha1", []string{"PriorityClass"}, 22, "scheduling.k8s.io/v1"},
	{"scheduling.k8s.io", "v1beta1", []string{"PriorityClass"}, 22, "scheduling.k8s.io/v1"},
	{"storage.k8s.io", "v1beta1", []string{"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"}, 22, "storage.k8s.io/v1"},
	{"storage.k8s.io", "v1beta1", []string{"CSIStorageCapacity"}, 27, "storage.k8s.io/v1"},
	{"batch", "v2alpha1", nil, 21, "batch/v1"},
	{"batch", "v1beta1", nil, 25, "batch/v1"},
	{"discovery.k8s.io", "v1beta1", nil, 25, "discovery.k8s.io/v1"},
	{"events.k8s.io", "v1beta1", nil, 25, "events.k8s.io/v1"},
	{"node.k8s.io", "v1beta1", nil, 25, "node.k8s.io/v1"},
	{"autoscaling", "v2beta1", nil, 25, "autoscaling/v2"},
	{"autoscaling", "v2beta2", nil, 26, "autoscaling/v2"},
	{"flowcontrol.apiserver.k8s.io", "v1beta1", nil, 26, "flowcontrol.apiserver.k8s.io/v1"},
	{"flowcontrol.apiserver.k8s.io", "v1beta2", nil, 29, "flowcontrol.apiserver.k8s.io/v1"},
	{"flowcontrol.apiserver.k8s.io", "v1beta3", nil, 32, "flowcontrol.apiserver.k8s.io/v1"},
	{"cert-manager.io", "v1alpha2", nil, 0, "cert-manager.io/v1"},
	{"cert-manager.io", "v1alpha3", nil, 0, "cert-manager.io/v1"},
	{"cert-manager.io", "v1beta1", nil, 0, "cert-manager.io/v1"},
	{"acme.cert-manager.io", "v1alpha2", nil, 0, "acme.cert-manager.io/v1"},
	{"acme.cert-manager.io", "v1alpha3", nil, 0, "acme.cert-manager.io/v1"},
	{"acme.cert-manager.io", "v1beta1", nil, 0, "acme.cert-manager.io/v1"},
	{"certmanager.k8s.io", "v1alpha1", nil, 0, "cert-manager.io/v1"},
}

// servedVersions are those of the API groups of Kubernetes that every management cluster serves;
// others exist, if at all, only where an administrator turns them on.
var servedVersions = map[string][]string{
	"": {"v1"}, "apps": {"v1"}, "batch": {"v1"}, "autoscaling": {"v1", "v2"}, "policy": {"v1"},
	"networking.k8s.io": {"v1"}, view.RbacGroup: {"v1"}, crd.Group: {"v1"}, "admissionregistration.k8s.io": {"v1"},
	"apiregistration.k8s.io": {"v1"}, "certificates.k8s.io": {"v1"}, "coordination.k8s.io": {"v1"}, "discovery.k8s.io": {"v1"},
	"events.k8s.io": {"v1"}, "node.k8s.io": {"v1"}, "scheduling.k8s.io": {"v1"}, "storage.k8s.io": {"v1"},
	"flowcontrol.apiserver.k8s.io": {"v1"}, "extensions": {},
}

// knownKinds are those of API groups that no provider extends. A kind that is almost one of these
// is misspelt; others may be new.
var knownKinds = map[string][]string{
	"": strings.Fields("Binding ConfigMap Endpoints Event LimitRange List Namespace Node PersistentVolume PersistentVolumeClaim Pod " +
		"PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"),
	"apps":              {"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
	"batch":             {"CronJob", "Job"},
	"autoscaling":       {"HorizontalPodAutoscaler"},
	"policy":            {"PodDisruptionBudget"},
	"networking.k8s.io": {"Ingress", "IngressClass", "NetworkPolicy"},
	view.RbacGroup:      {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	crd.Group:           {crd.Kind},
	"admissionregistration.k8s.io": strings.Fields("MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration " +
		"ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"),
	"scheduling.k8s.io":   {"PriorityClass"},
	view.CertManagerGroup: {"Certificate", "CertificateRequest", "ClusterIssuer", "Issuer"},
	view.CoreGroup:        strings.Fields("Cluster ClusterClass Machine MachineDeployment MachineDrainRule MachineHealthCheck MachinePool MachineSet"),
}

// oldestKubernetes is the minor version of the oldest Kubernetes that a management
// cluster may have under a minor version of Cluster API (docs/book/src/reference/versions.md).
func oldestKubernetes(core int) int { return core + 19 }

var _ = componentRules.Add(lint.Rule{
	ID: "COMP035", Name: "removed-api", Severity: lint.Error, Proof: lint.APIServer,
	Yields: []string{"COMP007", "COMP008", "COMP018", "CRD005"},
	Title:  "Objects must use API versions and kinds that management clusters have",
	Source: "Kubernetes documentation, Deprecated API Migration Guide; cert-manager v1.6 release notes; Cluster API versions.md",
	Why:    "The installation or the creation of a cluster fails in the middle, because the API server does not know the kind in this version.",
	Fix:    "Use the version that replaced it, and check the fields.",
	Kinds:  view.Substituted, Check: view.EachObject(removedAPIsUsed),
})

func removedAPIsUsed(p *lint.Pass, o *manifest.Object) {
	n := o.Get("apiVersion")
	if view.Open(o, n) || p.Release.CRD(o.Group, o.Kind) != nil {
		return
	}
	i := slices.IndexFunc(removedAPIs, func(r removedAPI) bool {
		return r.group == o.Group && r.version == o.Version && (r.kinds == nil || slices.Contains(r.kinds, o.Kind))
	})
	served, known := servedVersions[o.Group]
	kinds := knownKinds[o.Group]
	switch near := phrase.Nearest(o.Kind, kinds); {
	case near != "" && !slices.Contains(kinds, o.Kind) && !strings.HasSuffix(o.Kind, "List") && !view.Open(o, o.Get("kind")):
		f := lint.On(o, o.Get("kind"), "%s has no kind %s", n.Text(), o.Kind).Meant(near).Because(near + " " + o.Name)
		switch ref := o.Get("roleRef"); {
		case near == crd.Kind:
			f = f.Because(o.Name)
		case near == "Namespace":
			f = f.Because(near)
		case ref != nil:
			f = f.Because("binding of " + ref.Get("kind").Str() + " " + ref.Get("name").Str())
		}
		p.Report(f)
		return
	case i < 0 && known && n.Str() != "" && o.Kind != "" && !slices.Contains(served, o.Version):
		f := lint.On(o, n, "Kubernetes does not serve %s by default, the version of this %s", n.Text(), o.Kind)
		if len(served) > 0 {
			f.Fix = "Write version " + phrase.Or(served) + ", and check the fields."
		}
		p.Report(f)
		return
	case i < 0:
		return
	}
	r := removedAPIs[i]
	f := lint.On(o, n, "%s of %s/%s", o.Kind, r.group, r.version)
	switch oldest := oldestKubernetes(p.Profile.Core); {
	case r.minor == 0:
		f.Message += " was removed from cert-manager, which clusterctl installs in a newer version"
	case r.minor <= oldest:
		f.Message += fmt.Sprintf(" was removed in Kubernetes v1.%d; management clusters have at least v1.%d", r.minor, oldest)
	default:
		f.Message += fmt.Sprintf(" was removed in Kubernetes v1.%d", r.minor)
		f.Severity = lint.Warning
	}
	f.Fix = "Write " + r.instead + ", and check the fields."
	if r.instead == "" {
		f.Fix = "Remove the object: Pod Security Admission replaces it, with labels of the namespace."
	}
	p.Report(f)
}

// goneRegistry is a place that images cannot be relied on to be at.
type goneRegistry struct {
	// name matches the full name of an image, without tag and digest.
	name *regexp.Regexp
	// what completes "image X …"; instead is what to write.
	what, instead string
}

// goneRegistries are, with the time since when: places that were closed or are
// cleaned regularly, and those that only developers reach. The first row counts.
var goneRegistries = func() func() []goneRegistry {
	rows := [...][3]string{
		// Announced for early 2025 by kubebuilder (discussion 3907), with the end of Container Registry.
		{`^gcr\.io/kubebuilder/`, "is no longer available", "Serve metrics with the WithAuthenticationAndAuthorization filter of controller-runtime instead of kube-rbac-proxy, or use quay.io/brancz/kube-rbac-proxy."},
		// Since 2023-04-03 nothing new appears there; registry.k8s.io/announcements.
		{`^k8s\.gcr\.io/|^(us|eu|asia)\.gcr\.io/k8s-artifacts-prod/|^gcr\.io/google[-_]containers/`, "is in a registry that was frozen in April 2023", "Use registry.k8s.io."},
		// Images are deleted after 60 to 90 days (kubernetes/k8s.io, registry.k8s.io/README.md).
		{`^gcr\.io/k8s-staging-|^[a-z0-9-]+-docker\.pkg\.dev/k8s-staging-images/`, "is in a staging registry, which deletes images after some weeks", "Promote the image, and use registry.k8s.io."},
		// Since 2025-09-29 (bitnami/containers issue 83267).
		{`^docker\.io/bitnami/`, "is in a repository whose version tags were removed in September 2025", "Use an image of the project itself."},
		// Closed since 2021 in favour of ghcr.io.
		{`^docker\.pkg\.github\.com/`, "is in GitHub's old registry, which is closed", "Use ghcr.io."},
		{`^(localhost|127\.0\.0\.1|kind-registry|host\.docker\.internal)(:[0-9]+)?/`, "is in a registry that only its author's machine can reach", "Push the image to a registry that users can reach."},
		{`^([a-z0-9-]+[.-])?(staging|stage|rc|release-candidates?|nightly|preprod|sandbox)([.-][a-z0-9.-]*)?(:[0-9]+)?/`, "is in a registry that is not meant for releases", "Push the image to the registry for releases."},
		{`/[a-z0-9._-]*-v?[0-9]+\.[0-9]+\.[0-9]+[a-z0-9._-]*/`, "has a version inside its path, which probably belongs in the tag", "Write REGISTRY/PATH/NAME:VERSION."},
	}
	return sync.OnceValue(func() []goneRegistry {
		return phrase.List(rows[:], func(r [3]string) goneRegistry { return goneRegistry{regexp.MustCompile(r[0]), r[1], r[2]} })
	})
}()

var _ = componentRules.Add(lint.Rule{
	ID: "COMP036", Name: "gone-registry", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "Images should be in registries that users can rely on",
	Source: "announcements of the registries, with their dates in repo/lint/rules/components/gone.go",
	Why:    "Pods do not start, today or in some weeks, because the image cannot be pulled.",
	Fix:    `Push the image to a registry for releases. "clusterctl-repo lint --check-images" asks the registries.`,
	Kinds:  view.Substituted, Check: view.EachObject(goneImages),
})

// images are lines of manifests of pods in files for the machines of a cluster.
var images = phrase.Pattern(`^[ \t-]*image:[ \t]*["']?([^\s"'#]+)`)

// goneImages looks at the images of pods, and in the objects of clusters at every field that
// names an image or a repository of images.
func goneImages(p *lint.Pass, o *manifest.Object) {
	judge := func(n *yamldoc.Node, field, text, shown string) {
		named, err := imageref.Parse(text)
		if err != nil || imageref.Moving(named.Tag) {
			return // COMP015; an image of developers, for which COMP016 says what to do
		}
		i := slices.IndexFunc(goneRegistries(), func(r goneRegistry) bool { return r.name.MatchString(named.Name()) })
		if i < 0 {
			return
		}
		f := lint.On(o, n, "%s %s %s", field, cmp.Or(shown, named.Name()), goneRegistries()[i].what)
		f.Fix = goneRegistries()[i].instead
		p.Report(f)
	}
	if p.File.Kind == layouts.Components {
		for _, c := range view.ContainersOf(o) {
			if n := c.Get("image"); n.Is(yamldoc.String) && !view.Open(o, n) {
				judge(n, "image", n.Text(), "")
			}
		}
		return
	}
	view.Each(o.Doc.Root, func(n *yamldoc.Node) {
		for i := range n.Fields() {
			f := &n.Fields()[i]
			switch text := f.Value.Str(); {
			case text == "":
			case f.Name == "imageRepository" && !view.Open(o, f.Value):
				judge(f.Value, f.Name, strings.TrimSuffix(text, "/")+"/image", text)
			case f.Name == "image" && !view.Open(o, f.Value):
				judge(f.Value, f.Name, text, "")
			case len(text) > len("image: a/b"):
				for line := range phrase.LinesWith(text, "image:") {
					if m := images().FindStringSubmatch(line); m != nil {
						judge(f.Value, "image", m[1], "")
					}
				}
			}
		}
	})
}

var _ = componentRules.Add(lint.Rule{
	ID: "COMP037", Name: "image-exists", Severity: lint.Error, Proof: lint.Practice, Flag: lint.CheckImages,
	Title:  "Registries must have the images",
	Source: "OCI distribution specification, Pulling manifests: the registry's own answer",
	Why:    "Pods never start, because the image cannot be pulled.",
	Fix:    "Push the image before the release, or correct its name, tag or digest.",
	Kinds:  view.Substituted, Check: func(p *lint.Pass) {
		askedImages(p, func(name lint.ImageName, i lint.Image) string {
			if i.Missing {
				return fmt.Sprintf("the registry does not have the image %s", name)
			}
			return ""
		})
	},
})

var _ = componentRules.Add(lint.Rule{
	ID: "COMP038", Name: "image-platforms", Severity: lint.Warning, Proof: lint.Practice, Flag: lint.CheckImages,
	Title:  "Images should be built for the platforms that users have",
	Source: "OCI image specification, Image Index: the registry's own answer",
	Why:    "On nodes of another architecture, pods do not start.",
	Fix:    "Build the image for each platform, and push an index of them. --platform selects the ones to check.",
	Kinds:  view.Substituted, Check: func(p *lint.Pass) {
		askedImages(p, func(name lint.ImageName, i lint.Image) string {
			if len(i.Lacks) > 0 {
				return fmt.Sprintf("the image %s is not built for %s", name, phrase.And(i.Lacks))
			}
			return ""
		})
	},
})

// askedImages asks for the images of a file and reports at each what say returns.
func askedImages(p *lint.Pass, say func(lint.ImageName, lint.Image) string) {
	var names []lint.ImageName
	var objects []*manifest.Object
	var nodes []*yamldoc.Node
	for _, o := range p.File.Objects() {
		for _, c := range view.ContainersOf(o) {
			n := c.Get("image")
			if !n.Is(yamldoc.String) || view.Open(o, n) {
				continue
			}
			named, err := imageref.Parse(n.Text())
			if err != nil {
				continue // COMP015
			}
			names = append(names, lint.ImageName{Host: named.Domain, Path: named.Path, Reference: cmp.Or(named.Digest, named.Tag, "latest")})
			objects, nodes = append(objects, o), append(nodes, n)
		}
	}
	if len(names) == 0 {
		return
	}
	for i, image := range p.Images(names) {
		if text := say(names[i], image); text != "" && image.Err == nil {
			p.On(objects[i], nodes[i], "%s", text)
		}
	}
}
