// Package objects compares the rules about objects of Kubernetes with its own
// validation, which its tests call without a server.
package objects
