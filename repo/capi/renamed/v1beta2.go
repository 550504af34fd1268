package renamed

import "slices"

// The groups of Cluster API.
const (
	coreGroup         = "cluster.x-k8s.io"
	bootstrapGroup    = "bootstrap.cluster.x-k8s.io"
	controlPlaneGroup = "controlplane.cluster.x-k8s.io"
	addonsGroup       = "addons.cluster.x-k8s.io"
	ipamGroup         = "ipam.cluster.x-k8s.io"
	runtimeGroup      = "runtime.cluster.x-k8s.io"
)

// v1beta2 is the step from v1beta1. Sources: the v1beta1 conversion functions of
// sigs.k8s.io/cluster-api/api and those of core/webhooks/conversion,
// bootstrap/kubeadm/webhooks/conversion and controlplane/kubeadm/webhooks/conversion.
func v1beta2() []Kind {
	kind := func(group, name string, fields ...[]Field) Kind {
		return Kind{Group: group, Kind: name, From: []string{"v1beta1"}, To: "v1beta2", Fields: slices.Concat(fields...)}
	}
	extension := kind(runtimeGroup, "ExtensionConfig")
	extension.From = []string{"v1alpha1"}
	address, claim := kind(ipamGroup, "IPAddress"), kind(ipamGroup, "IPAddressClaim")
	for _, k := range []*Kind{&address, &claim} {
		k.From = append(k.From, "v1alpha1") // which has the same fields
	}
	return []Kind{
		kind(coreGroup, "Cluster", under("spec", clusterFields())),
		kind(coreGroup, "ClusterClass", under("spec", classFields())),
		kind(coreGroup, "Machine", under("spec", machineFields())),
		kind(coreGroup, "MachineDeployment", under("spec", deploymentFields(), under("template.spec", machineFields()))),
		kind(coreGroup, "MachineSet", under("spec", setFields(), under("template.spec", machineFields()))),
		kind(coreGroup, "MachinePool", under("spec", []Field{moved("minReadySeconds", "template.spec.minReadySeconds")}, under("template.spec", machineFields()))),
		kind(coreGroup, "MachineHealthCheck", under("spec", checkFields("", ""))),
		kind(coreGroup, "MachineDrainRule"),
		kind(bootstrapGroup, "KubeadmConfig", under("spec", kubeadmFields())),
		kind(bootstrapGroup, "KubeadmConfigTemplate", under("spec.template.spec", kubeadmFields())),
		kind(controlPlaneGroup, "KubeadmControlPlane", under("spec", controlPlaneFields(), under("kubeadmConfigSpec", kubeadmFields()))),
		kind(controlPlaneGroup, "KubeadmControlPlaneTemplate", under("spec.template.spec", rolloutFields(), under("kubeadmConfigSpec", kubeadmFields()))),
		kind(addonsGroup, "ClusterResourceSet"),
		kind(addonsGroup, "ClusterResourceSetBinding"),
		address,
		claim,
		extension,
	}
}

// deletionFields are the timeouts of machines, below "deletion" at a place.
func deletionFields(to string) []Field {
	return []Field{
		changed("nodeDrainTimeout", to+"deletion.nodeDrainTimeoutSeconds", seconds),
		changed("nodeVolumeDetachTimeout", to+"deletion.nodeVolumeDetachTimeoutSeconds", seconds),
		changed("nodeDeletionTimeout", to+"deletion.nodeDeletionTimeoutSeconds", seconds),
	}
}

// checkFields are those of a health check, with the prefixes of its fields in both
// versions.
func checkFields(from, to string) []Field {
	return []Field{
		changed(from+"unhealthyConditions[].timeout", to+"checks.unhealthyNodeConditions[].timeoutSeconds", seconds),
		moved(from+"unhealthyConditions", to+"checks.unhealthyNodeConditions"),
		changed(from+"unhealthyMachineConditions[].timeout", to+"checks.unhealthyMachineConditions[].timeoutSeconds", seconds),
		moved(from+"unhealthyMachineConditions", to+"checks.unhealthyMachineConditions"),
		changed(from+"nodeStartupTimeout", to+"checks.nodeStartupTimeoutSeconds", seconds),
		moved(from+"maxUnhealthy", to+"remediation.triggerIf.unhealthyLessThanOrEqualTo"),
		moved(from+"unhealthyRange", to+"remediation.triggerIf.unhealthyInRange"),
		changed(from+"remediationTemplate", to+"remediation.templateRef", templateReference),
	}
}

// classCheckFields are those of a health check in a class, and topologyCheckFields those of
// one in a topology.
func classCheckFields() []Field {
	return append(checkFields("machineHealthCheck.", "healthCheck."), moved("machineHealthCheck", "healthCheck"))
}

func topologyCheckFields() []Field {
	return append([]Field{moved("machineHealthCheck.enable", "healthCheck.enabled")}, classCheckFields()...)
}

// strategyFields are those of a rollout strategy; remediation is where
// maxInFlight is afterwards.
func strategyFields(remediation string) []Field {
	return []Field{
		moved("strategy.rollingUpdate.deletePolicy", "deletion.order"),
		moved("strategy.remediation.maxInFlight", remediation+".maxInFlight"),
		moved("strategy", "rollout.strategy"),
	}
}

// machineFields are those of the spec of a Machine.
func machineFields() []Field {
	return append([]Field{
		stays("bootstrap.configRef", reference),
		stays("infrastructureRef", reference),
	}, deletionFields("")...)
}

func deploymentFields() []Field {
	return append([]Field{
		moved("rolloutAfter", "rollout.after"),
		moved("machineNamingStrategy", "machineNaming"),
		moved("minReadySeconds", "template.spec.minReadySeconds"),
		dropped("revisionHistoryLimit", "Cluster API always keeps one old MachineSet"),
		dropped("progressDeadlineSeconds", "Cluster API never used it"),
	}, strategyFields("remediation")...)
}

func setFields() []Field {
	return []Field{
		moved("deletePolicy", "deletion.order"),
		moved("machineNamingStrategy", "machineNaming"),
		moved("minReadySeconds", "template.spec.minReadySeconds"),
	}
}

// whyDefinitionFrom is the reason for a field of variables.
const whyDefinitionFrom = "Cluster API refuses to set it since v1.8"

func clusterFields() []Field {
	overrides := []Field{dropped("variables.overrides[].definitionFrom", whyDefinitionFrom)}
	return slices.Concat(
		[]Field{
			stays("controlPlaneRef", reference),
			stays("infrastructureRef", reference),
			moved("topology.class", "topology.classRef.name"),
			moved("topology.classNamespace", "topology.classRef.namespace"),
			dropped("topology.rolloutAfter", "Cluster API never used it"),
			dropped("topology.variables[].definitionFrom", whyDefinitionFrom),
		},
		under("topology.controlPlane", topologyCheckFields(), deletionFields(""), overrides),
		under("topology.workers.machineDeployments[]", topologyCheckFields(), deletionFields(""), strategyFields("healthCheck.remediation"), overrides),
		under("topology.workers.machinePools[]", deletionFields(""), overrides),
	)
}

func classFields() []Field {
	template := func(field string) Field { return changed(field+".ref", field+".templateRef", templateReference) }
	worker := []Field{
		moved("template.metadata", "metadata"),
		changed("template.bootstrap.ref", "bootstrap.templateRef", templateReference),
		moved("template.bootstrap", "bootstrap"),
		changed("template.infrastructure.ref", "infrastructure.templateRef", templateReference),
		moved("template.infrastructure", "infrastructure"),
		moved("namingStrategy", "naming"),
	}
	return slices.Concat(
		[]Field{
			template("infrastructure"),
			moved("infrastructureNamingStrategy", "infrastructure.naming"),
		},
		under("controlPlane", []Field{
			changed("ref", "templateRef", templateReference),
			template("machineInfrastructure"),
			moved("namingStrategy", "naming"),
		}, classCheckFields(), deletionFields("")),
		under("workers.machineDeployments[]", worker, classCheckFields(), deletionFields(""), strategyFields("healthCheck.remediation")),
		under("workers.machinePools[]", worker, deletionFields("")),
		[]Field{
			moved("variables[].metadata", "variables[].deprecatedV1Beta1Metadata"),
			moved("patches[].external.generateExtension", "patches[].external.generatePatchesExtension"),
			moved("patches[].external.validateExtension", "patches[].external.validateTopologyExtension"),
		},
	)
}

func controlPlaneFields() []Field {
	return slices.Concat([]Field{
		moved("machineTemplate.readinessGates", "machineTemplate.spec.readinessGates"),
		changed("machineTemplate.infrastructureRef", "machineTemplate.spec.infrastructureRef", reference),
	}, rolloutFields())
}

func rolloutFields() []Field {
	return slices.Concat([]Field{
		moved("machineTemplate.taints", "machineTemplate.spec.taints"),
	}, under("machineTemplate", deletionFields("spec.")), []Field{
		moved("rolloutBefore", "rollout.before"),
		moved("rolloutAfter", "rollout.after"),
		moved("rolloutStrategy", "rollout.strategy"),
		changed("remediationStrategy.retryPeriod", "remediation.retryPeriodSeconds", seconds),
		changed("remediationStrategy.minHealthyPeriod", "remediation.minHealthyPeriodSeconds", seconds),
		moved("remediationStrategy", "remediation"),
		moved("machineNamingStrategy", "machineNaming"),
	})
}

// kubeadmFields are those of a KubeadmConfigSpec.
func kubeadmFields() []Field {
	const computed = "Cluster API computes it from the Cluster and the Machine"
	const implied = "Cluster API chooses the version of kubeadm's configuration"
	fields := []Field{
		dropped("useExperimentalRetryJoin", "kubeadm retries by itself"),
		dropped("clusterConfiguration.apiVersion", implied),
		dropped("clusterConfiguration.kind", implied),
		dropped("clusterConfiguration.networking", computed),
		dropped("clusterConfiguration.kubernetesVersion", computed),
		dropped("clusterConfiguration.clusterName", computed),
		dropped("initConfiguration.apiVersion", implied),
		dropped("initConfiguration.kind", implied),
		dropped("joinConfiguration.apiVersion", implied),
		dropped("joinConfiguration.kind", implied),
		changed("clusterConfiguration.apiServer.timeoutForControlPlane", "initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
			seconds+", and the same in joinConfiguration"),
		changed("joinConfiguration.discovery.timeout", "joinConfiguration.timeouts.tlsBootstrapSeconds", seconds),
		changed("initConfiguration.bootstrapTokens[].ttl", "initConfiguration.bootstrapTokens[].ttlSeconds", seconds),
	}
	for _, component := range []string{"apiServer", "controllerManager", "scheduler"} {
		fields = append(fields, stays("clusterConfiguration."+component+".extraArgs", args))
	}
	return append(fields,
		stays("clusterConfiguration.etcd.local.extraArgs", args),
		stays("initConfiguration.nodeRegistration.kubeletExtraArgs", args),
		stays("joinConfiguration.nodeRegistration.kubeletExtraArgs", args),
	)
}
