package repository

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// suiteRules judge the configuration of an e2e suite, which is not a release: lint
// applies them where such a configuration is the TARGET.
var suiteRules = suites()

func suites() *lint.Family {
	const create = "cluster-api test/framework/clusterctl/"
	f := &lint.Family{Prefix: "SUITE", Title: "Configurations of e2e suites"}
	for _, r := range []lint.Rule{
		{
			ID: "SUITE001", Name: "suite-refused", Severity: lint.Error, Source: create + "e2e_config.go, LoadE2EConfig; repository.go, CreateRepository",
			Title:   "The e2e framework must accept the configuration",
			Why:     "The suite ends before its first test. The framework reports only the first fault, without its line.",
			Fix:     "Correct the value, or run what creates the file first.",
			Example: "sourcePath names a file that neither exists nor is built from a folder next to it",
		},
		{
			ID: "SUITE002", Name: "suite-replacement-idle", Severity: lint.Warning, Source: create + "repository.go, CreateRepository",
			Title:   "Each replacement should match something in the components",
			Why:     "The framework silently ignores a replacement that matches nothing, so the pod runs with the old image or the old flags.",
			Fix:     "Correct the regular expression, or delete the replacement.",
			Example: "old is --metrics-addr=127.0.0.1:8080, a flag that the components no longer have",
		},
		{
			ID: "SUITE003", Name: "suite-version-repeated", Severity: lint.Warning, Source: create + "repository.go, CreateRepository",
			Title:   "A version should be declared once",
			Why:     "Both are written to one folder: the components of the last one win, and the files of both get mixed.",
			Fix:     "Delete one of them, or give it another version.",
			Example: "v1.10.3 is declared once by URL and once by kustomize",
		},
		{
			ID: "SUITE004", Name: "suite-key-ignored", Severity: lint.Warning, Source: create + "e2e_config.go, LoadE2EConfig",
			Title:   "The configuration should have only keys that the framework reads",
			Why:     "The framework silently ignores an unknown key, and the first of two equal keys.",
			Fix:     "Correct the key, or delete it.",
			Example: "replacement is written instead of replacements",
		},
		{
			ID: "SUITE005", Name: "suite-variable-unset", Severity: lint.Warning, Source: "envsubst, which goes over the configuration before the framework",
			Title:   "The environment should have the variables of the configuration",
			Why:     "envsubst replaces an unset variable with nothing, which leaves a wrong image or path.",
			Fix:     "Set the variable, or give it a default.",
			Example: "name: ${MANAGER_IMAGE}, and MANAGER_IMAGE is not set",
		},
		{
			ID: "SUITE006", Name: "suite-variable-missing", Severity: lint.Warning, Source: "clusterctl client/yamlprocessor, SimpleProcessor.Process",
			Title:   "The configuration or the environment should set each required variable of a file",
			Why:     "clusterctl refuses to generate the cluster, minutes after the suite has started, unless the test sets the variable itself.",
			Fix:     "Add the variable to variables, or set it in the environment.",
			Example: "cluster-template.yaml uses ${FOO_REGION}, and variables has no FOO_REGION",
		},
		{
			ID: "SUITE007", Name: "suite-contract-differs", Severity: lint.Warning, Source: create + "e2e_config.go, GetProviderLatestVersionsByContract",
			Title:   "The contract of a version should match its metadata.yaml and its CRDs",
			Why:     "Upgrade tests choose versions by this contract, clusterctl by the one in metadata.yaml, and Cluster API by the labels of CRDs.",
			Fix:     "Write the contract of the release series.",
			Example: "contract is v1beta1, and metadata.yaml has v1beta2 for the series",
		},
		{
			ID: "SUITE008", Name: "suite-image-unused", Severity: lint.Warning, Source: create + "e2e_config.go, ContainerImage",
			Title:   "An image to load should be one that the components use",
			Why:     "Loading the image has no effect, and the pods pull the other one, which often does not exist.",
			Fix:     "Write the image as it is in the components, or correct the replacement that sets it.",
			Example: "images has controller:e2e, and the Deployment uses controller:dev",
		},
		{
			ID: "SUITE009", Name: "suite-flavor-missing", Severity: lint.Warning, Source: "clusterctl client/repository/template_client.go, templateClient.Get",
			Title:   "A flavor named in variables should have a template",
			Why:     "clusterctl refuses to generate the cluster, because the repository has no template of this flavor.",
			Fix:     "Add cluster-template-FLAVOR.yaml to the files, or correct the value.",
			Example: "UPGRADE_FLAVOR is kcp-scale, and no file is named cluster-template-kcp-scale.yaml",
		},
	} {
		r.Since, r.Proof, r.Command = "v0.1.0", lint.Practice, "lint CONFIG"
		f.Add(r)
	}
	return f
}
