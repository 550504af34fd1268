package layouts

// The files in the root of a mirror, next to the releases. None of them is a
// part of a release.
const (
	ConfigFile = "clusterctl.yaml"
	// LockFile says where every file of a mirror came from.
	LockFile = "mirror.lock.json"
	// ImageListFile has one image on each line, ImageInventoryFile also where
	// they were found.
	ImageListFile      = "images.txt"
	ImageInventoryFile = "images.json"
	// ConfigMapFolder holds the releases as the ConfigMaps that Cluster API
	// Operator reads.
	ConfigMapFolder = "capi-operator"
	// ImagesFolder holds the container images as an OCI layout.
	ImagesFolder = "images"
	// MirrorVariable is the environment variable that tells clusterctl where a
	// mirror is that was moved: clusterctl.yaml asks for it, and defaults to
	// the folder that the mirror was made in.
	MirrorVariable = "CLUSTERCTL_MIRROR"
	// OverridesFolder is where clusterctl.yaml makes clusterctl look for files
	// that stand in for those of the releases. It exists only if the user
	// creates it.
	OverridesFolder = "overrides"
)

// WorkPrefix begins the names of what this program keeps in a folder while it works
// there. None of them is a version, so clusterctl lists none, and repo/source/folder
// calls them hidden.
const WorkPrefix = ".clusterctl-repo-"

// RootFiles are the files that the root of a repository may hold, and
// RootFolders the folders without releases.
var (
	RootFiles   = []string{ConfigFile, LockFile, ImageListFile, ImageInventoryFile, ChecksumFile, SignatureFile}
	RootFolders = []string{CertManager.Label(), ConfigMapFolder, OverridesFolder, ImagesFolder}
)
