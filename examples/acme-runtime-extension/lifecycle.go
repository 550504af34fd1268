package main

import (
	"context"

	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// The hooks of the life of a cluster. Cluster API calls them again and again until
// they let it go on, so whatever they do must be possible twice. To let it wait,
// answer with Success and RetryAfterSeconds; Failure is for errors.

// goOn lets Cluster API go on.
func goOn(ctx context.Context, hook, namespace, cluster string, response hooksv1.ResponseObject) {
	ctrl.LoggerFrom(ctx).Info("called", "hook", hook, "namespace", namespace, "cluster", cluster)
	response.SetStatus(hooksv1.ResponseStatusSuccess)
}

func beforeClusterCreate(ctx context.Context, request *hooksv1.BeforeClusterCreateRequest, response *hooksv1.BeforeClusterCreateResponse) {
	goOn(ctx, "BeforeClusterCreate", request.Cluster.Namespace, request.Cluster.Name, response)
}

func afterControlPlaneInitialized(ctx context.Context, request *hooksv1.AfterControlPlaneInitializedRequest, response *hooksv1.AfterControlPlaneInitializedResponse) {
	goOn(ctx, "AfterControlPlaneInitialized", request.Cluster.Namespace, request.Cluster.Name, response)
}

func beforeClusterUpgrade(ctx context.Context, request *hooksv1.BeforeClusterUpgradeRequest, response *hooksv1.BeforeClusterUpgradeResponse) {
	goOn(ctx, "BeforeClusterUpgrade", request.Cluster.Namespace, request.Cluster.Name, response)
}

func beforeControlPlaneUpgrade(ctx context.Context, request *hooksv1.BeforeControlPlaneUpgradeRequest, response *hooksv1.BeforeControlPlaneUpgradeResponse) {
	goOn(ctx, "BeforeControlPlaneUpgrade", request.Cluster.Namespace, request.Cluster.Name, response)
}

func afterControlPlaneUpgrade(ctx context.Context, request *hooksv1.AfterControlPlaneUpgradeRequest, response *hooksv1.AfterControlPlaneUpgradeResponse) {
	goOn(ctx, "AfterControlPlaneUpgrade", request.Cluster.Namespace, request.Cluster.Name, response)
}

func beforeWorkersUpgrade(ctx context.Context, request *hooksv1.BeforeWorkersUpgradeRequest, response *hooksv1.BeforeWorkersUpgradeResponse) {
	goOn(ctx, "BeforeWorkersUpgrade", request.Cluster.Namespace, request.Cluster.Name, response)
}

func afterWorkersUpgrade(ctx context.Context, request *hooksv1.AfterWorkersUpgradeRequest, response *hooksv1.AfterWorkersUpgradeResponse) {
	goOn(ctx, "AfterWorkersUpgrade", request.Cluster.Namespace, request.Cluster.Name, response)
}

func afterClusterUpgrade(ctx context.Context, request *hooksv1.AfterClusterUpgradeRequest, response *hooksv1.AfterClusterUpgradeResponse) {
	goOn(ctx, "AfterClusterUpgrade", request.Cluster.Namespace, request.Cluster.Name, response)
}

func beforeClusterDelete(ctx context.Context, request *hooksv1.BeforeClusterDeleteRequest, response *hooksv1.BeforeClusterDeleteResponse) {
	goOn(ctx, "BeforeClusterDelete", request.Cluster.Namespace, request.Cluster.Name, response)
}
