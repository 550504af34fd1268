package metadata

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/json"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// decode does what the universal decoder of apimachinery does with the type
// Metadata in clusterctl's scheme. Read adds the positions.
func decode(data []byte) (*Metadata, error) {
	if !bytes.HasPrefix(bytes.TrimLeftFunc(data, unicode.IsSpace), []byte("{")) {
		var err error
		if data, err = yamldoc.ToJSON(data); err != nil {
			return nil, err
		}
	}
	if err := checkIdentity(data); err != nil {
		return nil, err
	}
	out := &Metadata{} // a type of that name hides it below
	// The type of every field of the standard metadata is checked, too. The
	// names of these types occur in messages.
	type OwnerReference struct {
		APIVersion         string `json:"apiVersion"`
		Kind               string `json:"kind"`
		Name               string `json:"name"`
		UID                string `json:"uid"`
		Controller         *bool  `json:"controller"`
		BlockOwnerDeletion *bool  `json:"blockOwnerDeletion"`
	}
	type ManagedFieldsEntry struct {
		Manager     string             `json:"manager"`
		Operation   string             `json:"operation"`
		APIVersion  string             `json:"apiVersion"`
		Time        *timestamp         `json:"time"`
		FieldsType  string             `json:"fieldsType"`
		FieldsV1    stdjson.RawMessage `json:"fieldsV1"`
		Subresource string             `json:"subresource"`
	}
	type ObjectMeta struct {
		Name                       string               `json:"name"`
		GenerateName               string               `json:"generateName"`
		Namespace                  string               `json:"namespace"`
		SelfLink                   string               `json:"selfLink"`
		UID                        string               `json:"uid"`
		ResourceVersion            string               `json:"resourceVersion"`
		Generation                 int64                `json:"generation"`
		CreationTimestamp          timestamp            `json:"creationTimestamp"`
		DeletionTimestamp          *timestamp           `json:"deletionTimestamp"`
		DeletionGracePeriodSeconds *int64               `json:"deletionGracePeriodSeconds"`
		Labels                     map[string]string    `json:"labels"`
		Annotations                map[string]string    `json:"annotations"`
		OwnerReferences            []OwnerReference     `json:"ownerReferences"`
		Finalizers                 []string             `json:"finalizers"`
		ManagedFields              []ManagedFieldsEntry `json:"managedFields"`
	}
	type ReleaseSeries struct {
		Major    int32  `json:"major"`
		Minor    int32  `json:"minor"`
		Contract string `json:"contract"`
	}
	type Metadata struct {
		APIVersion    string          `json:"apiVersion"`
		Kind          string          `json:"kind"`
		ObjectMeta    ObjectMeta      `json:"metadata"`
		ReleaseSeries []ReleaseSeries `json:"releaseSeries"`
	}
	var m Metadata
	if err := json.UnmarshalCaseSensitivePreserveInts(data, &m); err != nil {
		return nil, err
	}
	out.APIVersion = m.APIVersion
	for _, s := range m.ReleaseSeries {
		out.Series = append(out.Series, Series{Major: s.Major, Minor: s.Minor, Contract: s.Contract})
	}
	return out, nil
}

// timestamp accepts what metav1.Time accepts.
type timestamp struct{}

// UnmarshalJSON checks the format.
func (*timestamp) UnmarshalJSON(data []byte) error {
	var text *string
	if err := stdjson.Unmarshal(data, &text); err != nil || text == nil {
		return err
	}
	_, err := time.Parse(time.RFC3339, *text)
	return err
}

// identityError is an apiVersion or kind that is not that of a metadata file.
type identityError struct {
	field string
	err   error
}

func (e *identityError) Error() string { return e.err.Error() }

// registered are kinds that clusterctl knows and that its users write, so that it tries to make a
// Metadata of them (clusterctl: internal/scheme/scheme.go).
var registered = map[string][]string{
	APIVersion:                 {"Provider", "ProviderList"},
	"/v1":                      {"ConfigMap", "List", "Namespace", "Secret", "Service", "ServiceAccount"},
	"apps/v1":                  {"DaemonSet", "Deployment"},
	"apiextensions.k8s.io/v1":  {"CustomResourceDefinition"},
	"cluster.x-k8s.io/v1beta1": {"Cluster", "ClusterClass", "Machine", "MachineDeployment", "MachinePool"},
	"cluster.x-k8s.io/v1beta2": {"Cluster", "ClusterClass", "Machine", "MachineDeployment", "MachinePool"},
}

// checkIdentity finds out whether apimachinery takes the file for a Metadata. At
// this point it does not tell the case of field names, and a missing kind or
// apiVersion is fine.
func checkIdentity(data []byte) error {
	type mapping struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	var id mapping
	if err := stdjson.Unmarshal(data, &id); err != nil {
		return fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	if strings.Count(id.APIVersion, "/") > 1 {
		return &identityError{"apiVersion", fmt.Errorf("unexpected GroupVersion string: %v", id.APIVersion)}
	}
	wantGroup, wantVersion, _ := strings.Cut(APIVersion, "/")
	group, version, ok := strings.Cut(id.APIVersion, "/")
	if !ok {
		group, version = "", id.APIVersion
	}
	if version == "" && (group == "" || group == wantGroup) {
		group, version = wantGroup, wantVersion
	}
	id.Kind = cmp.Or(id.Kind, Kind)
	field := "kind"
	switch {
	case version == "":
		//lint:ignore ST1005 the words of the API machinery
		return &identityError{"apiVersion", errors.New("Object 'apiVersion' is missing")}
	case group+"/"+version != APIVersion:
		field = "apiVersion"
	case id.Kind == Kind:
		return nil
	}
	if slices.Contains(registered[group+"/"+version], id.Kind) {
		return &identityError{field, fmt.Errorf("converting (%s.%s) to (v1alpha3.Metadata): unknown conversion", version, id.Kind)}
	}
	return &identityError{field, fmt.Errorf("no kind %q is registered for version %q", id.Kind, strings.TrimPrefix(group+"/"+version, "/"))}
}
