package clusterctl

import (
	// A digest is only valid to the parser of references if its hash is known.
	_ "crypto/sha256"
	_ "crypto/sha512"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
)

// Images are the image overrides of clusterctl.yaml. Keys are "all", a provider
// label ("infrastructure-aws") or a label with an image name
// ("infrastructure-aws/kube-rbac-proxy"); the overrides of all three apply, and
// the more specific one wins (clusterctl: client/config/imagemeta_client.go).
type Images map[string]ImageOverride

// ImageOverride replaces the parts of an image reference that are not empty. A
// digest stays, even with another tag.
type ImageOverride struct {
	// Repository is everything before the last slash of the name.
	Repository string
	Name       string
	Tag        string
}

// Apply returns the reference after the overrides for the images of a provider.
// It fails for every reference that is not canonical, overridden or not.
func (m Images) Apply(label, image string) (string, error) {
	named, err := imageref.ParseCanonical(image)
	if err != nil {
		return "", fmt.Errorf("couldn't parse image name: %w", err)
	}
	repository, name := path.Split(named.Name())
	repository = strings.TrimSuffix(repository, "/")
	var tag, digest string
	if named.Tag != "" {
		tag = ":" + named.Tag
	}
	if named.Digest != "" {
		digest = "@" + named.Digest
	}
	for _, key := range []string{"all", label, label + "/" + path.Base(named.Name())} {
		o := m[key]
		if o.Repository != "" {
			repository = strings.TrimSuffix(o.Repository, "/")
		}
		if o.Name != "" {
			name = o.Name
		}
		if o.Tag != "" {
			tag = ":" + o.Tag
		}
	}
	return repository + "/" + name + tag + digest, nil
}

// workload is one of the kinds whose images clusterctl knows. The kind alone
// decides, whatever the group.
type workload struct {
	typed runtime.Object
	pod   *corev1.PodSpec
	// word is clusterctl's spelling of the kind in messages.
	word string
}

func workloadOf(kind string) *workload {
	switch kind {
	case "Deployment":
		d := &appsv1.Deployment{}
		return &workload{d, &d.Spec.Template.Spec, "deployment"}
	case "DaemonSet":
		d := &appsv1.DaemonSet{}
		return &workload{d, &d.Spec.Template.Spec, "deamonSet"}
	}
	return nil
}

// imageError says which image of a pod is meant.
type imageError struct {
	list  string // the field of the pod
	index int
	err   error
}

func (e *imageError) Error() string { return e.err.Error() }
func (e *imageError) Unwrap() error { return e.err }

// applyImages overrides the images of an object, if it is a workload, and lists the
// result: containers before init containers, with repetitions
// (clusterctl: internal/util/objs.go, FixImages and InspectImages).
func applyImages(o *object, label string, overrides Images) ([]string, error) {
	w := workloadOf(o.GetKind())
	if w == nil {
		return nil, nil
	}
	if err := toTyped(o, w.typed); err != nil {
		return nil, o.fail(fmt.Errorf("failed to apply image overrides: %w", err))
	}
	images, err := applyToPod(w.pod, label, overrides)
	if err != nil {
		err = fmt.Errorf("failed to apply image overrides: failed to fix containers in %s %s: %w", w.word, o.GetName(), err)
		var at *imageError
		if errors.As(err, &at) {
			return nil, o.fail(err, "spec", "template", "spec", at.list, strconv.Itoa(at.index), "image")
		}
		return nil, o.fail(err)
	}
	if err := fromTyped(w.typed, o); err != nil {
		return nil, o.fail(fmt.Errorf("failed to apply image overrides: %w", err))
	}
	return images, nil
}

func applyToPod(pod *corev1.PodSpec, label string, overrides Images) ([]string, error) {
	var images []string
	for _, list := range []struct {
		field, words string
		containers   []corev1.Container
	}{
		{"containers", "failed to fix containers", pod.Containers},
		{"initContainers", "failed to fix init containers", pod.InitContainers},
	} {
		for i := range list.containers {
			c := &list.containers[i]
			image, err := overrides.Apply(label, c.Image)
			if err != nil {
				return nil, &imageError{list.field, i, fmt.Errorf("%s: failed to fix image for container %s: %w", list.words, c.Name, err)}
			}
			c.Image = image
			images = append(images, image)
		}
	}
	return images, nil
}
