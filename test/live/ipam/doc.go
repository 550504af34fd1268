// Package ipam names the IPAM provider for test/live. The module is apart because the
// provider needs older Kubernetes modules than the other controllers. It must not know the tests.
package ipam
