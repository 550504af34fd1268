// Package objects compares the rules about objects of Kubernetes with its own
// validation. It must not start a server: its tests call the validation.
package objects
