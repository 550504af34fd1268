package real

//lint:file-ignore SA1019 v1beta1 is what users still write

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	_ "unsafe" // for go:linkname

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	topology "sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	runtimeclient "sigs.k8s.io/cluster-api/exp/runtime/client"
	"sigs.k8s.io/cluster-api/exp/topology/desiredstate"
	"sigs.k8s.io/cluster-api/exp/topology/scope"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
)

// getBlueprint is the method of the reconciler.
//
//go:linkname getBlueprint sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster.(*Reconciler).getBlueprint
func getBlueprint(r *topology.Reconciler, ctx context.Context, cluster *clusterv1.Cluster, class *clusterv1.ClusterClass) (*scope.ClusterBlueprint, error)

// reader is an API server that has some objects, and a CustomResourceDefinition of each kind
// whose version is of one contract.
type reader struct {
	ctrlclient.Client
	objects  []unstructured.Unstructured
	contract string
}

func (r *reader) Get(_ context.Context, key ctrlclient.ObjectKey, into ctrlclient.Object, _ ...ctrlclient.GetOption) error {
	switch into := into.(type) {
	case *metav1.PartialObjectMetadata:
		into.Labels = map[string]string{"cluster.x-k8s.io/" + r.contract: "v1beta1_v1beta2_v1alpha1_v1"}
		return nil
	case *unstructured.Unstructured:
		for _, o := range r.objects {
			if o.GroupVersionKind() == into.GroupVersionKind() && o.GetName() == key.Name {
				o.DeepCopyInto(into)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// Generate returns the objects that the topology controller of Cluster API makes of a new
// Cluster, in the order in which they refer to each other. External patches are left out.
func Generate(ctx context.Context, cluster, class unstructured.Unstructured, objects []unstructured.Unstructured, contract string) ([]map[string]any, error) {
	hub, hubClass := &clusterv1.Cluster{}, &clusterv1.ClusterClass{}
	if err := convert(cluster, hub, func(old *clusterv1beta1.Cluster) error { return conversion.ConvertClusterV1Beta1ToHub(ctx, old, hub) }); err != nil {
		return nil, err
	}
	if err := convert(class, hubClass, func(old *clusterv1beta1.ClusterClass) error {
		return conversion.ConvertClusterClassV1Beta1ToHub(ctx, old, hubClass)
	}); err != nil {
		return nil, err
	}
	hubClass.Namespace = hub.Namespace
	hubClass.Spec.Patches = slices.DeleteFunc(hubClass.Spec.Patches, func(p clusterv1.ClusterClassPatch) bool { return p.External != nil })
	for _, v := range hubClass.Spec.Variables {
		hubClass.Status.Variables = append(hubClass.Status.Variables, clusterv1.ClusterClassStatusVariable{
			Name: v.Name, Definitions: []clusterv1.ClusterClassStatusVariableDefinition{{From: clusterv1.VariableDefinitionFromInline, Required: v.Required, Schema: v.Schema}},
		})
	}
	slices.SortStableFunc(hubClass.Status.Variables, func(a, b clusterv1.ClusterClassStatusVariable) int { return cmp.Compare(a.Name, b.Name) })
	if v := &hub.Spec.Topology.Version; len(*v) == 0 || (*v)[0] != 'v' {
		*v = "v" + *v
	}
	if errs := (&admission.Cluster{}).DefaultAndValidateVariables(ctx, hub, nil, hubClass); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	client := &reader{objects: objects, contract: contract}
	s := scope.New(hub)
	var err error
	if s.Blueprint, err = getBlueprint(&topology.Reconciler{Client: client}, ctx, hub, hubClass); err != nil {
		return nil, err
	}
	s.Current.ControlPlane = &scope.ControlPlaneState{}
	generator, err := desiredstate.NewGenerator(client, struct{ clustercache.ClusterCache }{}, struct{ runtimeclient.Client }{}, nil, nil)
	if err != nil {
		return nil, err
	}
	state, err := generator.Generate(ctx, s)
	if err != nil {
		return nil, err
	}
	return listed(s, state)
}

// convert reads an object, with a function if it is in v1beta1.
func convert[Old any](o unstructured.Unstructured, into any, upgrade func(*Old) error) error {
	data, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	if o.GroupVersionKind().Version != "v1beta1" {
		return json.Unmarshal(data, into)
	}
	old := new(Old)
	if err := json.Unmarshal(data, old); err != nil {
		return err
	}
	return upgrade(old)
}

// listed are the objects of a state.
func listed(s *scope.Scope, state *scope.ClusterState) (out []map[string]any, err error) {
	add := func(kind string, o any) {
		data, failed := json.Marshal(o)
		value := map[string]any{}
		if err = cmp.Or(err, failed, json.Unmarshal(data, &value)); kind != "" {
			value["apiVersion"], value["kind"] = clusterv1.GroupVersion.String(), kind
		}
		out = append(out, value)
	}
	add("Cluster", state.Cluster)
	add("", state.InfrastructureCluster)
	if t := state.ControlPlane.InfrastructureMachineTemplate; t != nil {
		add("", t)
	}
	add("", state.ControlPlane.Object)
	if c := state.ControlPlane.MachineHealthCheck; c != nil {
		add("MachineHealthCheck", c)
	}
	for _, t := range s.Blueprint.Topology.Workers.MachineDeployments {
		md := state.MachineDeployments[t.Name]
		if md == nil {
			return nil, fmt.Errorf("no MachineDeployment %s", t.Name)
		}
		add("", md.BootstrapTemplate)
		add("", md.InfrastructureMachineTemplate)
		add("MachineDeployment", md.Object)
		if md.MachineHealthCheck != nil {
			add("MachineHealthCheck", md.MachineHealthCheck)
		}
	}
	for _, t := range s.Blueprint.Topology.Workers.MachinePools {
		mp := state.MachinePools[t.Name]
		if mp == nil {
			return nil, fmt.Errorf("no MachinePool %s", t.Name)
		}
		add("", mp.BootstrapObject)
		add("", mp.InfrastructureMachinePoolObject)
		add("MachinePool", mp.Object)
	}
	return out, err
}
