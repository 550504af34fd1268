package clusterctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// toTyped converts an object to one of the types of the scheme, which drops
// fields that the type does not have.
func toTyped(o *object, into runtime.Object) error {
	err := scheme().Convert(&o.Unstructured, into, nil)
	if err == nil {
		return nil
	}
	if runtime.IsNotRegisteredError(err) {
		return &conversionError{err: err}
	}
	return &conversionError{err, wrongField(o, into)}
}

// fromTyped replaces the content of an object.
func fromTyped(from runtime.Object, o *object) error {
	return scheme().Convert(from, &o.Unstructured, nil)
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
