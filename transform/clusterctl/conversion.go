package clusterctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// toTyped converts an object to one of the types of the scheme, which drops
// fields that the type does not have.
func toTyped(o *object, into runtime.Object) error {
	err := scheme().Convert(&o.Unstructured, into, nil)
	if err == nil {
		return nil
	}
	if runtime.IsNotRegisteredError(err) {
		if !old(o.GroupVersionKind()) {
			return &conversionError{err: err}
		}
		err = fromOld(o, into)
	}
	return &conversionError{err, wrongField(o, into)}
}

// old reports whether clusterctl's scheme has a type without a conversion from
// it: an old version of a kind that clusterctl works on.
func old(gvk schema.GroupVersionKind) bool {
	switch gvk.GroupVersion().String() {
	case "apps/v1beta1":
		return gvk.Kind == "Deployment"
	case "apps/v1beta2", "extensions/v1beta1":
		return gvk.Kind == "Deployment" || gvk.Kind == "DaemonSet"
	case "rbac.authorization.k8s.io/v1alpha1", "rbac.authorization.k8s.io/v1beta1":
		return gvk.Kind == "RoleBinding" || gvk.Kind == "ClusterRoleBinding"
	}
	return false
}

// fromOld says why clusterctl does not convert an object of an old type. The new
// type, whose fields are the same but for a few, stands for the old one, which
// would make the program larger only to be refused.
func fromOld(o *object, into runtime.Object) error {
	gvk := o.GroupVersionKind()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return fmt.Errorf("unable to convert unstructured object to %v: %w", gvk, err)
	}
	return fmt.Errorf("converting (%s.%s) to (%s): unknown conversion", gvk.Version, gvk.Kind, reflect.TypeOf(into).Elem())
}

// fromTyped replaces the content of an object.
func fromTyped(from runtime.Object, o *object) error {
	if err := scheme().Convert(from, &o.Unstructured, nil); err != nil {
		return err
	}
	o.Object, _ = compact(o.Object).(map[string]any)
	return nil
}

// compact copies maps into maps of their own size. The converter makes room for
// every field of a type: for each property of a schema two kilobytes, nearly all of
// them empty.
func compact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = compact(value)
		}
		return out
	case []any:
		for i, item := range v {
			v[i] = compact(item)
		}
	}
	return v
}

// conversionError is an object that does not fit its type. Field is the first
// one of a wrong JSON type, if that is what is wrong.
type conversionError struct {
	err   error
	field *json.UnmarshalTypeError
}

func (e *conversionError) Unwrap() error { return e.err }

// Error is what apimachinery says without where the scheme was built, and with
// the field, which it does not say.
func (e *conversionError) Error() string {
	text := e.err.Error()
	if runtime.IsNotRegisteredError(e.err) {
		text, _, _ = strings.Cut(text, ` in scheme "`)
	}
	if e.field != nil {
		kind, _, _ := strings.Cut(e.field.Value, " ")
		article := "a"
		if kind == "object" || kind == "array" {
			article = "an"
		}
		text += fmt.Sprintf(" (%s is %s %s)", e.field.Field, article, kind)
	}
	return text
}

// wrongField asks the JSON decoder, which names the field.
func wrongField(o *object, into runtime.Object) *json.UnmarshalTypeError {
	data, err := json.Marshal(o.Object)
	if err != nil {
		return nil
	}
	var field *json.UnmarshalTypeError
	if errors.As(json.Unmarshal(data, into), &field) && field.Field != "" {
		return field
	}
	return nil
}
