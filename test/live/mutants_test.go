package live

import (
	"fmt"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/live/rig"
)

const (
	machineController = "internal/controllers/devmachine_controller.go"
	machineBackend    = "internal/controllers/backends/inmemory/inmemorymachine_backend.go"
)

// mutant is the real infrastructure provider with a mistake.
type mutant struct {
	name  string
	edits []rig.Edit
	// want is what must be found, and may what the mistake may lead to as well.
	want, may []string
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
	{name: "early", want: []string{"BEH207 DevMachine"}, may: []string{"BEH206 DevMachine"}, edits: []rig.Edit{{
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
}

// ownPorts lets several providers run side by side.
func ownPorts(index int) rig.Edit {
	const call = "inmemoryserver.NewWorkloadClustersMux(inMemoryManager, podIP"
	first := 30000 + 1000*index
	return rig.Edit{File: "main.go", Old: call + ")", New: fmt.Sprintf("%s, inmemoryserver.CustomPorts{MinPort: %d, MaxPort: %d, DebugPort: %d})", call, first, first+999, 19001+index)}
}

// short is the course for mutants: without the steps that cannot show their mistakes.
var short = []string{"--skip", "scale", "--skip", "annotate", "--skip", "strip", "--skip", "wipe", "--skip", "managed", "--skip", "claim", "--skip", "restart"}

// TestMutants lets changed infrastructure providers run side by side, each in a namespace
// of its own, and the unchanged one beside them. Each mistake must be found, and nothing
// else.
func TestMutants(t *testing.T) {
	r := shared(t)
	prepared, err := rig.PrepareMutants(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The unchanged provider keeps its hands off the other namespaces, and serves the
	// webhooks of all.
	if err := r.Manage(t.Context(), "capd", r.Program("capd"), "--namespace=unchanged"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Manage(t.Context(), "capd", r.Program("capd")); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	t.Run("courses", func(t *testing.T) {
		for i, m := range append(mutants, mutant{name: "unchanged"}) {
			if i < len(mutants) {
				program, err := prepared.Build(t.Context(), m.name, append(m.edits, ownPorts(i)))
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Beside(t.Context(), m.name, program, i); err != nil {
					t.Fatal(err)
				}
			}
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				c := drive(t, r, m.name, clusterTemplate, slices.Clone(short)...)
				c.expect(t, m.want, m.may...)
			})
		}
	})
}
