package view

const (
	RuntimeGroup  = "runtime.cluster.x-k8s.io"
	ExtensionKind = "ExtensionConfig"
	// InjectCAFromSecret lets Cluster API copy a CA into an ExtensionConfig.
	InjectCAFromSecret = "runtime.cluster.x-k8s.io/inject-ca-from-secret"
)
