package extension

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	strictjson "sigs.k8s.io/json"
)

const (
	Success = "Success"
	Failure = "Failure"
)

// DefaultTimeout is the one of handlers that give none, and that of discovery;
// MaxTimeout is the longest that they may give. Both are seconds.
const (
	DefaultTimeout = 10
	MaxTimeout     = 30
)

// MaxHandlers is how many handlers the status of an ExtensionConfig can hold
// (core/config/crd/bases/runtime.cluster.x-k8s.io_extensionconfigs.yaml).
const MaxHandlers = 512

// MaxObject is the longest object that an API server takes (k8s.io/apiserver
// pkg/server, MaxRequestBodyBytes).
const MaxObject = 3 << 20

// MaxBody is the longest request that servers of the SDK read, and the longest
// answer that the probe reads.
const MaxBody = 20 << 20

// Response is what a handler answers.
type Response interface{ Common() *CommonResponse }

type CommonResponse struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Status     string `json:"status"`
	Message    string `json:"message"`
}

func (r *CommonResponse) Common() *CommonResponse { return r }

// RetryResponse is the one of hooks that Cluster API waits for.
type RetryResponse struct {
	CommonResponse
	RetryAfterSeconds int32 `json:"retryAfterSeconds"`
}

// DiscoveryResponse lists the handlers of a server.
type DiscoveryResponse struct {
	CommonResponse
	Handlers []Handler `json:"handlers"`
}

// Handler is what a server says about one of its handlers.
type Handler struct {
	Name           string      `json:"name"`
	RequestHook    requestHook `json:"requestHook"`
	TimeoutSeconds *int32      `json:"timeoutSeconds"`
	FailurePolicy  *string     `json:"failurePolicy"`
}

type requestHook struct {
	APIVersion string `json:"apiVersion"`
	Hook       string `json:"hook"`
}

// VariablesResponse has the variables for a ClusterClass, whose schemas are judged
// as documents.
type VariablesResponse struct {
	CommonResponse
	Variables []json.RawMessage `json:"variables"`
}

// PatchesResponse has patches for the items of a request.
type PatchesResponse struct {
	CommonResponse
	Items []itemPatch `json:"items"`
}

// itemPatch is a patch for the item with the same UID.
type itemPatch struct {
	UID       string `json:"uid"`
	PatchType string `json:"patchType"`
	Patch     []byte `json:"patch"`
}

// Change is the patch without the item.
func (p itemPatch) Change() Patch { return Patch{p.PatchType, p.Patch} }

// Patch is a change of an object.
type Patch struct {
	PatchType string `json:"patchType"`
	Patch     []byte `json:"patch"`
}

// MachineResponse has the changes that can be made to a machine in place.
type MachineResponse struct {
	CommonResponse
	MachinePatch               Patch `json:"machinePatch"`
	InfrastructureMachinePatch Patch `json:"infrastructureMachinePatch"`
	BootstrapConfigPatch       Patch `json:"bootstrapConfigPatch"`
}

type MachineSetResponse struct {
	CommonResponse
	MachineSetPatch                    Patch `json:"machineSetPatch"`
	InfrastructureMachineTemplatePatch Patch `json:"infrastructureMachineTemplatePatch"`
	BootstrapConfigTemplatePatch       Patch `json:"bootstrapConfigTemplatePatch"`
}

// PlanResponse has the versions that an upgrade goes through.
type PlanResponse struct {
	CommonResponse
	ControlPlaneUpgrades []Step `json:"controlPlaneUpgrades"`
	WorkersUpgrades      []Step `json:"workersUpgrades"`
}

type Step struct {
	Version string `json:"version"`
}

// Decode reads an answer as Cluster API does (internal/runtime/client, httpCall):
// the case of keys does not matter, unknown fields are ignored, and so is what
// follows the first value. The error is a *json.UnmarshalTypeError if a field has
// the wrong type.
func (h *Hook) Decode(body []byte) (Response, error) {
	r := h.new()
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(r); err != nil {
		return nil, err
	}
	return r, nil
}

// UnknownField returns a field of an answer that the hook does not have, or "". A
// retryAfterSeconds too many is left to others, and so are the fields of variables.
func (h *Hook) UnknownField(body []byte) string {
	errs, _ := strictjson.UnmarshalStrict(body, h.new(), strictjson.DisallowUnknownFields)
	for _, err := range errs {
		field := strings.Trim(strings.TrimPrefix(err.Error(), "unknown field "), `"`)
		if field != "retryAfterSeconds" {
			return field
		}
	}
	return ""
}

// RetryAfter returns the retryAfterSeconds of an answer as it stands in it, or nil.
func RetryAfter(body []byte) json.RawMessage {
	var raw struct {
		RetryAfterSeconds json.RawMessage `json:"retryAfterSeconds"`
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&raw) != nil || string(raw.RetryAfterSeconds) == "null" {
		return nil
	}
	return raw.RetryAfterSeconds
}

// Misfit returns the path of the field whose type is wrong, or "" if the error of
// Decode is another one.
func Misfit(err error) string {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return ""
	}
	// The names of embedded structs are not in the JSON.
	path := strings.Split(mismatch.Field, ".")
	path = slices.DeleteFunc(path, func(name string) bool { return name == "CommonResponse" })
	return strings.Join(path, ".")
}

// Explain says in words for people why an answer cannot be decoded.
func Explain(err error) string {
	var mismatch *json.UnmarshalTypeError
	switch {
	case Misfit(err) != "":
		errors.As(err, &mismatch)
		return fmt.Sprintf("%s is a %s, which the field does not accept", Misfit(err), mismatch.Value)
	case errors.As(err, &mismatch):
		return fmt.Sprintf("it is a JSON %s instead of an object", mismatch.Value)
	}
	return "it is not JSON: " + err.Error()
}
