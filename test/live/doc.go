// Package live runs the real controllers of Cluster API on a real API server, without
// containers, and judges how they behave.
package live
