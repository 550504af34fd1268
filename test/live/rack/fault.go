package rack

// FaultAnnotation names on a RackMachinePool what its controller does wrong.
const FaultAnnotation = "rack.example.com/fault"

// Fault is something that a provider may do wrong.
type Fault string

// The faults.
const (
	Honest         Fault = ""
	Unreported     Fault = "unreported"      // never reports that it is provisioned
	OnlyInit       Fault = "only-init"       // reports only status.initialization.provisioned
	Forgetful      Fault = "forgetful"       // takes back that it is provisioned
	Twice          Fault = "twice"           // lists an ID twice
	Short          Fault = "short"           // lists one ID too few
	Stuck          Fault = "stuck"           // does not follow scaling
	Returning      Fault = "returning"       // lists an ID again that had left
	OtherKind      Fault = "other-kind"      // changes the kind of its machines
	Unseen         Fault = "unseen"          // has instances without a RackMachine
	Unlabelled     Fault = "unlabelled"      // creates RackMachines without the label of the pool
	Keeping        Fault = "keeping"         // lets Machines go without their instance
	Direct         Fault = "direct"          // scales down without deleting the Machine
	OtherInstances Fault = "other-instances" // status.instances differs from the list
	GoingFirst     Fault = "going-first"     // goes before its machines
	Unshown        Fault = "unshown"         // has no condition Paused
	Deaf           Fault = "deaf"            // does not show a pause
	Busy           Fault = "busy"            // works during a pause
)
