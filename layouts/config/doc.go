// Package config is the model of clusterctl-repo.yaml: what to build from a
// source tree, stated once and checked strictly. A file is decoded with the
// position of every value, so that a mistake, also one found later, is
// reported where it was written. The same structs come out of the detection of
// a layout; Resolve turns either into the concrete list of files to make.
//
// It must not know how an output is made (transform), where it goes (publish)
// or which conventions lead to a configuration (layouts/detect). It reads the
// tree it is given and nothing else, and it runs no command.
package config
