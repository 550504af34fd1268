// Package dist makes and checks the releases of this project: archives, packages,
// the container image, the manifests of package managers. make dist runs it.
//
// It must not know the work of the program.
package dist
