package examples

// Verdict says how clusterctl or the API server shows that a rule is right.
type Verdict string

// The verdicts. A refusal is an error of the command in the bad repository only,
// whose message matches the pattern; damage is output that matches it there and
// not in the good repository.
const (
	// ProviderRefuses and ProviderDamage use `generate provider` with the version
	// that the first expected finding is in.
	ProviderRefuses Verdict = "provider-refuses"
	ProviderDamage  Verdict = "provider-damage"
	// TargetDamage uses `generate provider` with another target namespace.
	TargetDamage Verdict = "target-damage"
	// RawRefuses uses `generate provider --raw`, which leaves variables alone.
	RawRefuses Verdict = "raw-refuses"
	// TemplateRefuses and TemplateDamage use `generate cluster`, and ListDamage
	// that with --list-variables.
	TemplateRefuses Verdict = "template-refuses"
	TemplateDamage  Verdict = "template-damage"
	ListDamage      Verdict = "list-damage"
	// LatestRefuses and LatestDamage use `generate provider` with a URL that says
	// latest.
	LatestRefuses Verdict = "latest-refuses"
	LatestDamage  Verdict = "latest-damage"
	// ConfigRefuses uses the clusterctl.yaml of the repository.
	ConfigRefuses Verdict = "config-refuses"
	// InitRefuses and UpgradeRefuses need a management cluster: `init`, and
	// `upgrade plan`.
	InitRefuses    Verdict = "init-refuses"
	UpgradeRefuses Verdict = "upgrade-refuses"
	// APIServerRefuses sends the objects of `generate provider` to a real API
	// server, and APIServerTemplateRefuses those of `generate cluster`, as
	// clusterctl and kubectl do: one of them is refused.
	APIServerRefuses         Verdict = "apiserver-refuses"
	APIServerTemplateRefuses Verdict = "apiserver-template-refuses"
	// MoveLeaves and MoveRefuses use `move` with the objects of the release's
	// template and components in a management cluster that is made up, with the
	// owners that controllers set. The output says of each object whether it moves.
	MoveLeaves  Verdict = "move-leaves"
	MoveRefuses Verdict = "move-refuses"
	// AdmissionRefuses creates the objects as an API server does that has the
	// definitions of Cluster API and its webhooks: one of them is refused.
	AdmissionRefuses Verdict = "admission-refuses"
	// GenerationRefuses lets Cluster API compute the patches of the class for a
	// Cluster that sets what the class requires: its generator fails, or the API
	// server refuses a result.
	GenerationRefuses Verdict = "generation-refuses"
	// Unproved says that no command on a folder can show it; the pattern is the
	// reason.
	Unproved Verdict = "none"
)

// oracle is a verdict of clusterctl or the API server.
type oracle struct {
	Verdict Verdict
	Pattern string
}
