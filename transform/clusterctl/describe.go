package clusterctl

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Describe returns what `clusterctl generate provider --describe` prints, for
// components rendered raw. URL is that of the provider in clusterctl.yaml
// (clusterctl: cmd/util.go, printComponentsAsText).
func (c *Components) Describe(url string) string {
	dir, file := path.Split(url)
	base, _ := path.Split(strings.TrimSuffix(dir, "/"))
	var b strings.Builder
	for _, line := range [][2]string{
		{"Name:", c.Provider.Name},
		{"Type:", string(c.Provider.Type)},
		{"URL:", base},
		{"Version:", c.Version},
		{"File:", file},
		{"TargetNamespace:", c.TargetNamespace},
	} {
		fmt.Fprintf(&b, "%-20s%s\n", line[0], line[1])
	}
	if len(c.Variables) > 0 {
		b.WriteString("Variables:\n")
		for _, v := range c.Variables {
			fmt.Fprintf(&b, "  - %s\n", v.Name)
		}
	}
	if len(c.Images) > 0 {
		b.WriteString("Images:\n")
		for _, image := range c.Images {
			fmt.Fprintf(&b, "  - %s\n", image)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// ListVariables returns what `clusterctl generate cluster --list-variables`
// prints for a template of this input. Env is the environment alone, without
// clusterctl.yaml: it decides what is shown for the variables that clusterctl
// sets itself (clusterctl: cmd/util.go, printVariablesOutput).
func (in *ClusterInput) ListVariables(t *Template, env func(name string) (string, bool)) string {
	var required, optional []string
	for _, v := range t.Variables {
		value, ok := in.known(v.Name, env)
		if !ok {
			if v.Default == nil {
				required = append(required, v.Name)
				continue
			}
			value = *v.Default
			if !strings.HasPrefix(value, `"`) {
				value = strconv.Quote(value)
			}
		}
		optional = append(optional, fmt.Sprintf("  - %s\t(defaults to %s)\n", v.Name, value))
	}
	var b strings.Builder
	if len(required) > 0 {
		b.WriteString("Required Variables:\n")
		for _, name := range required {
			fmt.Fprintf(&b, "  - %s\n", name)
		}
	}
	if len(optional) > 0 {
		b.WriteString("\nOptional Variables:\n")
		w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', tabwriter.FilterHTML)
		for _, line := range optional {
			fmt.Fprint(w, line)
		}
		w.Flush()
	}
	b.WriteByte('\n')
	return b.String()
}

// known returns what clusterctl shows for a variable that it sets itself.
func (in *ClusterInput) known(name string, env func(string) (string, bool)) (string, bool) {
	count := func(option *int64, otherwise string) (string, bool) {
		if option != nil {
			return strconv.FormatInt(*option, 10), true
		}
		if v, ok := env(name); ok {
			return v, true
		}
		return otherwise, true
	}
	switch name {
	case "CLUSTER_NAME":
		return in.Name, true
	case "NAMESPACE":
		return in.Namespace, true
	case "CONTROL_PLANE_MACHINE_COUNT":
		return count(in.ControlPlaneMachineCount, "1")
	case "WORKER_MACHINE_COUNT":
		return count(in.WorkerMachineCount, "0")
	case "KUBERNETES_VERSION":
		if in.KubernetesVersion != "" {
			return in.KubernetesVersion, true
		}
		return env(name)
	}
	return "", false
}
