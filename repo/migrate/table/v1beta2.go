package table

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

// whyStatus is the reason for status.
const whyStatus = "the API server ignores status when objects are created, and controllers compute it"

// v1beta2 is the step from v1beta1. Sources: the v1beta1 conversion functions of
// sigs.k8s.io/cluster-api/api and those of core/webhooks/conversion,
// bootstrap/kubeadm/webhooks/conversion and controlplane/kubeadm/webhooks/conversion.
func v1beta2() *Contract {
	kind := func(group, name string, rows ...[]Row) Kind {
		all := slices.Concat(rows...)
		return Kind{Group: group, Kind: name, From: []string{"v1beta1"}, To: "v1beta2", Rows: append(all, dropped("status", whyStatus))}
	}
	extension := kind(runtimeGroup, "ExtensionConfig")
	extension.From = []string{"v1alpha1"}
	address, claim := kind(ipamGroup, "IPAddress"), kind(ipamGroup, "IPAddressClaim")
	for _, k := range []*Kind{&address, &claim} {
		k.From = append(k.From, "v1alpha1") // which has the same fields
	}
	return &Contract{
		From: "v1beta1", To: "v1beta2",
		Unserved: "Cluster API stops serving v1beta1 in 2027",
		Kinds: []Kind{
			kind(coreGroup, "Cluster", under("spec", clusterRows())),
			kind(coreGroup, "ClusterClass", under("spec", classRows())),
			kind(coreGroup, "Machine", under("spec", machineRows())),
			kind(coreGroup, "MachineDeployment", under("spec", deploymentRows(), under("template.spec", machineRows()))),
			kind(coreGroup, "MachineSet", under("spec", setRows(), under("template.spec", machineRows()))),
			kind(coreGroup, "MachinePool", under("spec", []Row{moved("minReadySeconds", "template.spec.minReadySeconds")}, under("template.spec", machineRows()))),
			kind(coreGroup, "MachineHealthCheck", under("spec", checkRows("", ""))),
			kind(coreGroup, "MachineDrainRule"),
			kind(bootstrapGroup, "KubeadmConfig", under("spec", kubeadmRows())),
			kind(bootstrapGroup, "KubeadmConfigTemplate", under("spec.template.spec", kubeadmRows(), []Row{{
				Path: "format", To: "format", Default: "cloud-config", IfEmpty: true,
				Why: "v1beta2 refuses an empty spec; cloud-config is the default, so no Machine is replaced",
			}})),
			kind(controlPlaneGroup, "KubeadmControlPlane", under("spec", controlPlaneRows(), under("kubeadmConfigSpec", kubeadmRows()))),
			kind(controlPlaneGroup, "KubeadmControlPlaneTemplate", under("spec.template.spec", controlPlaneTemplateRows(), under("kubeadmConfigSpec", kubeadmRows()))),
			kind(addonsGroup, "ClusterResourceSet"),
			kind(addonsGroup, "ClusterResourceSetBinding"),
			address,
			claim,
			extension,
		},
	}
}

// deletionRows are the timeouts of machines, below "deletion" at a place.
func deletionRows(to string) []Row {
	return []Row{
		changed("nodeDrainTimeout", to+"deletion.nodeDrainTimeoutSeconds", Seconds),
		changed("nodeVolumeDetachTimeout", to+"deletion.nodeVolumeDetachTimeoutSeconds", Seconds),
		changed("nodeDeletionTimeout", to+"deletion.nodeDeletionTimeoutSeconds", Seconds),
	}
}

// checkRows are those of a health check, with the prefixes of its fields in both
// versions.
func checkRows(from, to string) []Row {
	return []Row{
		changed(from+"unhealthyConditions[].timeout", to+"checks.unhealthyNodeConditions[].timeoutSeconds", Seconds),
		moved(from+"unhealthyConditions", to+"checks.unhealthyNodeConditions"),
		changed(from+"unhealthyMachineConditions[].timeout", to+"checks.unhealthyMachineConditions[].timeoutSeconds", Seconds),
		moved(from+"unhealthyMachineConditions", to+"checks.unhealthyMachineConditions"),
		changed(from+"nodeStartupTimeout", to+"checks.nodeStartupTimeoutSeconds", Seconds),
		moved(from+"maxUnhealthy", to+"remediation.triggerIf.unhealthyLessThanOrEqualTo"),
		moved(from+"unhealthyRange", to+"remediation.triggerIf.unhealthyInRange"),
		changed(from+"remediationTemplate", to+"remediation.templateRef", TemplateReference),
	}
}

// classCheckRows are those of a health check in a class or topology.
func classCheckRows() []Row {
	rows := []Row{moved("machineHealthCheck.enable", "healthCheck.enabled")}
	rows = append(rows, checkRows("machineHealthCheck.", "healthCheck.")...)
	return append(rows, moved("machineHealthCheck", "healthCheck"))
}

// strategyRows are those of a rollout strategy; remediation is where
// maxInFlight is afterwards.
func strategyRows(remediation string) []Row {
	return []Row{
		moved("strategy.rollingUpdate.deletePolicy", "deletion.order"),
		moved("strategy.remediation.maxInFlight", remediation+".maxInFlight"),
		moved("strategy", "rollout.strategy"),
	}
}

// machineRows are those of the spec of a Machine.
func machineRows() []Row {
	return append([]Row{
		stays("bootstrap.configRef", Reference),
		stays("infrastructureRef", Reference),
	}, deletionRows("")...)
}

func deploymentRows() []Row {
	return append([]Row{
		moved("rolloutAfter", "rollout.after"),
		moved("machineNamingStrategy", "machineNaming"),
		moved("minReadySeconds", "template.spec.minReadySeconds"),
		dropped("revisionHistoryLimit", "Cluster API always keeps one old MachineSet"),
		dropped("progressDeadlineSeconds", "Cluster API never used it"),
		stays("paused", NoFalse),
	}, strategyRows("remediation")...)
}

func setRows() []Row {
	return []Row{
		moved("deletePolicy", "deletion.order"),
		moved("machineNamingStrategy", "machineNaming"),
		changed("minReadySeconds", "template.spec.minReadySeconds", NoZero),
	}
}

// whyDefinitionFrom is the reason for a field of variables.
const whyDefinitionFrom = "Cluster API refuses to set it since v1.8"

func clusterRows() []Row {
	overrides := []Row{dropped("variables.overrides[].definitionFrom", whyDefinitionFrom)}
	return slices.Concat(
		[]Row{
			stays("paused", NoFalse),
			stays("controlPlaneRef", Reference),
			stays("infrastructureRef", Reference),
			moved("topology.class", "topology.classRef.name"),
			moved("topology.classNamespace", "topology.classRef.namespace"),
			dropped("topology.rolloutAfter", "Cluster API never used it"),
			dropped("topology.variables[].definitionFrom", whyDefinitionFrom),
		},
		under("topology.controlPlane", classCheckRows(), deletionRows(""), overrides),
		under("topology.workers.machineDeployments[]", classCheckRows(), deletionRows(""), strategyRows("healthCheck.remediation"), overrides),
		under("topology.workers.machinePools[]", deletionRows(""), overrides),
	)
}

func classRows() []Row {
	template := func(field string) Row { return changed(field+".ref", field+".templateRef", TemplateReference) }
	worker := []Row{
		moved("template.metadata", "metadata"),
		changed("template.bootstrap.ref", "bootstrap.templateRef", TemplateReference),
		moved("template.bootstrap", "bootstrap"),
		changed("template.infrastructure.ref", "infrastructure.templateRef", TemplateReference),
		moved("template.infrastructure", "infrastructure"),
		moved("namingStrategy", "naming"),
	}
	return slices.Concat(
		[]Row{
			template("infrastructure"),
			moved("infrastructureNamingStrategy", "infrastructure.naming"),
		},
		under("controlPlane", []Row{
			changed("ref", "templateRef", TemplateReference),
			template("machineInfrastructure"),
			moved("namingStrategy", "naming"),
		}, classCheckRows(), deletionRows("")),
		under("workers.machineDeployments[]", worker, classCheckRows(), deletionRows(""), strategyRows("healthCheck.remediation")),
		under("workers.machinePools[]", worker, deletionRows("")),
		[]Row{
			moved("variables[].metadata", "variables[].deprecatedV1Beta1Metadata"),
			stays("variables[].schema.openAPIV3Schema", Schema),
			stays("patches[].definitions[].selector.matchResources.controlPlane", NoFalse),
			stays("patches[].definitions[].selector.matchResources.infrastructureCluster", NoFalse),
			moved("patches[].external.generateExtension", "patches[].external.generatePatchesExtension"),
			moved("patches[].external.validateExtension", "patches[].external.validateTopologyExtension"),
			stays("patches[].definitions[].jsonPatches", Patches),
			stays("patches[].definitions[].selector.apiVersion", Selector),
		},
	)
}

func controlPlaneRows() []Row {
	return slices.Concat([]Row{
		moved("machineTemplate.readinessGates", "machineTemplate.spec.readinessGates"),
		changed("machineTemplate.infrastructureRef", "machineTemplate.spec.infrastructureRef", Reference),
	}, rolloutRows())
}

func controlPlaneTemplateRows() []Row {
	return append([]Row{{
		Path: "rolloutStrategy.type", To: "rolloutStrategy.type", Default: "RollingUpdate",
		Why: "RollingUpdate is the default and the only type",
	}}, rolloutRows()...)
}

func rolloutRows() []Row {
	return slices.Concat([]Row{
		moved("machineTemplate.taints", "machineTemplate.spec.taints"),
	}, under("machineTemplate", deletionRows("spec.")), []Row{
		moved("rolloutBefore", "rollout.before"),
		moved("rolloutAfter", "rollout.after"),
		moved("rolloutStrategy", "rollout.strategy"),
		changed("remediationStrategy.retryPeriod", "remediation.retryPeriodSeconds", PositiveSeconds),
		changed("remediationStrategy.minHealthyPeriod", "remediation.minHealthyPeriodSeconds", Seconds),
		moved("remediationStrategy", "remediation"),
		moved("machineNamingStrategy", "machineNaming"),
	})
}

// kubeadmRows are those of a KubeadmConfigSpec.
func kubeadmRows() []Row {
	const computed = "Cluster API computes it from the Cluster and the Machine"
	const implied = "Cluster API chooses the version of kubeadm's configuration"
	rows := []Row{
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
		{
			Path:  "clusterConfiguration.apiServer.timeoutForControlPlane",
			To:    "initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
			Also:  "joinConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
			Value: Seconds, Why: "kubeadm's v1beta4 configuration has separate timeouts for init and join",
		},
		changed("joinConfiguration.discovery.timeout", "joinConfiguration.timeouts.tlsBootstrapSeconds", Seconds),
		changed("initConfiguration.bootstrapTokens[].ttl", "initConfiguration.bootstrapTokens[].ttlSeconds", Seconds),
	}
	for _, component := range []string{"apiServer", "controllerManager", "scheduler"} {
		rows = append(rows,
			stays("clusterConfiguration."+component+".extraArgs", Args),
			stays("clusterConfiguration."+component+".extraVolumes[].readOnly", NoFalse))
	}
	return append(rows,
		stays("clusterConfiguration.etcd.local.extraArgs", Args),
		stays("initConfiguration.nodeRegistration.kubeletExtraArgs", Args),
		stays("joinConfiguration.nodeRegistration.kubeletExtraArgs", Args),
		stays("joinConfiguration.discovery.bootstrapToken.unsafeSkipCAVerification", NoFalse),
		stays("joinConfiguration.discovery.file.kubeConfig.cluster.insecureSkipTLSVerify", NoFalse),
		stays("joinConfiguration.discovery.file.kubeConfig.user.exec.provideClusterInfo", NoFalse),
		stays("files[].append", NoFalse),
		stays("ignition.containerLinuxConfig.strict", NoFalse),
	)
}
