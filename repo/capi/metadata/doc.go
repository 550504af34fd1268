// Package metadata reads metadata.yaml and knows what clusterctl concludes from it:
// the contract of a version, the version that "latest" stands for, and whether
// an upgrade can be planned.
//
// It gives clusterctl's verdicts without clusterctl's libraries; test/oracle
// compares the two. It must not know where files come from, nor judge what
// clusterctl accepts.
package metadata
