// Package certmanager asks cert-manager's own webhook about objects.
//
// It is a module whose path lies below that of cert-manager: Go allows only such a
// package to import the validation, which is internal.
//
// It must not know this project.
package certmanager

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cert-manager/cert-manager/internal/apis/certmanager"
	"github.com/cert-manager/cert-manager/internal/apis/certmanager/install"
	"github.com/cert-manager/cert-manager/internal/apis/certmanager/validation"
)

// Validate returns why the webhook of cert-manager refuses a new Certificate, Issuer or
// ClusterIssuer of cert-manager.io/v1.
func Validate(o map[string]any) error {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	data, err := (&unstructured.Unstructured{Object: o}).MarshalJSON()
	if err != nil {
		return err
	}
	into, _, err := serializer.NewCodecFactory(scheme).UniversalDecoder(certmanager.SchemeGroupVersion).Decode(data, nil, nil)
	if err != nil {
		return err
	}
	var problems field.ErrorList
	switch into.(type) {
	case *certmanager.Certificate:
		problems, _ = validation.ValidateCertificate(nil, into)
	case *certmanager.Issuer:
		problems, _ = validation.ValidateIssuer(nil, into)
	case *certmanager.ClusterIssuer:
		problems, _ = validation.ValidateClusterIssuer(nil, into)
	default:
		return fmt.Errorf("the webhook does not look at %T", into)
	}
	return problems.ToAggregate()
}
