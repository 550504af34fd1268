package open

import (
	"context"

	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
)

// Image names a container image.
type Image = oci.Image

// CheckImages asks the registries of images for them, with the credentials that
// docker login left.
func (p *Places) CheckImages(ctx context.Context, images []Image) []oci.Status {
	return oci.CheckImages(ctx, images, func(host, repository string) (*oci.Repository, error) {
		return oci.New(p.oci(host, repository, Options{}))
	})
}
