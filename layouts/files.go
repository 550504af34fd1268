package layouts

import "strings"

// MetadataFile is the fixed name of the release series file.
const MetadataFile = "metadata.yaml"

// ChecksumFile lists the SHA-256 of every other file of a release, in the
// format of sha256sum(1).
const ChecksumFile = "SHA256SUMS"

// SignatureFile is the signature of ChecksumFile, which therefore cannot list
// it.
const SignatureFile = ChecksumFile + ".sig"

// FileKind says what clusterctl does with a file of a release.
type FileKind int

// The kinds of files in a release.
const (
	Asset FileKind = iota // anything clusterctl does not read
	Metadata
	Components
	ClusterTemplate
	ClusterClass
	Checksums
	signature
)

var fileKindNames = [...]string{"asset", "metadata", "components", "cluster-template", "clusterclass", "checksums", "signature"}

// String returns the word for the kind in output and configuration.
func (k FileKind) String() string { return fileKindNames[k] }

// TemplateFile returns the file name clusterctl asks for, for a flavor
// (clusterctl: client/yamlprocessor, GetTemplateName). The empty flavor is the
// default one.
func TemplateFile(flavor string) string {
	if flavor == "" {
		return "cluster-template.yaml"
	}
	return "cluster-template-" + flavor + ".yaml"
}

// ClusterClassFile returns the file name clusterctl asks for, for a
// ClusterClass (clusterctl: client/yamlprocessor, GetClusterClassTemplateName).
func ClusterClassFile(class string) string { return "clusterclass-" + class + ".yaml" }

// Flavor is the inverse of TemplateFile.
func Flavor(file string) (flavor string, ok bool) {
	s, ok := strings.CutPrefix(file, "cluster-template")
	if !ok {
		return "", false
	}
	if s, ok = strings.CutSuffix(s, ".yaml"); !ok {
		return "", false
	}
	if s == "" {
		return "", true
	}
	s, ok = strings.CutPrefix(s, "-")
	return s, ok && s != ""
}

// ClassOf is the inverse of ClusterClassFile.
func ClassOf(file string) (class string, ok bool) {
	s, ok := strings.CutPrefix(file, "clusterclass-")
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, ".yaml")
	return s, ok && s != ""
}

// KindOfFile classifies a file of a release by its name. Components are
// recognised by the recommended names and their variants, such as
// infrastructure-components-development.yaml; a provider URL may name any
// other file, see repo.Release.
func KindOfFile(name string) FileKind {
	switch name {
	case MetadataFile:
		return Metadata
	case ChecksumFile:
		return Checksums
	case SignatureFile:
		return signature
	}
	if _, ok := Flavor(name); ok {
		return ClusterTemplate
	}
	if _, ok := ClassOf(name); ok {
		return ClusterClass
	}
	if TypeOfComponents(name) != "" {
		return Components
	}
	return Asset
}

// TypeOfComponents returns the provider type whose components file has that
// name or a variant of it, or the empty type.
func TypeOfComponents(name string) ProviderType {
	stem, ok := strings.CutSuffix(name, ".yaml")
	if !ok {
		return ""
	}
	for _, row := range Types {
		rest, ok := strings.CutPrefix(stem, strings.TrimSuffix(row.ComponentsFile, ".yaml"))
		if ok && (rest == "" || rest[0] == '-') {
			return row.Type
		}
	}
	// The embedded list of clusterctl spells this one with a plural.
	if stem == "runtime-extensions-components" {
		return RuntimeExtension
	}
	return ""
}

// Attests reports whether the file says something about the other files of the
// release, so that it is true for exactly these.
func (k FileKind) Attests() bool { return k == Checksums || k == signature }

// Read reports whether clusterctl reads files of the kind.
func (k FileKind) Read() bool { return k != Asset && !k.Attests() }
