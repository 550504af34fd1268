package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/live/rig"
)

const (
	machineController = "internal/controllers/devmachine_controller.go"
	machineBackend    = "internal/controllers/backends/inmemory/inmemorymachine_backend.go"
	clusterController = "internal/controllers/devcluster_controller.go"
	clusterBackend    = "internal/controllers/backends/inmemory/inmemorycluster_backend.go"
)

// mutant is the real infrastructure provider with a mistake.
type mutant struct {
	name  string
	edits []rig.Edit
	// want is what must be found, and may what the mistake may lead to as well.
	want, may []string
	// step is one that the short course leaves out and without which the mistake is hidden.
	step string
	// instant starts machines at once: bootstrap data that come before the machine has
	// started hide that nothing waited for them.
	instant bool
}

var mutants = []mutant{
	{name: "pause", want: []string{"BEH001 DevMachine"}, edits: []rig.Edit{{
		File: machineController,
		Old:  "if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, devMachine); err != nil || isPaused || requeue {",
		New:  "if _, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, devMachine); err != nil || requeue {",
	}}},
	{name: "finalizer", want: []string{"BEH008 DevMachine"}, edits: []rig.Edit{{
		File: machineController,
		Old:  "if finalizerAdded, err := finalizers.EnsureFinalizer(ctx, r.Client, devMachine, infrav1.MachineFinalizer); err != nil || finalizerAdded {",
		New:  "_ = finalizers.EnsureFinalizer\n\tif err := ctx.Err(); err != nil {",
	}}},
	{name: "early", instant: true, want: []string{"BEH207 DevMachine"}, may: []string{"BEH206 DevMachine"}, edits: []rig.Edit{{
		File: machineBackend,
		Old:  "if machine.Spec.Bootstrap.DataSecretName == nil {",
		New:  "if false {",
	}}},
	{name: "identity", want: []string{"BEH202 DevMachine"}, may: []string{"BEH204 DevMachine"}, edits: []rig.Edit{{
		File: machineBackend,
		Old:  "inMemoryMachine.Spec.ProviderID = calculateProviderID(inMemoryMachine)\n",
		New:  "inMemoryMachine.Spec.ProviderID = calculateProviderID(inMemoryMachine)\n\tif inMemoryMachine.Status.Initialization.Provisioned != nil {\n\t\tinMemoryMachine.Spec.ProviderID += \"-b\"\n\t}\n",
	}}},
	{name: "owner", want: []string{"BEH020 DevMachine"}, may: []string{"BEH206 DevMachine"}, edits: []rig.Edit{{
		File: machineController,
		Old:  "log.Info(\"Waiting for Machine Controller to set OwnerRef on DevMachine\")\n\t\treturn ctrl.Result{}, nil\n",
		New:  "log.Info(\"Not waiting\")\n\t\torphan := devMachine.DeepCopy()\n\t\tcontrollerutil.AddFinalizer(orphan, infrav1.MachineFinalizer)\n\t\torphan.Spec.ProviderID = \"in-memory://\" + orphan.Name\n\t\treturn ctrl.Result{}, r.Client.Patch(ctx, orphan, client.MergeFrom(devMachine))\n",
	}}},
	{name: "hidden", want: []string{"BEH005 DevMachine"}, edits: []rig.Edit{{
		File: machineController,
		Old:  "if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, devMachine); err != nil || isPaused || requeue {",
		New:  "_ = paused.EnsurePausedCondition\n\tif cluster.Spec.Paused != nil && *cluster.Spec.Paused {",
	}}},
	{name: "hang", want: []string{"BEH011 DevMachine"}, edits: []rig.Edit{{
		File: machineBackend,
		Old:  "controllerutil.RemoveFinalizer(inMemoryMachine, infrav1.MachineFinalizer)",
		New:  "controllerutil.RemoveFinalizer(inMemoryMachine, infrav1.MachineFinalizer+\"-b\")",
	}}},
	{name: "flip", want: []string{"BEH205 DevMachine"}, edits: []rig.Edit{{
		File: machineBackend,
		Old:  "inMemoryMachine.Status.Initialization.Provisioned = ptr.To(true)",
		New:  "inMemoryMachine.Status.Initialization.Provisioned = ptr.To(!conditions.IsTrue(inMemoryMachine, infrav1.DevMachineInMemoryNodeProvisionedCondition))",
	}}},
	{name: "endpoint", want: []string{"BEH102 DevCluster"}, edits: []rig.Edit{{
		File: clusterBackend,
		Old:  "if inMemoryCluster.Spec.ControlPlaneEndpoint.Host == \"\" {",
		New:  "if inMemoryCluster.Spec.ControlPlaneEndpoint.Host == \"never\" {",
	}}},
	{name: "wiped", step: "wipe", want: []string{"BEH001 DevCluster"}, edits: []rig.Edit{{
		File: clusterController,
		Old:  "if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, devCluster); err != nil || isPaused || requeue {",
		New:  "if _, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, devCluster); err != nil || requeue {",
	}}},
	{name: "managed", step: "managed", want: []string{"BEH108 DevCluster"}, edits: []rig.Edit{{
		File: clusterController,
		Old:  "if annotations.IsExternallyManaged(devCluster) {",
		New:  "if annotations.IsExternallyManaged(devCluster) && devCluster.Name == \"\" {",
	}}},
}

// ownPorts lets several providers run side by side.
func ownPorts(index int) rig.Edit {
	const call = "inmemoryserver.NewWorkloadClustersMux(inMemoryManager, podIP"
	first := 30000 + 1000*index
	return rig.Edit{File: "main.go", Old: call + ")", New: fmt.Sprintf("%s, inmemoryserver.CustomPorts{MinPort: %d, MaxPort: %d, DebugPort: %d})", call, first, first+999, 19001+index)}
}

// tooLong are the steps that the course for mutants leaves out, because they cannot show
// most of their mistakes.
var tooLong = []string{"scale", "annotate", "strip", "wipe", "managed", "claim", "restart"}

// course is the short one with the step that the mistake needs.
func (m *mutant) course() []string {
	var args []string
	for _, step := range tooLong {
		if step != m.step {
			args = append(args, "--skip", step)
		}
	}
	return args
}

// TestMutants lets changed infrastructure providers run side by side, each in a namespace
// of its own, and the unchanged one beside them. Each mistake must be found, and nothing
// else.
func TestMutants(t *testing.T) {
	long(t)
	r := shared(t)
	prepared := rig.PrepareMutants(t)
	// The unchanged provider keeps its hands off the other namespaces, and serves the
	// webhooks of all.
	given.NoError(t, r.Manage(t.Context(), "capd", r.Program("capd"), "--namespace=unchanged"))
	t.Cleanup(func() {
		if err := r.Manage(t.Context(), "capd", r.Program("capd")); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	t.Run("courses", func(t *testing.T) {
		for i, m := range append(mutants, mutant{name: "unchanged"}) {
			if i < len(mutants) {
				program := prepared.Build(t, m.name, append(m.edits, ownPorts(i)))
				given.NoError(t, r.Beside(t.Context(), m.name, program, i))
			}
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				template := clusterTemplate
				if m.instant {
					template = strings.ReplaceAll(template, "vm: {provisioning: {startupDuration: 3s}}", "vm: {provisioning: {startupDuration: 0s}}")
				}
				c := drive(t, r, m.name, template, m.course()...)
				c.expect(t, m.want, m.may...)
			})
		}
	})
}
