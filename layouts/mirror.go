package layouts

// The files in the root of a mirror, beside the releases. None of them is a
// part of a release.
const (
	// ConfigFile is the configuration of clusterctl.
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
	// OverridesFolder is where clusterctl.yaml makes clusterctl look for files
	// that stand in for those of the releases. It exists only if the user
	// creates it.
	OverridesFolder = "overrides"
)

// RootFiles are the files that the root of a repository may hold, and
// RootFolders the folders without releases.
var (
	RootFiles   = []string{ConfigFile, LockFile, ImageListFile, ImageInventoryFile, ChecksumFile}
	RootFolders = []string{CertManager.Label(), ConfigMapFolder, OverridesFolder}
)
