package contract

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Role is what Cluster API uses a kind for. The roles have the names that the
// pages of the contract use.
type Role string

// The roles. Aux is every kind that core never reads.
const (
	InfraCluster       Role = "InfraCluster"
	InfraMachine       Role = "InfraMachine"
	InfraMachinePool   Role = "InfraMachinePool"
	MachinePoolMachine Role = "MachinePoolMachine"
	BootstrapConfig    Role = "BootstrapConfig"
	ControlPlane       Role = "ControlPlane"
	IPPool             Role = "IPPool"
	Remediation        Role = "Remediation"
	addon              Role = "Addon"
	Core               Role = "Core"
	Aux                Role = "Aux"
)

// roles are all that a kind may be given.
var roles = [...]Role{InfraCluster, InfraMachine, InfraMachinePool, MachinePoolMachine, BootstrapConfig, ControlPlane, IPPool, Remediation, addon, Core, Aux}

// Referenced reports whether core objects refer to kinds of this role, which are
// those that need a contract label. Remediations are referred to with their
// version, IP pools and add-ons only by their own providers.
func (r Role) Referenced() bool {
	switch r {
	case InfraCluster, InfraMachine, InfraMachinePool, MachinePoolMachine, BootstrapConfig, ControlPlane:
		return true
	}
	return false
}

// Kind is a definition with what the contracts make of it.
type Kind struct {
	*crd.CRD
	Role Role
	// Template is set for the templates of the role.
	Template bool
	// InClasses is set if there is a template of the kind, so that a ClusterClass can
	// use it.
	InClasses bool
	// Reason says why the kind has this role; Used that objects refer to it in this role,
	// whatever its name.
	Reason string
	Used   bool
	// Contract and Chosen are what Cluster API takes from the labels; empty
	// without a label.
	Contract Contract
	Chosen   string
	// Judged is the version to compare with the contract: the chosen one, or the
	// one that is stored if the profile demands a contract or the role needs no
	// label. It is nil if there is none.
	Judged *crd.Version
	// Also is the same definition in further roles.
	Also []*Kind
}

// Suffix ends the names of templates.
const Suffix = "Template"

// Base returns the kind without the Suffix of templates.
func (k *Kind) Base() string {
	if k.Template {
		return strings.TrimSuffix(k.Kind, Suffix)
	}
	return k.Kind
}

// Described reports whether a contract says something about kinds of the role.
func (k *Kind) Described() bool {
	return k.Role.Referenced() || k.Role == IPPool || k.Role == Remediation
}

// RoleName is the role as the pages of the contract call it: that of a template ends in
// the Suffix.
func (k *Kind) RoleName() string {
	if k.Template {
		return string(k.Role) + Suffix
	}
	return string(k.Role)
}

// Kinds gives every definition its role: the one that the profile says, or else those in
// which objects refer to it, or else the one that its name and its fields tell.
func (p Profile) Kinds(crds []*crd.CRD, uses Uses) []*Kind {
	c := classifier{profile: p, uses: uses, known: map[[2]string]*crd.CRD{}, labelled: map[string]bool{}, asked: map[[3]string]bool{}}
	for _, d := range crds {
		c.known[[2]string{d.Group, d.Kind}] = d
		if declares(d) {
			c.labelled[d.Group] = true
		}
	}
	return phrase.List(crds, c.classify)
}

// classifier knows what stands next to a definition.
type classifier struct {
	profile  Profile
	uses     Uses
	known    map[[2]string]*crd.CRD
	labelled map[string]bool    // groups
	asked    map[[3]string]bool // see candidate.any
}

// declares reports whether a definition has the label of any contract.
func declares(d *crd.CRD) bool {
	return slices.ContainsFunc(Accepted[:], func(c Contract) bool {
		_, ok := d.Object.Label(c.Label())
		return ok
	})
}

func (c *classifier) classify(d *crd.CRD) *Kind {
	k := &Kind{CRD: d, Template: strings.HasSuffix(d.Kind, Suffix) && d.Kind != Suffix}
	k.InClasses = c.known[[2]string{d.Group, d.Kind + Suffix}] != nil
	k.Contract, k.Chosen, _ = c.profile.Choose(d)
	candidate := candidate{classifier: c, CRD: d, base: k.Base(), schema: schemaOf(d, k.Chosen)}
	for _, row := range classes {
		if row.is(&candidate) {
			k.Role, k.Reason = row.role, row.reason
			if k.Template {
				k.Reason = ofTemplate.Replace("it makes " + k.Base() + ", " + row.reason)
			}
			break
		}
	}
	for _, kind := range []string{d.Kind, k.Base()} {
		if role, ok := c.profile.Roles[kind+"."+d.Group]; ok {
			k.Role, k.Reason = role, "the configuration says so"
			k.judge(c.profile)
			return k
		}
	}
	roles := c.roles(k)
	for _, role := range roles {
		if role != k.Role {
			k.Also = append(k.Also, c.as(k, role))
		}
	}
	if len(roles) > 0 && roles[0] != k.Role {
		first := k.Also[0]
		first.Also = k.Also[1:]
		return first
	}
	k.judge(c.profile)
	return k
}

// as is the same kind in a role in which objects refer to it.
func (c *classifier) as(k *Kind, role Role) *Kind {
	out := *k
	out.Role, out.Reason, out.Used = role, c.uses[[2]string{k.Group, k.Base()}][role].why, true
	out.judge(c.profile)
	return &out
}

// roles returns the roles of a kind, the most important first, that has one by its name
// or none. What refers to it decides. But a reference to a kind that has another role by
// its name may be wrong: the kind loses that role only if it keeps the contract of the other,
// and a ClusterClass gives it a further one only then.
func (c *classifier) roles(k *Kind) []Role {
	used := c.uses.of(k.Group, k.Base())
	switch k.Role {
	case Core:
		return nil
	case Aux:
		return used
	}
	var fit, misfit []Role
	for _, role := range used {
		switch {
		case role == k.Role, role == IPPool: // a field for pools is only known by its name
		case c.keeps(k, role):
			fit = append(fit, role)
		case !c.uses[[2]string{k.Group, k.Base()}][role].class:
			misfit = append(misfit, role)
		}
	}
	if slices.Contains(used, k.Role) || len(fit) == 0 {
		fit = slices.Insert(fit, 0, k.Role)
	}
	return append(fit, misfit...)
}

// keeps reports whether a kind, or the one that a template is for, has what the contract
// of a role demands.
func (c *classifier) keeps(k *Kind, role Role) bool {
	d := c.known[[2]string{k.Group, k.Base()}]
	if d == nil {
		return false
	}
	of := &Kind{CRD: d, Role: role}
	of.Contract, of.Chosen, _ = c.profile.Choose(d)
	of.judge(c.profile)
	return of.Judged != nil && len(of.blocking(of.Judged.Schema, c.profile)) == 0
}

// ofTemplate turns the reason for a kind into that for its template.
var ofTemplate = strings.NewReplacer(", its ", ", whose ", ", it ", ", which ", ", neither ", ", of which neither ")

// judge chooses the version to compare with the contract.
func (k *Kind) judge(p Profile) {
	switch {
	case k.Chosen != "":
		k.Judged = k.Version(k.Chosen)
	case p.Contract != "" || !k.Role.Referenced():
		k.Judged = k.Storage()
	}
	k.Contract = cmp.Or(k.Contract, p.Contract)
}

// schemaOf returns the schema of a version, or else of the one that is stored.
func schemaOf(d *crd.CRD, version string) crd.Schema {
	if v := cmp.Or(d.Version(version), d.Storage()); v != nil {
		return v.Schema
	}
	return crd.Schema{}
}

// candidate is a definition that has no role yet.
type candidate struct {
	*classifier
	*crd.CRD
	base   string
	schema crd.Schema
}

// has reports whether the schema describes a field; of a template what it makes.
func (c *candidate) has(path ...string) bool {
	if c.base != c.Kind {
		path = append([]string{"spec", "template"}, path...)
	}
	_, presence := c.schema.At(path...)
	return presence == crd.Present
}

// place reports whether a part of the group's name is one of the words:
// infrastructure.cluster.x-k8s.io, vmware.infrastructure.example.com.
func (c *candidate) place(words ...string) bool {
	parts := strings.Split(c.Group, ".")
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(parts, word) })
}

// other is the template of a kind, or the kind of a template; nil if it is not defined.
func (c *candidate) other() *crd.CRD {
	if c.base != c.Kind {
		return c.known[[2]string{c.Group, c.base}]
	}
	return c.known[[2]string{c.Group, c.Kind + Suffix}]
}

func (c *candidate) sibling() bool { return c.other() != nil }

// initialized reports whether the schema has one of the fields that report the
// end of the initialization.
func (c *candidate) initialized() bool {
	return c.has("status", "initialization") || c.has("status", "initialized") || c.has("status", "ready")
}

// templated reports whether the group has a kind with an ending and its template.
// Users refer to that one, so that one without a template is internal: a virtual
// machine that the controller makes for a machine.
func (c *candidate) templated(ending string) bool { return c.any(ending, Suffix) }

// any reports whether the group has a kind with an ending, and the same with more behind it.
func (c *candidate) any(ending, more string) bool {
	question := [3]string{c.Group, ending, more}
	answer, asked := c.asked[question]
	if !asked {
		for k := range c.known {
			answer = answer || k[0] == c.Group && strings.HasSuffix(k[1], ending) && c.known[[2]string{k[0], k[1] + more}] != nil
		}
		c.asked[question] = answer
	}
	return answer
}

const apiGroup = "cluster.x-k8s.io"

// OfClusterAPI reports whether a group is that of Cluster API or below it, as those of providers
// usually are.
func OfClusterAPI(group string) bool { return strings.HasSuffix("."+group, "."+apiGroup) }

// contractual reports whether the group or a label says that the kind is there
// for Cluster API. In a group of its own a provider has other kinds as well.
func (c *candidate) contractual() bool {
	return OfClusterAPI(c.Group) || declares(c.CRD) || c.sibling() && declares(c.other()) || c.has("spec", "providerIDList") ||
		c.place("infrastructure", "bootstrap", "controlplane") && (c.labelled[c.Group] || c.initialized())
}

// infrastructure reports whether the group is one of infrastructure providers.
// Outside of cluster.x-k8s.io a group with another name is taken for one too.
func (c *candidate) infrastructure() bool {
	return c.place("infrastructure") ||
		!OfClusterAPI(c.Group) && !c.place("bootstrap", "controlplane", "ipam", "addons")
}

// classes say how a kind is recognized. The first row that applies counts. The
// names are conventions that the pages of the contract recommend; where they are
// not kept, fields that no other role has decide.
var classes = [...]struct {
	role   Role
	reason string
	is     func(c *candidate) bool
}{
	{Core, "its group belongs to Cluster API itself", func(c *candidate) bool {
		switch c.Group {
		case apiGroup, "runtime." + apiGroup, "clusterctl." + apiGroup:
			return true
		case "addons." + apiGroup:
			return strings.HasPrefix(c.Kind, "ClusterResourceSet")
		case "ipam." + apiGroup:
			return c.Kind == "IPAddress" || c.Kind == "IPAddressClaim"
		}
		return false
	}},
	{IPPool, "its name ends with IPPool, or with Pool in a group for IPAM", func(c *candidate) bool {
		return strings.HasSuffix(c.Kind, "IPPool") || c.place("ipam") && strings.HasSuffix(c.Kind, "Pool")
	}},
	{IPPool, "it is in a group for IPAM and has addresses to give", func(c *candidate) bool {
		return c.place("ipam") && !strings.HasSuffix(c.Kind, "Claim") && slices.ContainsFunc([]string{"addresses", "subnet", "subnets", "prefix", "pools", "ranges", "start", "cidr", "cidrs"}, func(name string) bool { return c.has("spec", name) })
	}},
	{Aux, "neither its group nor a label belongs to Cluster API", func(c *candidate) bool { return !c.contractual() }},
	{ControlPlane, "its name ends with ControlPlane", func(c *candidate) bool { return strings.HasSuffix(c.base, "ControlPlane") }},
	{ControlPlane, "its group is for control planes and it reports that it is initialized", func(c *candidate) bool {
		return c.place("controlplane") && (c.has("status", "initialized") || c.has("status", "initialization"))
	}},
	{InfraMachinePool, "its name ends with MachinePool", func(c *candidate) bool { return strings.HasSuffix(c.base, "MachinePool") }},
	{InfraMachinePool, "it has spec.providerIDList", func(c *candidate) bool { return c.has("spec", "providerIDList") }},
	{MachinePoolMachine, "its name ends with MachinePoolMachine", func(c *candidate) bool { return strings.HasSuffix(c.base, "MachinePoolMachine") }},
	{InfraMachine, "its name ends with Machine, and it has a template, a provider ID or reports that it is initialized", func(c *candidate) bool {
		return c.infrastructure() && strings.HasSuffix(c.base, "Machine") &&
			(c.base != c.Kind || c.sibling() || !c.templated("Machine") && (c.has("spec", "providerID") || c.initialized()))
	}},
	{InfraCluster, "its name ends with Cluster", func(c *candidate) bool {
		return c.infrastructure() && strings.HasSuffix(c.base, "Cluster") &&
			(c.sibling() || !c.templated("Cluster") || c.has("spec", "controlPlaneEndpoint") || c.initialized())
	}},
	{InfraCluster, "it has a control plane endpoint and reports that it is initialized", func(c *candidate) bool {
		return c.infrastructure() && c.has("spec", "controlPlaneEndpoint") &&
			c.initialized() && (c.sibling() || !c.any("Cluster", ""))
	}},
	{BootstrapConfig, "its name ends with Config in a group for bootstrapping", func(c *candidate) bool {
		return c.place("bootstrap") && strings.HasSuffix(c.base, "Config")
	}},
	{BootstrapConfig, "it has status.dataSecretName", func(c *candidate) bool { return c.has("status", "dataSecretName") }},
	{Remediation, "its name ends with Remediation", func(c *candidate) bool { return strings.HasSuffix(c.base, "Remediation") }},
	{addon, "it is a proxy of an add-on provider", func(c *candidate) bool {
		return c.place("addons") && (strings.HasSuffix(c.Kind, "ChartProxy") || strings.HasSuffix(c.Kind, "ReleaseProxy"))
	}},
	{Aux, "neither its name nor its fields are those of a role, and nothing that was read refers to it", func(*candidate) bool { return true }},
}
