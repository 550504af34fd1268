// Package live runs the real controllers of Cluster API on a real API server, without
// containers, and judges how they behave. It only has tests; the module is apart so that
// Kubernetes and the controllers stay out of the tool.
//
// Everything runs in a network namespace that only has a loopback interface.
//
// It must not know how behaviour is judged.
package live
