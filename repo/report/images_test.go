package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestImages(t *testing.T) {
	r := inventoryRelease()
	images := given.Value(inventory.Images(t.Context(), r))(t)
	for _, tt := range []struct {
		format string
		images []inventory.Image
		want   string
	}{
		{"text", images, `infrastructure-foo v1.0.0: 5 images in 6 containers

IMAGE                     CONTAINER  OBJECT                         PLACE                              REMARK
ghcr.io/foo/foo:v1        manager    Deployment foo-system/manager  infrastructure-components.yaml:8   -
ghcr.io/foo/proxy:v2      proxy      Deployment foo-system/manager  infrastructure-components.yaml:10  with defaults of ghcr.io/foo/proxy:${TAG:=v2}
ghcr.io/foo/foo:v1        init       Deployment foo-system/manager  infrastructure-components.yaml:13  -
busybox                   a          Job setup                      infrastructure-components.yaml:21  not listed by clusterctl; not written in full: docker.io/library/busybox
ghcr.io/foo/b:${JOB_TAG}  b          Job setup                      infrastructure-components.yaml:22  not listed by clusterctl; needs JOB_TAG
No|t                      c          Job setup                      infrastructure-components.yaml:23  not listed by clusterctl; not an image name
`},
		{"markdown", images, strings.ReplaceAll(`| Image | Used by |
|---|---|
| ´ghcr.io/foo/foo:v1´ | ´Deployment foo-system/manager´ |
| ´ghcr.io/foo/proxy:v2´ | ´Deployment foo-system/manager´ |
| ´busybox´ | ´Job setup´ |
| ´ghcr.io/foo/b:${JOB_TAG}´ | ´Job setup´ |
| ´No\|t´ | ´Job setup´ |
`, "´", "`")},
		{"json", images[1:2], `{
  "kind": "images",
  "schemaVersion": 1,
  "failures": [],
  "suppressed": [],
  "images": [
    {
      "provider": "infrastructure-foo",
      "version": "v1.0.0",
      "ref": "ghcr.io/foo/proxy:v2",
      "expression": "ghcr.io/foo/proxy:${TAG:=v2}",
      "canonical": true,
      "repository": "ghcr.io/foo",
      "name": "proxy",
      "tag": "v2",
      "container": "proxy",
      "field": "containers",
      "object": "Deployment foo-system/manager",
      "seenByClusterctl": true,
      "file": "infrastructure-components.yaml",
      "line": 10,
      "column": 16
    }
  ]
}
`},
	} {
		var b strings.Builder
		given.NoError(t, report.WriteImages(&b, tt.format, one(r, tt.images)))
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.format, diff)
		}
	}
}
