package real

import (
	_ "unsafe" // for go:linkname

	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// aggregateSuccessfulResponses is the function of cluster-api internal/runtime/client,
// which extension.go links.
//
//go:linkname aggregateSuccessfulResponses sigs.k8s.io/cluster-api/internal/runtime/client.aggregateSuccessfulResponses
func aggregateSuccessfulResponses(aggregated hooksv1.ResponseObject, responses []hooksv1.ResponseObject)

// Aggregate returns what Cluster API makes of answers to one hook.
func Aggregate(seconds []int32, messages []string) (int32, string) {
	var responses []hooksv1.ResponseObject
	for i := range seconds {
		r := &hooksv1.BeforeClusterCreateResponse{}
		r.SetRetryAfterSeconds(seconds[i])
		r.SetMessage(messages[i])
		responses = append(responses, r)
	}
	out := &hooksv1.BeforeClusterCreateResponse{}
	aggregateSuccessfulResponses(out, responses)
	return out.GetRetryAfterSeconds(), out.GetMessage()
}
