package clusterctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// toTyped converts an object to one of the types of the scheme, which drops
// fields that the type does not have.
func toTyped(o *object, into runtime.Object) error {
	if decode(o, into) {
		return nil
	}
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

// decode does what Convert does, through JSON and in half the time: Convert copies its
// result, and encodes lists of schemas again at each level. It reports false where
// Convert has to decide, such as on a number that overflows, or another version.
func decode(o *object, into runtime.Object) bool {
	if scheme().AllKnownTypes()[o.GroupVersionKind()] != reflect.TypeOf(into).Elem() {
		return false
	}
	data, err := json.Marshal(o.Object)
	return err == nil && utiljson.Unmarshal(data, into) == nil
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

// fromTyped replaces the content of an object, through JSON as decode does.
func fromTyped(from runtime.Object, o *object) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	gvk := o.GroupVersionKind()
	o.Object = nil
	if err := utiljson.Unmarshal(data, &o.Object); err != nil {
		return err
	}
	o.SetGroupVersionKind(gvk) // Convert clears apiVersion and kind
	return nil
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
