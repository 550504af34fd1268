package extension

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Group and Version of all hooks.
const (
	Group      = "hooks.runtime.cluster.x-k8s.io"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
)

// Level says what calling a hook may do to the world.
type Level int

// The levels, from harmless to harmful. Each includes the ones before.
const (
	// Discover only asks what there is.
	Discover Level = iota
	// Pure hooks compute an answer and must not do anything else.
	Pure
	// All are hooks that may act: install add-ons, change machines.
	All
)

var levelNames = [...]string{"discover", "pure", "all"}

func (l Level) String() string { return levelNames[l] }

func ParseLevel(word string) (Level, bool) {
	i := slices.Index(levelNames[:], word)
	return Level(max(i, 0)), i >= 0
}

func Levels() []string { return slices.Clone(levelNames[:]) }

// Field is one of a request or response. What all have in common is not listed:
// apiVersion, kind and settings of requests, status and message of responses.
type Field struct {
	Name     string `json:"name" doc:"the name of the field"`
	Required bool   `json:"required" doc:"it must be there"`
}

// Hook is an operation that Cluster API calls (cluster-api api/runtime/hooks/v1alpha1).
type Hook struct {
	Name string
	// Summary says when it is called, in one line.
	Summary string
	// Since is the minor version of Cluster API that first calls it.
	Since int
	Level Level
	// Retry says that answers have retryAfterSeconds.
	Retry bool
	// BlocksSince is the minor version of Cluster API that first waits when
	// retryAfterSeconds is set; 0 for hooks that cannot make it wait.
	BlocksSince int
	// Single says that Cluster API fails if several handlers are registered.
	Single bool
	// Named says that a ClusterClass names the handler to call; otherwise all
	// that are registered are called.
	Named bool
	// Needed says that an empty answer does harm. Cluster API continues with one if it
	// ignores the failure of the handler.
	Needed            bool
	Request, Response []Field
	// new makes an empty response to decode into.
	new func() Response
}

// fields reads a list of names, with an asterisk behind those that are required.
func fields(list string) []Field {
	var out []Field
	for word := range strings.FieldsSeq(list) {
		name, required := strings.CutSuffix(word, "*")
		out = append(out, Field{name, required})
	}
	return out
}

// oldest is the version of hooks that every supported Cluster API has.
const oldest = 2

const (
	upgradeRequest = "cluster* fromKubernetesVersion* toKubernetesVersion* controlPlaneUpgrades workersUpgrades"
	afterRequest   = "cluster* kubernetesVersion* controlPlaneUpgrades workersUpgrades"
	retryResponse  = "retryAfterSeconds*"
)

func newRetry() Response  { return &RetryResponse{} }
func newCommon() Response { return &CommonResponse{} }

// hooks are in the order in which the life of a cluster meets them.
var hooks = [...]*Hook{
	{
		Name: "Discovery", Since: oldest, Level: Discover, Single: true, Response: fields("handlers"),
		new:     func() Response { return &DiscoveryResponse{} },
		Summary: "asks which handlers the server has, whenever its ExtensionConfig is reconciled",
	},
	{
		Name: "DiscoverVariables", Since: 4, Needed: true, Level: Pure, Named: true, Response: fields("variables"), new: func() Response { return &VariablesResponse{} },
		Summary: "asks for the variables that a ClusterClass gets from the extension",
	},
	{
		Name: "GeneratePatches", Since: oldest, Needed: true, Level: Pure, Named: true, Request: fields("variables items*"), Response: fields("items"), new: func() Response { return &PatchesResponse{} },
		Summary: "asks for patches of all templates of a cluster, each time its topology is computed",
	},
	{
		Name: "ValidateTopology", Since: oldest, Level: Pure, Named: true, Request: fields("variables items*"), new: newCommon,
		Summary: "asks whether the templates of a cluster are valid after all patches",
	},
	{
		Name: "BeforeClusterCreate", Since: oldest, Level: All, Retry: true, BlocksSince: oldest, Request: fields("cluster*"), Response: fields(retryResponse), new: newRetry,
		Summary: "is called before the objects of a new cluster are created",
	},
	{
		Name: "AfterControlPlaneInitialized", Since: oldest, Level: All, Request: fields("cluster*"), new: newCommon,
		Summary: "is called when the control plane is initialized for the first time",
	},
	{
		Name: "GenerateUpgradePlan", Since: 12, Needed: true, Level: Pure, Named: true, new: func() Response { return &PlanResponse{} },
		Request:  fields("cluster* fromControlPlaneKubernetesVersion* fromWorkersKubernetesVersion toKubernetesVersion*"),
		Response: fields("controlPlaneUpgrades workersUpgrades"),
		Summary:  "asks for the versions that an upgrade goes through",
	},
	{
		Name: "BeforeClusterUpgrade", Since: oldest, Level: All, Retry: true, BlocksSince: oldest, Request: fields(upgradeRequest), Response: fields(retryResponse), new: newRetry,
		Summary: "is called before an upgrade begins",
	},
	{
		Name: "BeforeControlPlaneUpgrade", Since: 12, Level: All, Retry: true, BlocksSince: 12, Request: fields(upgradeRequest), Response: fields(retryResponse), new: newRetry,
		Summary: "is called before each step of the control plane",
	},
	{
		Name: "AfterControlPlaneUpgrade", Since: oldest, Level: All, Retry: true, BlocksSince: oldest, Request: fields(afterRequest), Response: fields(retryResponse), new: newRetry,
		Summary: "is called after each step of the control plane",
	},
	{
		Name: "BeforeWorkersUpgrade", Since: 12, Level: All, Retry: true, BlocksSince: 12, Request: fields(upgradeRequest), Response: fields(retryResponse), new: newRetry,
		Summary: "is called before each step of the workers",
	},
	{
		Name: "AfterWorkersUpgrade", Since: 12, Level: All, Retry: true, BlocksSince: 12, Request: fields(afterRequest), Response: fields(retryResponse), new: newRetry,
		Summary: "is called after each step of the workers",
	},
	{
		Name: "AfterClusterUpgrade", Since: oldest, Level: All, Retry: true, BlocksSince: 12, Request: fields("cluster* kubernetesVersion*"), Response: fields(retryResponse), new: newRetry,
		Summary: "is called when the whole cluster has the new version",
	},
	{
		Name: "CanUpdateMachine", Since: 12, Level: Pure, Single: true, Request: fields("current* desired*"), new: func() Response { return &MachineResponse{} },
		Response: fields("machinePatch infrastructureMachinePatch bootstrapConfigPatch"),
		Summary:  "asks which changes of a machine can be made in place",
	},
	{
		Name: "CanUpdateMachineSet", Since: 12, Level: Pure, Single: true, Request: fields("current* desired*"), new: func() Response { return &MachineSetResponse{} },
		Response: fields("machineSetPatch infrastructureMachineTemplatePatch bootstrapConfigTemplatePatch"),
		Summary:  "asks which changes of a set of machines can be made in place",
	},
	{
		Name: "UpdateMachine", Since: 12, Needed: true, Level: All, Retry: true, BlocksSince: 12, Single: true, Request: fields("desired*"), Response: fields(retryResponse), new: newRetry,
		Summary: "changes a machine in place; it is called until the work is done",
	},
	{
		Name: "BeforeClusterDelete", Since: oldest, Level: All, Retry: true, BlocksSince: oldest, Request: fields("cluster*"), Response: fields(retryResponse), new: newRetry,
		Summary: "is called before the objects of a cluster are deleted",
	},
}

// Hooks returns the hooks that a Cluster API of a minor version calls, in the
// order in which the life of a cluster meets them.
func Hooks(core int) []*Hook {
	return phrase.Only(hooks[:], func(h *Hook) bool { return h.Since <= core })
}

// Find returns the hook of a name, or nil. The case counts, as it does in
// Cluster API.
func Find(name string) *Hook {
	return phrase.First(hooks[:], func(h *Hook) bool { return h.Name == name })
}

// IsDiscovery reports whether the hook is the one that has no handler.
func (h *Hook) IsDiscovery() bool { return h.Level == Discover }

// Blocks reports whether Cluster API of a minor version waits for the hook.
func (h *Hook) Blocks(core int) bool { return h.BlocksSince > 0 && h.BlocksSince <= core }

// Path is where a handler is called below the address of the server (cluster-api
// api/runtime/catalog, GVHToPath). Discovery has no handler.
func (h *Hook) Path(handler string) string {
	path := "/" + Group + "/" + Version + "/" + strings.ToLower(h.Name)
	if handler != "" {
		path += "/" + strings.ToLower(handler)
	}
	return path
}

// CoreVersion is the version of the API of clusters and machines in requests. It
// changed with v1.13 although the version of the hooks stayed the same.
func CoreVersion(core int) contract.Contract {
	if core < 13 {
		return contract.V1Beta1
	}
	return contract.V1Beta2
}
