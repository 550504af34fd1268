// Package objects compares the rules about objects of Kubernetes with the
// validation of the API server. It must not start a server: its tests call the validation.
package objects
