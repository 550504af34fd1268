// Package dist makes and checks the releases of this project: archives, packages,
// the container image, the manifests of package managers. make dist runs it.
package dist
