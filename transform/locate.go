package transform

import (
	"context"
	"errors"
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/kustomize"
)

// locate turns problems with built objects into errors at the place in the
// source tree that the object comes from. Kustomize tells the file; within it,
// the object is the one of the same kind whose name the built one contains.
func (p *building) locate(ctx context.Context, o *config.Output, problems []objectProblem) error {
	var origins map[kustomize.Identity]string
	if o.Kustomize != "" {
		// If this fails the messages still name the object.
		origins, _ = kustomize.Origins(ctx, p.tree, o.Kustomize, kustomize.Options{
			NoLoadRestrictions: o.LoadRestrictor == config.NoRestrictions,
			AllowRemote:        p.allowRemote,
		})
	}
	var errs []error
	for _, problem := range problems {
		if problem.object == nil {
			errs = append(errs, &yamldoc.Error{File: o.Source(), Err: errors.New(problem.why)})
			continue
		}
		err := &yamldoc.Error{File: o.Source(), Err: fmt.Errorf("%s: %s", problem.object, problem.why)}
		file := o.File
		if from, ok := origins[kustomize.Identity{Kind: problem.object.kind(), Namespace: problem.object.namespace(), Name: problem.object.name()}]; ok {
			file = from
		}
		if pos, ok := p.find(file, problem.object); ok {
			err.File, err.Pos = file, pos
		} else if file != "" {
			err.File = file
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (p *building) find(file string, o object) (yamldoc.Pos, bool) {
	if file == "" {
		return yamldoc.Pos{}, false
	}
	data, err := p.read(file)
	if err != nil {
		return yamldoc.Pos{}, false
	}
	d := kustomize.ObjectIn(yamldoc.Parse(yamldoc.NewFile(file, data)), o.kind(), o.name())
	if d == nil {
		return yamldoc.Pos{}, false
	}
	return d.Pos(d.Root.Get("metadata", "name")), true
}
