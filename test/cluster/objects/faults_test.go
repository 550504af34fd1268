package objects

// objectFault breaks one demand of the API server; one that is good only looks as if it
// did. Make changes an object, and is false for one without the place.
type objectFault struct {
	name, kind string
	good       bool
	make       func(m object) bool
}

// objectFaults are those that no row of testdata can tell.
var objectFaults = []objectFault{
	{"rule without verbs", "ClusterRole", false, inEntry("rules", func(r object) bool { delete(r, "verbs"); return true })},
	{"rule without groups", "ClusterRole", false, inEntry("rules", func(r object) bool { delete(r, "apiGroups"); return r["nonResourceURLs"] == nil })},
	{"rule without resources", "Role", false, inEntry("rules", func(r object) bool { delete(r, "resources"); return true })},
	{"rule with both", "ClusterRole", false, inEntry("rules", func(r object) bool { r["nonResourceURLs"] = []any{"/metrics"}; return true })},
	{"rule for URLs", "ClusterRole", true, func(m object) bool {
		m["rules"] = []any{object{"nonResourceURLs": []any{"/metrics"}, "verbs": []any{"get"}}}
		return true
	}},
	{"role for URLs", "Role", false, func(m object) bool {
		m["rules"] = []any{object{"nonResourceURLs": []any{"/metrics"}, "verbs": []any{"get"}}}
		return true
	}},
	{"aggregation of nothing", "ClusterRole", false, set(object{}, "aggregationRule")},
	{"aggregation", "ClusterRole", true, set(object{"clusterRoleSelectors": []any{object{"matchLabels": object{"a": "true"}}}}, "aggregationRule")},
	{"binding to nothing", "RoleBinding", false, set("", "roleRef", "name")},
	{"binding to another kind", "ClusterRoleBinding", false, set("Role", "roleRef", "kind")},
	{"binding to a ClusterRole", "RoleBinding", true, set("ClusterRole", "roleRef", "kind")},
	{"subject of another kind", "RoleBinding", false, inEntry("subjects", func(s object) bool { s["kind"] = "Account"; return true })},
	{"subject with a group", "RoleBinding", false, inEntry("subjects", func(s object) bool { s["apiGroup"] = "rbac.authorization.k8s.io"; return s["kind"] == "ServiceAccount" })},

	{"mount of no volume", "Deployment", false, inContainer(func(c object) bool {
		c["volumeMounts"] = []any{object{"name": "nowhere", "mountPath": "/x"}}
		return true
	})},
	{"mounts of one path", "Deployment", false, inPod(func(pod, c object) bool {
		pod["volumes"] = []any{object{"name": "a"}, object{"name": "b", "emptyDir": object{}}}
		c["volumeMounts"] = []any{object{"name": "a", "mountPath": "/x"}, object{"name": "b", "mountPath": "/x"}}
		return true
	})},
	{"two mounts of one volume", "Deployment", true, inPod(func(pod, c object) bool {
		delete(pod, "initContainers")
		pod["containers"] = []any{c}
		pod["volumes"] = []any{object{"name": "a"}}
		c["volumeMounts"] = []any{object{"name": "a", "mountPath": "/x"}, object{"name": "a", "mountPath": "/y", "subPath": "b/c"}}
		return true
	})},
	{"volume with two sources", "Deployment", false, inPod(func(pod, c object) bool {
		pod["volumes"] = []any{object{"name": "a", "emptyDir": object{}, "secret": object{"secretName": "a"}}}
		return true
	})},
	{"env without a name", "Deployment", false, env(object{"value": "a"})},
	{"env with a bad name", "Deployment", false, env(object{"name": "A=B", "value": "a"})},
	{"env with an odd name", "Deployment", true, env(object{"name": "1 a", "value": "a"})},
	{"env with both", "Deployment", false, env(object{"name": "A", "value": "a", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}})},
	{"env with an empty value and a source", "Deployment", true, env(object{"name": "A", "value": "", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}})},
	{"env from nothing", "Deployment", false, env(object{"name": "A", "valueFrom": object{}})},
	{"env from two", "Deployment", false, env(object{"name": "A", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}, "secretKeyRef": object{"name": "a", "key": "b"}}})},
	{"env from no key", "Deployment", false, env(object{"name": "A", "valueFrom": object{"secretKeyRef": object{"name": "a"}}})},
	{"env from an unknown field", "Deployment", false, env(object{"name": "A", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.generation"}}})},
	{"env from a label", "Deployment", true, env(object{"name": "A", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.labels['a/b']"}}})},
	{"requests above limits", "Deployment", false, resources(object{"requests": object{"cpu": "2"}, "limits": object{"cpu": "1500m"}})},
	{"requests at limits", "Deployment", true, resources(object{"requests": object{"memory": "1Gi"}, "limits": object{"memory": "1024Mi"}})},
	{"negative request", "Deployment", false, resources(object{"requests": object{"memory": "-1"}})},
	{"unknown resource", "Deployment", false, resources(object{"requests": object{"mem": "1"}})},
	{"extended resource without a limit", "Deployment", false, resources(object{"requests": object{"example.com/gpu": "1"}})},
	{"extended resource", "Deployment", true, resources(object{"requests": object{"example.com/gpu": "1"}, "limits": object{"example.com/gpu": "1"}})},
	{"two containers of a name", "Deployment", false, inPod(func(pod, c object) bool {
		pod["containers"] = append(pod["containers"].([]any), clone(c))
		return true
	})},
	{"probe of nothing", "Deployment", false, inContainer(func(c object) bool { c["livenessProbe"] = object{"periodSeconds": 5}; return true })},
	{"probe of two", "Deployment", false, inContainer(func(c object) bool {
		c["livenessProbe"] = object{"exec": object{"command": []any{"a"}}, "tcpSocket": object{"port": 1}}
		return true
	})},
	{"liveness that needs two", "Deployment", false, inContainer(func(c object) bool {
		c["livenessProbe"] = object{"tcpSocket": object{"port": 1}, "successThreshold": 2}
		return true
	})},
	{"readiness that needs two", "Deployment", true, inContainer(func(c object) bool {
		c["readinessProbe"] = object{"tcpSocket": object{"port": "a"}, "successThreshold": 2}
		return true
	})},
	{"probe at a bad port", "Deployment", false, inContainer(func(c object) bool {
		c["readinessProbe"] = object{"httpGet": object{"port": "a_b"}}
		return true
	})},
	{"port names twice", "Deployment", false, inContainer(func(c object) bool {
		c["ports"] = []any{object{"name": "a", "containerPort": 1}, object{"name": "a", "containerPort": 2}}
		return true
	})},
	{"privileged without escalation", "Deployment", false, inContainer(func(c object) bool {
		c["securityContext"] = object{"privileged": true, "allowPrivilegeEscalation": false}
		return true
	})},
	{"restart policy", "Deployment", false, inPod(func(pod, c object) bool { pod["restartPolicy"] = "Never"; return true })},
	{"toleration without a key", "Deployment", false, inPod(func(pod, c object) bool { pod["tolerations"] = []any{object{"effect": "NoSchedule"}}; return true })},
	{"toleration of everything", "Deployment", true, inPod(func(pod, c object) bool { pod["tolerations"] = []any{object{"operator": "Exists"}}; return true })},
	{"recreate with a rolling update", "Deployment", false, set(object{"type": "Recreate", "rollingUpdate": object{"maxSurge": 1}}, "spec", "strategy")},
	{"rolling update of nothing", "Deployment", false, set(object{"rollingUpdate": object{"maxSurge": 0, "maxUnavailable": "0%"}}, "spec", "strategy")},
	{"negative replicas", "Deployment", false, set(-1, "spec", "replicas")},
	{"deadline before ready", "Deployment", false, set(600, "spec", "minReadySeconds")},

	{"unnamed second port", "Service", false, set([]any{object{"name": "a", "port": 1}, object{"port": 2}}, "spec", "ports")},
	{"named ports", "Service", true, set([]any{object{"name": "a", "port": 1}, object{"name": "b", "port": 2, "targetPort": "x"}}, "spec", "ports")},
	{"one protocol and port", "Service", false, set([]any{object{"name": "a", "port": 1}, object{"name": "b", "port": 1, "protocol": "TCP"}}, "spec", "ports")},
	{"one port of two protocols", "Service", true, set([]any{object{"name": "a", "port": 1}, object{"name": "b", "port": 1, "protocol": "UDP"}}, "spec", "ports")},
	{"one name of ports", "Service", false, set([]any{object{"name": "a", "port": 1}, object{"name": "a", "port": 2}}, "spec", "ports")},
	{"no ports", "Service", false, func(m object) bool {
		delete(m["spec"].(object), "ports")
		return m["spec"].(object)["clusterIP"] != "None"
	}},
	{"port name", "Service", false, set([]any{object{"name": "A_b", "port": 1}}, "spec", "ports")},
	{"target port", "Service", false, set([]any{object{"port": 1, "targetPort": 70000}}, "spec", "ports")},
	{"selector of a Service", "Service", false, set(object{"a": "b c"}, "spec", "selector")},

	{"no operations", "Configuration", false, inRule(func(r object) bool { r["operations"] = []any{}; return true })},
	{"unknown operation", "Configuration", false, inRule(func(r object) bool { r["operations"] = []any{"PATCH"}; return true })},
	{"star and operation", "Configuration", false, inRule(func(r object) bool { r["operations"] = []any{"*", "CREATE"}; return true })},
	{"star", "Configuration", true, inRule(func(r object) bool {
		r["operations"], r["apiGroups"], r["apiVersions"], r["resources"] = []any{"*"}, []any{"*"}, []any{"*"}, []any{"*/*"}
		return true
	})},
	{"no versions", "Configuration", false, inRule(func(r object) bool { delete(r, "apiVersions"); return true })},
	{"resources twice", "Configuration", false, inRule(func(r object) bool { r["resources"] = []any{"foos/*", "foos/status"}; return true })},
	{"resource with its parts", "Configuration", true, inRule(func(r object) bool { r["resources"] = []any{"foos", "foos/status"}; return true })},
	{"scope of a rule", "Configuration", false, inRule(func(r object) bool { r["scope"] = "Namespace"; return true })},
	{"selector operator", "Configuration", false, inWebhook(object{"matchExpressions": []any{object{"key": "a", "operator": "Equals", "values": []any{"b"}}}}, "namespaceSelector")},
	{"selector without values", "Configuration", false, inWebhook(object{"matchExpressions": []any{object{"key": "a", "operator": "In"}}}, "objectSelector")},
	{"selector with values", "Configuration", true, inWebhook(object{"matchExpressions": []any{object{"key": "a", "operator": "In", "values": []any{"b"}}}}, "objectSelector")},
	{"condition without a name", "Configuration", false, inWebhook([]any{object{"expression": "true"}}, "matchConditions")},
	{"condition that does not compile", "Configuration", false, inWebhook([]any{object{"name": "a", "expression": "request.verb == 'x'"}}, "matchConditions")},
	{"condition of a text", "Configuration", false, inWebhook([]any{object{"name": "a", "expression": "request.name"}}, "matchConditions")},
	{"condition of an unknown type", "Configuration", false, inWebhook([]any{object{"name": "a", "expression": "object.spec.on"}}, "matchConditions")},
	{"conditions of a name", "Configuration", false, inWebhook([]any{object{"name": "a", "expression": "true"}, object{"name": "a", "expression": "true"}}, "matchConditions")},
	{"conditions", "Configuration", true, inWebhook([]any{
		object{"name": "a", "expression": "!request.userInfo.groups.exists(g, g == 'system:nodes') && request.resource.group != 'x'"},
		object{"name": "b", "expression": "has(object.spec) && object.metadata.name.startsWith('a') || request.dryRun"},
		object{"name": "c", "expression": "authorizer.group('').resource('pods').check('get').allowed()"},
	}, "matchConditions")},
	{"policy", "Configuration", false, inWebhook("Warn", "failurePolicy")},
	{"match policy", "Configuration", false, inWebhook("exact", "matchPolicy")},
	{"reinvocation", "MutatingWebhookConfiguration", false, inWebhook("Always", "reinvocationPolicy")},
	{"reinvocation if needed", "MutatingWebhookConfiguration", true, inWebhook("IfNeeded", "reinvocationPolicy")},
	{"path", "Configuration", false, inWebhook(object{"service": object{"name": "a", "namespace": "b", "path": "x"}}, "clientConfig")},
	{"path with an empty part", "Configuration", false, inWebhook(object{"service": object{"name": "a", "namespace": "b", "path": "/x//y"}}, "clientConfig")},
	{"port of a webhook", "Configuration", false, inWebhook(object{"service": object{"name": "a", "namespace": "b", "port": 70000}}, "clientConfig")},
	{"url with http", "Configuration", false, inWebhook(object{"url": "http://x.io"}, "clientConfig")},
	{"url with a query", "Configuration", false, inWebhook(object{"url": "https://x.io?a=b"}, "clientConfig")},
	{"url", "Configuration", true, inWebhook(object{"url": "https://x.io/a"}, "clientConfig")},

	{"budget with both", "PodDisruptionBudget", false, func(m object) bool {
		m["spec"] = object{"minAvailable": 1, "maxUnavailable": 1}
		return true
	}},
	{"budget of a part", "PodDisruptionBudget", true, set(object{"maxUnavailable": "100%"}, "spec")},
	{"policy of a bad type", "NetworkPolicy", false, set([]any{"ingress"}, "spec", "policyTypes")},
	{"policy of a long prefix", "NetworkPolicy", false, set([]any{object{"from": []any{object{"ipBlock": object{"cidr": "10.0.0.0/33"}}}}}, "spec", "ingress")},
	{"policy with an exception outside", "NetworkPolicy", false, set([]any{object{"from": []any{object{"ipBlock": object{"cidr": "10.0.0.0/8", "except": []any{"11.0.0.0/16"}}}}}}, "spec", "ingress")},
	{"policy for all", "NetworkPolicy", true, set(object{"podSelector": object{}, "ingress": []any{object{}}}, "spec")},
	{"priority of the system", "PriorityClass", false, set("system-a", "metadata", "name")},
	{"priority that is too high", "PriorityClass", false, set(1_000_000_001, "value")},
	{"part of a pod", "ResourceQuota", false, set(object{"pods": "1.5"}, "spec", "hard")},
	{"quota of an unknown resource", "ResourceQuota", false, set(object{"pod": "1"}, "spec", "hard")},
	{"quota of CPU", "ResourceQuota", true, set(object{"cpu": "1.5", "requests.example.com/gpu": "1"}, "spec", "hard")},
	{"limits that descend", "LimitRange", false, set([]any{object{"type": "Container", "min": object{"cpu": "2"}, "max": object{"cpu": "1"}}}, "spec", "limits")},
	{"claim without a size", "PersistentVolumeClaim", false, set(object{}, "spec", "resources")},
	{"class without a provisioner", "StorageClass", false, set("", "provisioner")},
	{"scaling down to more", "HorizontalPodAutoscaler", false, set(5, "spec", "minReplicas")},
	{"backend without a port", "Ingress", false, set(object{"service": object{"name": "a"}}, "spec", "defaultBackend")},
	{"key with a blank", "ConfigMap", false, set(object{"a b": "c"}, "data")},
	{"type without its key", "Secret", false, set("kubernetes.io/ssh-auth", "type")},
	{"schedule of the 61st minute", "CronJob", false, set("61 * * * *", "spec", "schedule")},
	{"schedule of six fields", "CronJob", false, set("0 0 * * * *", "spec", "schedule")},
	{"schedule with a zone", "CronJob", false, set("TZ=UTC 0 0 * * *", "spec", "schedule")},
	{"schedule by name", "CronJob", true, set("@daily", "spec", "schedule")},
	{"schedule of a duration", "CronJob", true, set("@every 1h30m", "spec", "schedule")},
	{"schedule of lists", "CronJob", true, set("1,2-8/3,*/7 ? 10/2 FEB Sun", "spec", "schedule")},
	{"expression that does not parse", "ValidatingAdmissionPolicy", false, set([]any{object{"expression": "object.metadata.name ==="}}, "spec", "validations")},
	{"expression that gives a string", "ValidatingAdmissionPolicy", false, set([]any{object{"expression": "object.metadata.name + 'a'"}}, "spec", "validations")},
	{"expression with a variable", "ValidatingAdmissionPolicy", true, set([]any{object{"expression": "variables.ok"}}, "spec", "validations")},
	{"binding that does nothing", "ValidatingAdmissionPolicyBinding", false, set([]any{}, "spec", "validationActions")},
}

// set puts a value at a path.
func set(value any, path ...string) func(object) bool {
	return func(m object) bool {
		for _, name := range path[:len(path)-1] {
			m, _ = m[name].(object)
		}
		if m == nil {
			return false
		}
		m[path[len(path)-1]] = value
		return true
	}
}

// inEntry changes the first entry of a list.
func inEntry(list string, change func(object) bool) func(object) bool {
	return func(m object) bool {
		entries, _ := m[list].([]any)
		if len(entries) == 0 {
			return false
		}
		return change(entries[0].(object))
	}
}

func inWebhook(value any, field string) func(object) bool {
	return inEntry("webhooks", func(w object) bool { w[field] = value; return true })
}

func inRule(change func(object) bool) func(object) bool {
	return inEntry("webhooks", func(w object) bool { return inEntry("rules", change)(w) })
}

func inPod(change func(pod, container object) bool) func(object) bool {
	return func(m object) bool {
		pod := m["spec"].(object)["template"].(object)["spec"].(object)
		return change(pod, pod["containers"].([]any)[0].(object))
	}
}

func inContainer(change func(object) bool) func(object) bool {
	return inPod(func(_, c object) bool { return change(c) })
}

func env(entry object) func(object) bool {
	return inContainer(func(c object) bool { c["env"] = []any{clone(entry)}; return true })
}

func resources(r object) func(object) bool {
	return inContainer(func(c object) bool { c["resources"] = r; return true })
}
