// Package checks is the catalogue of what a running extension is checked for: the
// family LIV, as rules like those of repo/lint/rules, with the level at which each runs
// and an example of what it finds.
//
// It must not know the network, nor how anything is checked (repo/extension/probe).
package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// check is one of the catalogue.
type check struct {
	lint.Rule
	// Level is the lowest at which it runs.
	Level extension.Level
}

// Family are the checks as rules of the catalogue.
var Family = func() *lint.Family {
	f := &lint.Family{Prefix: "LIV", Title: "Running extensions"}
	for _, c := range All {
		f.Rules = append(f.Rules, &c.Rule)
	}
	return f
}()

// row makes a check; its texts are in the order in which a page shows them.
func row(id, name string, level extension.Level, severity lint.Severity, proof lint.Proof, title, source, why, fix, example string) *check {
	return &check{lint.Rule{
		ID: id, Name: name, Since: "v0.1.0", Title: title, Severity: severity, Proof: proof, Source: source, Why: why, Fix: fix,
		Command: "extension check --level " + level.String(), Example: example,
	}, level}
}

// All are the checks by their number. It must not be changed.
var All = [...]*check{
	row("LIV001", "tls-handshake", extension.Discover, lint.Error, lint.Contract,
		"The server must use TLS 1.2 or newer with a certificate of the given CA",
		"cluster-api internal/runtime/client/client.go, createHTTPClient",
		"Cluster API does not discover the extension: it uses https only, and trusts only the CA bundle of the ExtensionConfig.",
		"Serve TLS with a certificate issued by that CA. Pass the CA with --ca-file.",
		"A server that speaks http."),
	row("LIV002", "tls-name", extension.Discover, lint.Error, lint.Contract,
		"The certificate must be valid for the name that Cluster API calls",
		"cluster-api internal/runtime/client/client.go, urlForExtension; Go crypto/x509, VerifyHostname",
		"Cluster API does not discover the extension: it calls SERVICE.NAMESPACE.svc and refuses a certificate for other names.",
		"Add the name to the DNS names of the certificate.",
		"A certificate for localhost only."),
	row("LIV003", "tls-validity", extension.Discover, lint.Error, lint.Contract,
		"The certificate must be valid and not expire soon",
		"Go crypto/x509, Verify",
		"Cluster API cannot call any handler once the certificate has expired. Less than two weeks is a warning, because renewal should already have happened.",
		"Renew the certificate, and let cert-manager renew it automatically.",
		"A certificate that expired yesterday."),
	row("LIV007", "discovery-answer", extension.Discover, lint.Error, lint.Contract,
		"Discovery must answer with 200 in time",
		"cluster-api internal/runtime/client/client.go, Discover",
		"Cluster API registers no handler: it waits 10 seconds and then reports in the ExtensionConfig that discovery failed.",
		"Answer at /hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery, without expensive work.",
		"A server that needs 12 seconds for the answer, or answers 404."),
	row("LIV008", "discovery-body", extension.Discover, lint.Error, lint.Contract,
		"Discovery must answer with a JSON object with status Success and handlers",
		"cluster-api internal/runtime/client/client.go, validateResponseStatus",
		"Cluster API registers no handler: it treats every other status as a failure, and answers that do not match the types as errors. It cannot store more than 512 handlers. An empty list is only a warning.",
		"Answer with status: Success and handlers as in the OpenAPI document.",
		"`{\"status\":\"OK\"}`"),
	row("LIV010", "handler-unique", extension.Discover, lint.Error, lint.Contract,
		"Names of handlers must be unique, even for different hooks",
		"cluster-api internal/runtime/client/client.go, defaultAndValidateDiscoveryResponse",
		"Cluster API refuses the whole discovery and registers no handler.",
		"Name each handler after its task and hook.",
		"Two handlers with the name upgrade."),
	row("LIV011", "handler-name", extension.Discover, lint.Error, lint.Contract,
		"Names of handlers must be DNS labels",
		"cluster-api internal/runtime/client/client.go, defaultAndValidateDiscoveryResponse",
		"Cluster API refuses the whole discovery and registers no handler.",
		"Use at most 63 lower-case letters, digits and dashes.",
		"A handler with the name Upgrade_Handler."),
	row("LIV012", "handler-version", extension.Discover, lint.Error, lint.Contract,
		"Handlers must be for hooks of hooks.runtime.cluster.x-k8s.io/v1alpha1",
		"cluster-api internal/runtime/client/client.go, defaultAndValidateDiscoveryResponse",
		"Cluster API refuses the whole discovery and registers no handler.",
		"Correct requestHook.apiVersion.",
		"A handler for hooks.runtime.cluster.x-k8s.io/v1."),
	row("LIV013", "handler-hook", extension.Discover, lint.Error, lint.Contract,
		"Handlers must be for hooks that Cluster API knows",
		"cluster-api internal/runtime/client/client.go, defaultAndValidateDiscoveryResponse",
		"Cluster API refuses the whole discovery and registers no handler if a hook is unknown, too new, or spelled in another case.",
		"Correct requestHook.hook, or omit this handler for an older Cluster API.",
		"A handler for beforeClusterUpgrade."),
	row("LIV014", "handler-timeout", extension.Discover, lint.Error, lint.Contract,
		"Timeouts of handlers must be between 0 and 30 seconds",
		"cluster-api internal/runtime/client/client.go, defaultAndValidateDiscoveryResponse; Cluster API proposal 20220221-runtime-SDK, sections Timeouts and Registering Runtime Extensions",
		"Cluster API refuses the whole discovery and registers no handler beyond 30 seconds. The proposal allows 10, because all Clusters wait for the handler; more is a warning. A timeout of 0 means 10 seconds and is only reported as info.",
		"Use at most 10 seconds. If that is too short, answer with retryAfterSeconds.",
		"timeoutSeconds: 60"),
	row("LIV015", "handler-policy", extension.Discover, lint.Error, lint.Contract,
		"Failure policies must be Fail or Ignore",
		"cluster-api internal/runtime/client/client.go, defaultAndValidateDiscoveryResponse",
		"Cluster API refuses the whole discovery and registers no handler.",
		"Write Fail or Ignore, or remove failurePolicy for the default Fail.",
		"failurePolicy: ignore"),
	row("LIV016", "handler-single", extension.Discover, lint.Error, lint.Contract,
		"Hooks for in-place updates must have at most one handler",
		"cluster-api core/reconcilers/machine and machinedeployment, hooks for in-place updates",
		"Cluster API updates no machine and reports an error if several handlers exist, even in different extensions.",
		"Keep one handler for each of CanUpdateMachine, CanUpdateMachineSet and UpdateMachine.",
		"Two handlers for UpdateMachine."),
	row("LIV019", "handler-reference", extension.Discover, lint.Error, lint.Contract,
		"Handlers named in ClusterClasses must exist",
		"cluster-api core/reconcilers/topology/cluster/patches/external; cluster-api internal/runtime/client/client.go, CallExtension",
		"Cluster API cannot reconcile any cluster of the class, because no handler has this name and hook.",
		"Correct the name in the class (HANDLER.EXTENSIONCONFIG), or restore the handler.",
		"generatePatchesExtension: patches.acme, and no handler named patches."),
	row("LIV020", "hook-answer", extension.Pure, lint.Error, lint.Contract,
		"A handler must answer legal requests with 200 and a JSON object in time",
		"cluster-api internal/runtime/client/client.go, httpCall; Cluster API proposal 20220221-runtime-SDK, section Availability",
		"Cluster API treats the call as failed. With failurePolicy Fail the operation stops; with Ignore the handler has no effect.",
		"Report errors with 200 and status: Failure, and answer within the timeout of the handler. Settings and optional fields of requests may be missing.",
		"An answer of 500, in HTML, or after the timeout."),
	row("LIV021", "hook-status", extension.Pure, lint.Error, lint.Contract,
		"The status of an answer must be Success or Failure",
		"cluster-api internal/runtime/client/client.go, validateResponseStatus",
		"Cluster API stops with an error that failurePolicy does not cover.",
		"Write the status exactly as Success or Failure.",
		"status: success"),
	row("LIV022", "message", extension.Pure, lint.Warning, lint.Contract,
		"A failure, and an answer that blocks, should have a message that fits into a condition",
		"cluster-api api/runtime/hooks/v1alpha1, CommonResponse; cluster-api internal/runtime/client/client.go, aggregateSuccessfulResponses",
		"Users only see the message, in logs and conditions. It is an error if a condition cannot hold it: Cluster API then cannot write the status.",
		"Set message to what is wrong or awaited, and what to do, in a few sentences.",
		"status: Failure without a message."),
	row("LIV023", "example-failure", extension.Pure, lint.Warning, lint.Practice,
		"A complete request should succeed",
		"Cluster API proposal 20220221-runtime-SDK, section Error Management",
		"The check cannot test the handler further, because it refuses the example. It may need settings or specific objects.",
		"Pass what the handler needs with --setting and --objects, or skip it with --skip.",
		"Failure: extensionConfigName is not set"),
	row("LIV024", "retry-value", extension.All, lint.Error, lint.Contract,
		"retryAfterSeconds must be an integer of 0 or more",
		"cluster-api api/runtime/hooks/v1alpha1, CommonRetryResponse; cluster-api internal/runtime/client/client.go, aggregateSuccessfulResponses",
		"Cluster API cannot decode a value that is not an integer, so the call fails. A negative value overrides those of all other extensions, and completes an update in place that never ran.",
		"Answer with 0 to continue, or with the seconds to wait.",
		"retryAfterSeconds: -1"),
	row("LIV025", "retry-useless", extension.Pure, lint.Warning, lint.Contract,
		"Only answers that can block should have retryAfterSeconds",
		"Cluster API book, Implementing Lifecycle Hook Runtime Extensions; cluster-api internal/runtime/client/client.go, CallExtension",
		"Cluster API ignores the value: it continues at once if the hook does not block (AfterClusterUpgrade only does since v1.12), and retries a failure on its own schedule.",
		"Answer with Failure to stop Cluster API, or use a hook that can block. Answer with Success to wait.",
		"retryAfterSeconds: 10 for AfterControlPlaneInitialized."),
	row("LIV028", "patch-uid", extension.Pure, lint.Error, lint.Contract,
		"Patches must be for items of the request",
		"cluster-api core/reconcilers/topology/cluster/patches, applyPatchToRequest",
		"Cluster API stops reconciling the Cluster because of a patch for an unknown item. A duplicate patch is a warning.",
		"Copy the uid of the item.",
		"A uid that was not sent."),
	row("LIV030", "patch-form", extension.Pure, lint.Error, lint.Contract,
		"A patch must be a base64-encoded document of its type, JSONPatch or JSONMergePatch",
		"cluster-api core/reconcilers/topology/cluster/patches, applyPatchToRequest; RFC 6902; RFC 7386",
		"Cluster API cannot read the patch and stops reconciling the Cluster.",
		"Correct patchType, and encode the JSON document in base64: a list of operations, or an object for a merge patch.",
		"The patch as JSON instead of base64."),
	row("LIV031", "patch-applies", extension.Pure, lint.Error, lint.Contract,
		"Patches must apply to their objects",
		"cluster-api core/reconcilers/topology/cluster/patches, applyPatchToRequest",
		"Cluster API stops reconciling the Cluster with an error.",
		"Create the parent of the path first, or use a merge patch.",
		"replace of a path that does not exist."),
	row("LIV032", "patch-scope", extension.Pure, lint.Warning, lint.Contract,
		"Patches should only change fields that Cluster API keeps",
		"cluster-api core/reconcilers/topology/cluster/patches, applyPatchToRequest, patchTemplate and updateDesiredState",
		"Cluster API silently drops or overrides other changes. It keeps only spec, and since v1.14 labels and annotations; replicas, version and references of the control plane it sets itself.",
		"Change spec.template, and set what Cluster API computes in the topology of the Cluster.",
		"A patch that adds a finalizer."),
	row("LIV038", "variables-valid", extension.Pure, lint.Error, lint.Contract,
		"Discovered variables must be valid in a ClusterClass",
		"cluster-api core/reconcilers/clusterclass, reconcileVariables; internal/topology/variables, ValidateClusterClassVariables",
		"Cluster API refuses all variables, and the class does not become ready.",
		"Correct the definition; it follows the rules of spec.variables in a ClusterClass, and must equal the definitions that the class has of the same variable.",
		"A variable with the name builtin."),
	row("LIV041", "plan-valid", extension.Pure, lint.Error, lint.Contract,
		"Upgrade plans must follow the rules of Cluster API",
		"cluster-api exp/topology/desiredstate, DefaultAndValidateUpgradePlans",
		"Cluster API refuses the plan, and the upgrade of the Cluster does not start.",
		"Upgrade one minor version at a time, up to the requested version, and include the workers' plan. If the extension does not know the version, pass a Cluster with one that it knows with --objects.",
		"From v1.30 to v1.32 in one step."),
	row("LIV042", "inplace-patch", extension.Pure, lint.Error, lint.Contract,
		"Patches of CanUpdate hooks must apply to the current objects, and only change spec",
		"cluster-api api/runtime/hooks/v1alpha1, CanUpdateMachine",
		"Cluster API stops the update if a patch does not apply. It is a warning if a patch changes metadata, which Cluster API ignores.",
		"Return patches from current to desired, in spec only.",
		"A patch of metadata.labels."),
	row("LIV045", "idempotent", extension.All, lint.Warning, lint.Contract,
		"A repeated call should get the same answer",
		"Cluster API proposal 20220221-runtime-SDK, section Idempotence",
		"Operations hang, because Cluster API calls all extensions again if one of them blocks or fails.",
		"Check what exists already, and succeed. Do not block again once the work is done.",
		"Failure: already exists"),
	row("LIV046", "error-stable", extension.Pure, lint.Warning, lint.Contract,
		"The same error, or reason to wait, should have the same message",
		"Cluster API proposal 20220221-runtime-SDK, section Deterministic result; cluster-api v1.14 conditions of topologies",
		"Cluster API reconciles endlessly if the message changes, because messages are part of conditions since v1.14.",
		"Remove times, counters, request IDs, uids of items and memory addresses from messages, and sort lists in them.",
		"invalid request at 12:00:01.123"),
	row("LIV047", "unknown-path", extension.Discover, lint.Warning, lint.Practice,
		"Unknown hooks, handlers and versions should not be answered with 200",
		"Cluster API proposal 20220221-runtime-SDK, section Implementing Runtime Extensions; cluster-api exp/runtime/server/server.go",
		"Users do not notice wrong names, because every request succeeds, and a later Cluster API mistakes the answer for one to its own version of the hook.",
		"Answer with 404.",
		"200 and Success for any path."),
	row("LIV050", "malformed", extension.Pure, lint.Warning, lint.Practice,
		"Malformed requests should fail",
		"Cluster API proposal 20220221-runtime-SDK, section Availability; cluster-api exp/runtime/server/server.go",
		"A handler that crashes aborts other calls too. Users do not notice that a handler has no effect if it succeeds without a request.",
		"Decode the request first, and answer with Failure or a status of 400.",
		"A server that closes the connection on {, or answers it with Success."),
	row("LIV052", "lenient", extension.Pure, lint.Warning, lint.Contract,
		"Unknown fields, variables and settings should be ignored",
		"Cluster API proposal 20220221-runtime-SDK, section Runtime SDK rules",
		"Calls fail after an upgrade of Cluster API or of a provider, because minor releases add fields to requests, Clusters and templates. All handlers of an ExtensionConfig get the same settings.",
		"Decode leniently, and read only the variables and settings of this handler.",
		"400 for a field that is unknown."),
	row("LIV060", "latency", extension.Discover, lint.Warning, lint.Contract,
		"Hooks should answer within one second",
		"Cluster API proposal 20220221-runtime-SDK, section Timeouts",
		"Reconciliation is slow, because the hooks are called one after another for every Cluster. Calls that exceed their timeout fail.",
		"Compute less, or cache results. Do long work in the background, and answer with retryAfterSeconds.",
		"An answer after 1.2 seconds."),
	row("LIV063", "unknown-field", extension.Discover, lint.Info, lint.Contract,
		"Answers have the fields, kind, apiVersion and media type of the OpenAPI document",
		"OpenAPI document of the Runtime SDK; Cluster API proposal 20220221-runtime-SDK, section Runtime SDK rules; cluster-api api/core/v1beta1 and v1beta2, ClusterClassVariable",
		"Cluster API ignores other fields, so a misspelled field has no effect. The metadata of variables is deprecatedV1Beta1Metadata since v1.13. The kind of another hook is a warning: the paths of hooks may be mixed up. So is another Content-Type than JSON or plain text, which proxies may change.",
		"Correct the name or the value, or remove the field.",
		"retryAfter: 10"),
	row("LIV068", "registration", extension.Discover, lint.Warning, lint.Contract,
		"The server should be at the address in its ExtensionConfig",
		"cluster-api internal/runtime/client/client.go, urlForExtension",
		"Cluster API calls the path of the released ExtensionConfig, and its port of the Service, not the ones that were checked. Only at the name of the Service are the ports compared, because a forwarded port may have any number.",
		"Correct the port or path of the ExtensionConfig, or the address passed to the check.",
		"path: /extension in the ExtensionConfig, and a server that answers at /."),
	row("LIV071", "deterministic", extension.Pure, lint.Error, lint.Contract,
		"Pure hooks must give the same answer to the same request",
		"Cluster API proposal 20220221-runtime-SDK, section Deterministic result",
		"Cluster API calls the hook in each reconciliation. An answer that changes makes Clusters and their variables change endlessly, and machines roll out again and again. It is a warning for hooks whose answer only allows or refuses.",
		"Compute the answer only from the request, without times, random numbers or map order. The uids of items differ in each call.",
		"A UUID or the time in a patch."),
	row("LIV079", "update-pair", extension.Discover, lint.Warning, lint.Contract,
		"Handlers for CanUpdate hooks should come with one for UpdateMachine",
		"cluster-api core/reconcilers/machine, callUpdateMachineHook; cluster-api controlplane/kubeadm/reconcilers/kubeadmcontrolplane, canUpdateMachine",
		"The update of a Machine never ends: Cluster API starts it in place because of a CanUpdate hook, and then finds no handler for UpdateMachine. Without a CanUpdate hook it never calls UpdateMachine.",
		"Add the missing handler. Safe to ignore if another extension has it.",
		"A handler for CanUpdateMachine only."),
	row("LIV080", "policy-ignore", extension.Discover, lint.Warning, lint.Contract,
		"Handlers whose answers Cluster API needs should have failurePolicy Fail",
		"cluster-api internal/runtime/client/client.go, CallExtension",
		"A network error changes Clusters: Cluster API continues with an empty answer. Templates lose their patches and machines roll out, variables of a class disappear, or an in-place update that never ran counts as complete.",
		"Remove failurePolicy for the default Fail, or write Fail.",
		"A handler for GeneratePatches with failurePolicy: Ignore."),
}

// Advice says what to do about a finding, and what the contract says with its
// source.
func (c *check) Advice() string {
	label := "The contract"
	if c.Proof == lint.Practice {
		label = "Good practice"
	}
	return fmt.Sprintf("%s %s: %s (%s).", c.Fix, label, c.Title, c.Source)
}

// ByID finds a check by its ID, in any case and also with a dash after the family,
// or by its name, or returns nil.
func ByID(word string) *check {
	id := lint.NormalizeID(word)
	i := slices.IndexFunc(All[:], func(c *check) bool { return c.ID == id || strings.EqualFold(c.Name, word) })
	if i < 0 {
		return nil
	}
	return All[i]
}
