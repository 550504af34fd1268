package rules

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

var extensionAccountRules = []*lint.Rule{
	{
		ID: "RXS022", Name: "extension-account",
		Title:    "The pods of a runtime extension have an account of their own",
		Severity: lint.Warning, Proof: lint.Contract,
		Source: "Cluster API proposal 20220221-runtime-SDK, section Identity and access management",
		Why:    "The account default belongs to every pod of the namespace. Rights that it gets for the extension are rights of all of them, and nobody can tell their requests apart.",
		Fix:    "Add a ServiceAccount for the extension and name it in serviceAccountName.",
		Scope:  lint.ScopeRelease, Check: extensionAccount,
	},
}

func extensionAccount(p *lint.Pass) {
	if !isExtension(p) {
		return
	}
	for _, o := range p.Release.Installed().Objects {
		pod := podOf(o)
		if pod == nil {
			continue
		}
		switch n := serviceAccount(pod); {
		case n != nil && open(o, n):
		case n.Str() == "":
			p.On(o, pod, "the pods have no serviceAccountName, and run as the account %s", defaultAccount)
		case n.Text == defaultAccount:
			p.On(o, n, "the pods run as the account %s", defaultAccount)
		}
	}
}
