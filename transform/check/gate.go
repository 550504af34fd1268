package check

import (
	"fmt"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// Gate is a reason for which a release does not reach users.
type Gate struct {
	// Name is one word, Refuses says what does not pass, and Override what lets it pass;
	// nothing does if it is empty.
	Name, Refuses, Override string
	// Tree is what becomes of it where a source tree is released, Built where a finished
	// release is published or released, and Mirror where what others published is copied.
	Tree, Built, Mirror Verdict
}

// Verdict is what a verb does at a gate.
type Verdict string

// The verdicts. Passed also stands where the reason cannot occur, or cannot be found out.
const (
	Refused  Verdict = "refused"
	Reported Verdict = "reported"
	Passed   Verdict = "–"
)

// Gates are what release and publish refuse, and mirror as it says, whatever the
// destination, in the order in which it is looked for.
var Gates = []Gate{
	{"recorded", "a release in the folder of a mirror is not what its lock file and SHA256SUMS say", "", Passed, Refused, Refused},
	{"listed", "the place cannot list the files, and there is no SHA256SUMS that does", "", Passed, Refused, Refused},
	{"text", "a file that clusterctl reads is empty, an HTML page, not UTF-8, or without an object", "", Refused, Refused, Refused},
	{"files", "there is a folder, a broken link, or a name that not every destination can hold", "", Passed, Refused, Refused},
	{"checksums", "SHA256SUMS lists another checksum, a missing file, or not every file", "", Passed, Refused, Refused},
	{"findings", "lint has findings at or above --fail-on", "correct them, or pass --fail-on never", Refused, Refused, Reported},
	{"losses", "it has less than the last one: the highest lower version at the destination, or --previous", "list what is gone under removed in clusterctl-repo.yaml, or pass --allow removal", Refused, Refused, Passed},
	{"latest", "clusterctl could then not resolve latest there", "correct metadata.yaml, or pass --allow broken-latest, which --fail-on never includes", Refused, Refused, Reported},
	{"content", "the version is published there with other content", "publish a new version", Refused, Refused, Refused},
	{"images", "the image of the provider's controller is not set, and its tag is not the version", "pass --image OLD=NEW:TAG, or set it under images, with keep: true if it is intended", Refused, Passed, Passed},
	{"versions", "the version is not a release version, or lacks the leading v", "publish it as vX.Y.Z; of a tree, set version.tagPattern and version.stripPrefix", Refused, Refused, Passed},
	{"series", "metadata.yaml does not list the release series of the version", "add the series to metadata.yaml; of a tree, --add-series does; of a finished release it is a finding, so --fail-on never lets it pass", Refused, Refused, Reported},
}

// Refusals returns why a build must not be released: the images of its controllers that
// are not set.
func Refusals(b *transform.Build) (out []error) {
	for _, u := range b.UnsetImages {
		text := fmt.Sprintf("%s: container %s of %s runs %s, not the image of %s", u.Label, u.Container, u.Object, u.Image, u.Version)
		name := u.Name
		if !strings.Contains(name, "/") {
			name = "REGISTRY/" + name
		}
		image := u.Name + "=" + imageref.Full(name) + ":" + u.Version
		if len(b.Releases) > 1 {
			image = u.Label + ":" + image
		}
		out = append(out, fmt.Errorf("%s; pass --image %s, or set it under images, with keep: true if it is intended", text, image))
	}
	return out
}
