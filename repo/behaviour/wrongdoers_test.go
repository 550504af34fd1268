package behaviour

import (
	"fmt"
	"strings"
	"time"
)

const (
	longer = 15 * time.Minute
	minute = 65 * time.Second
)

// after, before and instead do something at a step of a life.
func after(step string, do ...func(*life)) func(*life) {
	return func(l *life) { l.after(step, all(do)) }
}

func before(step string, do ...func(*life)) func(*life) {
	return func(l *life) { l.before(step, all(do)) }
}

func instead(step string, do ...func(*life)) func(*life) {
	return func(l *life) { l.instead(step, all(do)) }
}

func all(do []func(*life)) func(*life) {
	return func(l *life) {
		for _, one := range do {
			one(l)
		}
	}
}

func sets(writer, kind, name string, pairs ...any) func(*life) {
	return func(l *life) { l.put(writer, kind, name, pairs...) }
}

func status(kind, name string, pairs ...any) func(*life) {
	return func(l *life) { l.status(kind, name, pairs...) }
}

func gone(kind, name string) func(*life)     { return func(l *life) { l.gone(kind, name) } }
func deleting(kind, name string) func(*life) { return func(l *life) { l.deleting(kind, name) } }
func wait(d time.Duration) func(*life)       { return func(l *life) { l.wait(d) } }
func deleteMachine(name string) func(*life)  { return func(l *life) { l.deleteMachine(name) } }

// plane2 is a second Machine of the control plane for a minute, with a field of its own.
func plane2(path string, value any) func(*life) {
	return after("work",
		func(l *life) { l.makeMachine("m2", true) },
		sets(provider, "Machine", "m2", path, value),
		wait(minute),
		deleteMachine("m2"))
}

// wrong has for each check what a wrong-doer does differently; words after its ID tell
// several apart.
var wrong = map[string]func(*life){
	"BEH001": after("paused", status("AcmeMachine", "w1", "status.addresses", []any{m{"type": "InternalIP", "address": "10.0.1.9"}})),
	"BEH001 a Machine": func(l *life) {
		l.after("paused", func(l *life) {
			l.put(provider, "Machine", "m2", "metadata.labels", m{"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane": ""},
				"metadata.ownerReferences", []any{l.ownerRef("AcmeControlPlane", "c", true)})
			l.gone("Machine", "m2")
		})
	},
	"BEH001 a claim": func(l *life) {
		l.after("paused", func(l *life) {
			l.makeClaim("k2", "w1")
			l.gone("IPAddressClaim", "k2")
		})
	},
	"BEH001 an annotation": after("paused", sets(provider, "AcmeMachine", "w1", "metadata.annotations|acme.io/step", "2")),
	"BEH001 a Secret":      after("paused", sets(provider, "Secret", "w1", "data.value", 7)),
	"BEH002": after("work",
		sets(user, "AcmeMachine", "w1", "metadata.annotations|cluster.x-k8s.io/paused", ""),
		status("AcmeMachine", "w1", "status.conditions", conditions(true, true)),
		wait(minute),
		status("AcmeMachine", "w1", "status.addresses", []any{m{"type": "InternalIP", "address": "10.0.1.9"}}),
		sets(user, "AcmeMachine", "w1", "metadata.annotations", nil),
		status("AcmeMachine", "w1", "status.conditions", conditions(true, false))),
	"BEH002 a Secret": after("work",
		sets(user, "AcmeConfig", "w1", "metadata.annotations|cluster.x-k8s.io/paused", ""),
		status("AcmeConfig", "w1", "status.conditions", conditions(true, true)),
		wait(minute),
		sets(provider, "Secret", "w1", "data.value", 7),
		sets(user, "AcmeConfig", "w1", "metadata.annotations", nil),
		status("AcmeConfig", "w1", "status.conditions", conditions(true, false))),
	"BEH003": func(l *life) { l.instead("pause", func(l *life) { l.pause(true, "AcmeMachine/w1") }) },
	"BEH004": func(l *life) { l.instead("resume", func(l *life) { l.pause(false, "AcmeMachine/w1") }) },
	"BEH005": func(l *life) {
		l.instead("start w1", func(l *life) {
			l.put(provider, "AcmeGadgetMachine", "x", "metadata.finalizers", []any{"a.acme.io"}, "metadata.labels|cluster.x-k8s.io/cluster-name", "c",
				"metadata.ownerReferences", []any{l.ownerRef("Machine", "w1", false)})
			l.status("AcmeGadgetMachine", "x", "status.conditions", conditions(false, false)[:1])
			l.start("w1")
		})
		l.after("delete w1", func(l *life) { l.gone("AcmeGadgetMachine", "x") })
	},
	"BEH005 lost": after("work", status("AcmeMachine", "w1", "status.conditions", conditions(true, false)[:1])),
	"BEH006": func(l *life) {
		l.after("paused", func(l *life) { l.put(user, "AcmeControlPlane", "c", "spec.extra", "x") })
		l.before("delete claim", func(l *life) { l.status("AcmeControlPlane", "c", "status.observedGeneration", 2) })
		l.after("resumed", func(l *life) { l.status("AcmeControlPlane", "c", "status.observedGeneration", 2) })
		l.instead("resumed", func(l *life) { l.wait(50 * time.Second) })
	},
	"BEH007": func(l *life) {
		l.after("paused", func(l *life) { l.deleteMachine("w1") })
		l.skip("claim", "claim finalizer", "address", "claim answered", "delete claim", "delete w1")
	},
	"BEH008": instead("start w1", status("AcmeMachine", "w1", "status.conditions", conditions(false, false), "status.observedGeneration", 1)),
	"BEH009": after("work", sets(provider, "AcmeMachine", "w1", "metadata.finalizers", nil)),
	"BEH009 of another": func(l *life) { // it was there before the provider came
		l.before("machine w1", sets(core, "AcmeMachine", "w1", "spec.size", "big", "metadata.finalizers", []any{"audit.example.com/seen"}))
		l.before("start w1", sets(provider, "AcmeMachine", "w1", "metadata.finalizers", []any{"audit.example.com/seen", "acmemachine.acme.io"}))
	},
	"BEH009 comes back": after("work",
		sets(provider, "AcmeMachine", "w1", "metadata.finalizers", nil),
		sets(provider, "AcmeMachine", "w1", "metadata.finalizers", []any{"acmemachine.acme.io"})),
	"BEH009 of another with a new name": after("work",
		sets("velero", "AcmeMachine", "w1", "metadata.finalizers", []any{"acmemachine.acme.io", "backup.example.com/hold"}),
		sets(provider, "AcmeMachine", "w1", "metadata.finalizers", []any{"acme.io/machine"})),
	"BEH010": after("paused", sets(user, "AcmeMachine", "w1", "metadata.finalizers", nil)),
	"BEH011": instead("delete w1",
		deleting("Machine", "w1"),
		deleting("AcmeMachine", "w1"),
		wait(longer),
		deleteMachine("w1")),
	"BEH011 with Secrets": instead("delete plane",
		deleting("Cluster", "c"),
		deleting("AcmeControlPlane", "c"),
		wait(longer),
		gone("AcmeControlPlane", "c")),
	"BEH012": func(l *life) {
		l.instead("delete w1", func(l *life) {
			l.deleting("Machine", "w1")
			l.deleting("AcmeMachine", "w1")
			l.put(provider, "Event", "e", "message", "Forbidden: no new finalizers can be added if the object is being deleted", "involvedObject.uid", l.uid("AcmeMachine", "w1"))
			l.deleteMachine("w1")
		})
	},
	"BEH013": func(l *life) {
		l.after("long", func(l *life) {
			for i := range 20 {
				l.status("AcmeMachine", "w1", "status.heartbeat", i)
				l.wait(time.Second)
			}
		})
	},
	"BEH013 slowly": func(l *life) {
		l.after("long", func(l *life) {
			for i := range 30 {
				l.status("AcmeMachine", "w1", "status.heartbeat", i)
				l.wait(10 * time.Second)
			}
		})
	},
	"BEH013 a Secret": func(l *life) {
		l.after("long", func(l *life) {
			for i := range 30 {
				l.put(provider, "Secret", "c-kubeconfig", "data.value", 100+i%2)
				l.wait(10 * time.Second)
			}
		})
	},
	"BEH014": func(l *life) {
		l.after("work", func(l *life) {
			for i := range 8 {
				l.put(provider, "AcmeMachine", "w1", "spec.zone", fmt.Sprint(i%2))
				l.status("AcmeMachine", "w1", "status.observedGeneration", i+3)
				l.wait(time.Second)
			}
		})
	},
	"BEH014 condition": func(l *life) {
		l.after("resume", func(l *life) {
			for i := range 12 {
				l.status("AcmeMachine", "w1", "status.conditions", conditions(i%2 == 1, false))
				l.wait(time.Second)
			}
		})
	},
	"BEH015 the status": func(l *life) {
		l.before("delete claim", func(l *life) {
			list := conditions(true, false)
			list[0].(m)["status"], list[0].(m)["lastTransitionTime"] = "False", "2026-11-22T09:00:00Z"
			l.status("AcmeMachine", "w1", "status.conditions", list)
			list[0].(m)["status"] = "Unknown"
			l.status("AcmeMachine", "w1", "status.conditions", list)
		})
	},
	"BEH015": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			list[0].(m)["lastTransitionTime"] = "2026-11-22T09:59:00Z"
			l.status("AcmeMachine", "w1", "status.conditions", list)
		})
	},
	"BEH015 the future": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			list[0].(m)["status"], list[0].(m)["lastTransitionTime"] = "False", "2026-11-22T10:00:00Z"
			l.status("AcmeMachine", "w1", "status.conditions", list)
		})
	},
	"BEH015 the epoch": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			list[0].(m)["status"], list[0].(m)["lastTransitionTime"] = "False", "1970-01-01T00:00:00Z"
			l.status("AcmeMachine", "w1", "status.conditions", list)
		})
	},
	"BEH016": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			delete(list[0].(m), "reason")
			l.status("AcmeMachine", "w1", "status.conditions", list)
		})
	},
	"BEH016 twice": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			l.status("AcmeMachine", "w1", "status.conditions", append(list, list[0]))
		})
	},
	"BEH016 a sentence": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			list[0].(m)["reason"] = "waiting for the disk"
			l.status("AcmeMachine", "w1", "status.conditions", list)
		})
	},
	"BEH016 an identity": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			delete(list[0].(m), "reason")
			l.status("AcmeIdentity", "i", "status.conditions", list)
		})
	},
	"BEH016 a dash": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			list[0].(m)["reason"] = "Disk-Full"
			l.status("AcmeMachine", "w1", "status.conditions", list)
		})
	},
	"BEH016 a type": func(l *life) {
		l.after("work", func(l *life) {
			one := m{"type": "Disk full", "status": "False", "reason": "R", "lastTransitionTime": "2026-11-22T09:00:00Z"}
			l.status("AcmeMachine", "w1", "status.conditions", append(conditions(true, false), one))
		})
	},
	"BEH017":      after("work", status("AcmeMachine", "w1", "status.observedGeneration", 9)),
	"BEH018":      after("work", sets(user, "AcmeControlPlane", "c", "spec.extra", "x")),
	"BEH018 back": after("work", status("AcmeMachine", "w1", "status.observedGeneration", 1)),
	"BEH018 of a condition": func(l *life) {
		l.after("work", func(l *life) {
			list := conditions(true, false)
			list[0].(m)["observedGeneration"] = 0
			l.status("AcmeMachine", "w1", "status.conditions", list)
		})
	},
	"BEH019": after("work", status("AcmeMachine", "w1", "status.conditions", conditions(true, false)[1:])),
	"BEH020": after("work",
		sets(user, "AcmeMachine", "orphan", "spec.size", "big"),
		sets(provider, "AcmeMachine", "orphan", "metadata.finalizers", []any{"a.acme.io"}, "spec.providerID", "acme://orphan"),
		status("AcmeMachine", "orphan", "status.initialization.provisioned", true)),
	"BEH021": func(l *life) {
		l.after("work", func(l *life) {
			l.put(provider, "AcmeMachine", "w1", "metadata.ownerReferences", []any{l.ownerRef("Cluster", "c", false)})
		})
	},
	"BEH021 of a Secret": after("work", sets(provider, "Secret", "c-sa", "metadata.ownerReferences", nil)),
	"BEH022":             after("work", sets(provider, "Secret", "extra", "type", "cluster.x-k8s.io/secret", "metadata.labels|cluster.x-k8s.io/cluster-name", "c")),
	"BEH022 itself": func(l *life) {
		l.after("work", func(l *life) {
			l.put(provider, "AcmeMachine", "w1", "metadata.ownerReferences", []any{l.ownerRef("Machine", "w1", true), l.ownerRef("AcmeMachine", "w1", false)})
		})
	},
	"BEH022 a claim": after("work",
		sets(provider, "IPAddressClaim", "k2", "metadata.labels|cluster.x-k8s.io/cluster-name", "c", "spec.clusterName", "c",
			"spec.poolRef", m{"apiGroup": "ipam.other.io", "kind": "OtherPool", "name": "pool"}),
		wait(minute),
		gone("IPAddressClaim", "k2")),
	"BEH023": func(l *life) {
		l.after("paused", func(l *life) {
			r := l.ownerRef("Machine", "w1", true)
			r["apiVersion"] = "cluster.x-k8s.io/v1beta1"
			l.put(user, "AcmeMachine", "w1", "metadata.ownerReferences", []any{r})
		})
	},
	"BEH023 by the controller": func(l *life) {
		l.after("work", func(l *life) {
			r := l.ownerRef("Machine", "w1", true)
			r["apiVersion"] = "cluster.x-k8s.io/v1beta1"
			l.put(provider, "AcmeMachine", "w1", "metadata.ownerReferences", []any{r})
		})
	},
	"BEH024": after("restart", status("AcmeMachine", "w1", "status.image", "b")),
	"BEH025": func(l *life) {
		l.after("paused", func(l *life) { l.write(user, "status", "AcmeMachine", "w1", "status", nil) })
		l.after("resume", func(l *life) { l.status("AcmeMachine", "w1", "status.conditions", conditions(false, false)) })
	},
	"BEH026": func(l *life) {
		l.before("pause", func(l *life) {
			l.put(provider, "AcmeMachine", "w1", "metadata.annotations|clusterctl.cluster.x-k8s.io/block-move", "")
		})
		l.after("paused", func(l *life) { l.wait(longer) })
	},
	"BEH026 set late": after("paused", sets(provider, "AcmeMachine", "w1", "metadata.annotations|clusterctl.cluster.x-k8s.io/block-move", ""), wait(longer)),
	"BEH027":          after("work", status("AcmeMachine", "w1", "status.conditions", conditions(true, true)), wait(longer)),
	"BEH028": after("work",
		sets(user, "AcmeMachine", "w1", "metadata.labels|team", "a"),
		func(l *life) {
			l.put(provider, "AcmeMachine", "w1", "metadata.labels|team", nil, "metadata.labels|zone", "b")
		}),
	"BEH028 the spec": after("work",
		sets(user, "AcmeMachine", "w1", "spec.size", "small"),
		sets(provider, "AcmeMachine", "w1", "spec.size", "big"),
		status("AcmeMachine", "w1", "status.observedGeneration", 4)),
	"BEH029": after("work", func(l *life) {
		for i := range 25 {
			l.secret(fmt.Sprint("token-", i), "AcmeControlPlane", "c")
		}
	}),
	"BEH030":               after("work", status("AcmeMachine", "w1", "status.failureDomain", 5)),
	"BEH030 a map":         after("work", status("AcmeCluster", "c", "status.failureDomains", m{"a": m{"controlPlane": true}, "b": m{"controlPlane": false}})),
	"BEH030 not an object": after("cluster finalizer", status("AcmeCluster", "c", "status.initialization", true)),
	"BEH031":               after("work", sets(provider, "AcmeMachine", "w1", "metadata.labels|cluster.x-k8s.io/cluster-name", "d")),
	"BEH031 of the owner": instead("pool filled", func(l *life) {
		l.fillPool()
		l.put(provider, "AcmeConfig", "x", "metadata.labels|cluster.x-k8s.io/cluster-name", "d", "metadata.ownerReferences", []any{l.ownerRef("AcmeMachinePool", "mp", true)})
	}),
	"BEH032": func(l *life) {
		l.after("cluster finalizer", func(l *life) {
			l.status("AcmeCluster", "c", "status.conditions", conditions(true, false))
			l.wait(minute)
		})
	},
	"BEH033": after("work", func(l *life) {
		l.makeClaim("k2", "w1")
		l.put(provider, "IPAddressClaim", "k2", "metadata.finalizers", []any{"ipam.acme.io/release"})
		l.deleting("IPAddressClaim", "k2")
		l.wait(minute)
		l.makeAddress("k2", "10.1.0.2")
		l.gone("IPAddress", "k2")
		l.gone("IPAddressClaim", "k2")
	}),
	"BEH034": before("delete pool", deleting("AcmeMachinePool", "mp"), wait(minute)),
	"BEH101": after("work", status("AcmeCluster", "c", "status.initialization.provisioned", false)),
	"BEH102": func(l *life) {
		l.instead("cluster provisioned", func(l *life) { l.status("AcmeCluster", "c", "status.initialization.provisioned", true) })
		l.instead("cluster ready", func(l *life) {
			l.status("Cluster", "c", "status.initialization.infrastructureProvisioned", true, "status.failureDomains", []any{m{"name": "a", "controlPlane": true}})
		})
	},
	"BEH103": after("work",
		sets(provider, "AcmeCluster", "c", "spec.controlPlaneEndpoint.host", "10.0.0.2"),
		status("AcmeCluster", "c", "status.observedGeneration", 3)),
	"BEH103 of the Cluster": after("work", sets(provider, "Cluster", "c", "spec.controlPlaneEndpoint.host", "10.0.0.2")),
	"BEH104": func(l *life) {
		l.after("cluster", sets(user, "Cluster", "c", "spec.controlPlaneEndpoint", m{"host": "10.9.9.9", "port": 6443}))
		l.instead("cluster ready", status("Cluster", "c", "status.initialization.infrastructureProvisioned", true, "status.failureDomains", []any{m{"name": "a", "controlPlane": true}}))
	},
	"BEH105": after("work",
		sets(provider, "AcmeCluster", "c", "spec.controlPlaneEndpoint.port", nil),
		status("AcmeCluster", "c", "status.observedGeneration", 3)),
	"BEH106": after("work", status("AcmeCluster", "c", "status.failureDomains", []any{m{"name": "a", "controlPlane": true}, m{"name": "a", "controlPlane": true}})),
	"BEH107": after("work", status("AcmeCluster", "c", "status.failureDomains", []any{m{"name": "b", "controlPlane": false}})),
	"BEH107 several": func(l *life) {
		l.after("work", func(l *life) {
			for i := range 9 {
				l.put(core, "Machine", fmt.Sprint("w1", i), "metadata.labels", m{"cluster.x-k8s.io/cluster-name": "c"}, "spec.failureDomain", "a",
					"metadata.ownerReferences", []any{l.ownerRef("Cluster", "c", false)})
			}
			l.status("AcmeCluster", "c", "status.failureDomains", []any{m{"name": "b", "controlPlane": false}})
		})
	},
	"BEH108": func(l *life) {
		l.after("work", func(l *life) {
			l.put(user, "Cluster", "d", "spec.infrastructureRef", m{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeCluster", "name": "d"})
			l.put(user, "AcmeCluster", "d", "metadata.annotations|cluster.x-k8s.io/managed-by", "other")
			l.put(core, "AcmeCluster", "d", "metadata.ownerReferences", []any{l.ownerRef("Cluster", "d", true)}, "metadata.labels|cluster.x-k8s.io/cluster-name", "d")
			l.adopt("AcmeCluster", "d")
		})
	},
	"BEH108 the spec": func(l *life) {
		l.after("work", func(l *life) {
			l.put(user, "Cluster", "d", "spec.infrastructureRef", m{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeCluster", "name": "d"})
			l.put(user, "AcmeCluster", "d", "metadata.annotations|cluster.x-k8s.io/managed-by", "other")
			l.put(core, "AcmeCluster", "d", "metadata.ownerReferences", []any{l.ownerRef("Cluster", "d", true)}, "metadata.labels|cluster.x-k8s.io/cluster-name", "d")
			l.put(provider, "AcmeCluster", "d", "spec.controlPlaneEndpoint", m{"host": "10.0.0.9", "port": 6443})
		})
	},
	"BEH109": func(l *life) {
		l.after("work", func(l *life) {
			l.deleting("Cluster", "c")
			l.deleting("AcmeCluster", "c")
			l.gone("AcmeCluster", "c")
		})
		l.skip("long", "delete cluster")
		l.after("delete plane", func(l *life) { l.gone("Cluster", "c") })
	},
	"BEH110": after("work",
		sets(user, "AcmeMachine", "orphan", "spec.size", "big"),
		sets(provider, "AcmeMachine", "orphan", "metadata.finalizers", []any{"a.acme.io"}),
		deleting("AcmeMachine", "orphan")),
	"BEH111": before("cluster provisioned",
		sets(provider, "AcmeControlPlane", "other", "spec.controlPlaneEndpoint", m{"host": "https://10.0.0.1", "port": 6443})),
	"BEH201": func(l *life) {
		l.instead("id w1", func(l *life) {})
		l.after("provisioned w1", func(l *life) { l.identify("w1") })
	},
	"BEH201 too long": instead("id w1",
		sets(provider, "AcmeMachine", "w1", "spec.providerID", "acme://"+strings.Repeat("w", 600)),
		status("AcmeMachine", "w1", "status.observedGeneration", 2)),
	"BEH202": after("work",
		sets(provider, "AcmeMachine", "w1", "spec.providerID", "acme://other"),
		status("AcmeMachine", "w1", "status.observedGeneration", 3)),
	"BEH203": instead("id w1",
		sets(provider, "AcmeMachine", "w1", "spec.providerID", "acme://m1"),
		status("AcmeMachine", "w1", "status.observedGeneration", 2)),
	"BEH204": func(l *life) { l.skip("node w1") },
	"BEH205": after("work", status("AcmeMachine", "w1", "status.initialization.provisioned", nil)),
	"BEH206": func(l *life) {
		// The Cluster is late; the machine does not wait.
		l.skip("cluster ready")
		l.after("node w1", func(l *life) {
			l.put(core, "Cluster", "c", "spec.controlPlaneEndpoint", m{"host": "10.0.0.1", "port": 6443})
			l.status("Cluster", "c", "status.initialization.infrastructureProvisioned", true, "status.failureDomains", []any{m{"name": "a", "controlPlane": true}})
		})
	},
	"BEH207": func(l *life) {
		l.skip("config w1")
		l.after("provisioned w1", func(l *life) { l.bootstrap("w1") })
	},
	"BEH208": func(l *life) {
		l.after("work", func(l *life) {
			l.put(user, "Cluster", "d", "spec.infrastructureRef", m{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeCluster", "name": "d"})
			l.put(user, "AcmeMachine", "early", "metadata.labels|cluster.x-k8s.io/cluster-name", "d", "metadata.finalizers", []any{"a.acme.io"},
				"metadata.ownerReferences", []any{l.ownerRef("Cluster", "d", false)})
			l.deleting("AcmeMachine", "early")
		})
	},
	"BEH209":          after("provisioned m1", status("AcmeMachine", "m1", "status.failureDomain", "b")),
	"BEH210":          after("work", status("AcmeMachine", "w1", "status.addresses", []any{m{"type": "Primary", "address": "10.0.1.2"}})),
	"BEH210 a prefix": after("work", status("AcmeMachine", "w1", "status.addresses", []any{m{"type": "InternalIP", "address": "10.0.1.2/24"}})),
	"BEH210 a name":   before("delete claim", status("AcmeMachine", "w1", "status.addresses", []any{m{"type": "InternalIP", "address": "w1.local"}})),
	"BEH211": after("work",
		sets(user, "AcmeMachine", "w1", "spec.size", "small"),
		status("AcmeMachine", "w1", "status.observedGeneration", 3, "status.addresses", []any{m{"type": "InternalIP", "address": "10.0.1.77"}})),
	"BEH212": func(l *life) {
		l.after("long", func(l *life) { l.deleting("AcmeMachine", "w1") })
		l.instead("delete w1", func(l *life) { l.wait(5 * time.Second); l.deleteMachine("w1") })
	},
	"BEH212 at once": func(l *life) {
		l.after("delete claim", func(l *life) { l.gone("AcmeMachine", "w1") })
		l.instead("delete w1", func(l *life) {
			l.wait(5 * time.Second)
			l.deleting("Machine", "w1")
			l.gone("AcmeConfig", "w1")
			l.gone("Machine", "w1")
		})
	},
	"BEH213": instead("delete w1",
		sets(core, "Machine", "w1", "metadata.annotations|pre-terminate.delete.hook.machine.cluster.x-k8s.io/x", ""),
		deleting("Machine", "w1"),
		deleting("AcmeMachine", "w1"),
		gone("AcmeMachine", "w1"),
		wait(5*time.Second),
		gone("AcmeConfig", "w1"),
		gone("Machine", "w1")),
	"BEH214":           after("work", status("AcmeMachine", "w1", "status.failureReason", "CreateError")),
	"BEH214 a cluster": after("work", status("AcmeCluster", "c", "status.failureMessage", "no quota")),
	"BEH215":           after("work", status("AcmeMachineTemplate", "w", "status.capacity", m{"cpu": 4, "memory": "8GB"})),
	"BEH215 architecture": after("work",
		status("AcmeMachineTemplate", "w", "status.capacity", m{"memory": "8Gi"}, "status.nodeInfo.architecture", "x86_64")),
	"BEH301": func(l *life) {
		l.instead("pool filled", func(l *life) {
			l.poolMachine("p1")
			l.poolMachine("p2")
			l.put(provider, "AcmeMachinePool", "mp", "spec.providerIDList", []any{"acme://p1", "acme://p2"})
			l.status("AcmeMachinePool", "mp", "status.replicas", 2, "status.observedGeneration", 2)
		})
	},
	"BEH302": after("work", status("AcmeMachinePool", "mp", "status.ready", false)),
	"BEH303": func(l *life) {
		l.after("pool filled", func(l *life) {
			l.put(provider, "AcmeMachinePool", "mp", "spec.providerIDList", []any{"acme://p1", "acme://p1"})
			l.put(provider, "AcmeMachinePool", "mp", "spec.providerIDList", []any{"acme://p1"})
			l.poolStatus("p1", "p2")
		})
		l.instead("pool filled", func(l *life) {
			l.poolMachine("p1")
			l.poolMachine("p2")
			l.poolStatus("p1")
		})
	},
	"BEH303 at rest": instead("pool filled", func(l *life) {
		l.poolMachine("p1")
		l.poolMachine("p2")
		l.poolStatus("p1", "p1")
		l.status("MachinePool", "mp", "status.initialization.infrastructureProvisioned", true)
	}),
	"BEH304": func(l *life) {
		l.instead("pool filled", func(l *life) {
			l.fillPool()
			l.poolMachine("p3")
			l.status("AcmeMachinePool", "mp", "status.replicas", 3)
		})
		l.before("delete pool", func(l *life) { l.deleting("Machine", "p3"); l.gone("AcmeMachine", "p3"); l.gone("Machine", "p3") })
	},
	"BEH304 missing": instead("pool filled", (*life).fillPool,
		status("AcmeMachinePool", "mp", "status.replicas", nil, "status.infrastructureMachineKind", "AcmeMachine")),
	"BEH305": before("work", sets(user, "MachinePool", "mp", "spec.replicas", 3)),
	"BEH306": func(l *life) {
		l.instead("pool filled", func(l *life) {
			l.poolMachine("p1")
			l.poolMachine("p2")
			l.poolStatus("p1", "p2")
			l.poolStatus("p1")
			l.poolStatus("p1", "p2")
			l.poolStatus("p2", "p1")
		})
	},
	"BEH307":         after("work", status("AcmeMachinePool", "mp", "status.infrastructureMachineKind", "AcmeOther")),
	"BEH307 removed": after("work", status("AcmeMachinePool", "mp", "status.infrastructureMachineKind", nil)),
	"BEH308": func(l *life) {
		l.instead("pool filled", func(l *life) {
			l.poolMachine("p1")
			l.poolStatus("p1", "p2")
		})
	},
	"BEH308 another ID": instead("pool filled", func(l *life) {
		l.poolMachine("p1")
		l.poolMachine("p2")
		l.poolStatus("p1", "p3")
		l.status("MachinePool", "mp", "status.initialization.infrastructureProvisioned", true)
	}),
	"BEH309": func(l *life) {
		l.instead("pool filled", func(l *life) {
			l.put(provider, "AcmeMachine", "p1", "metadata.labels|cluster.x-k8s.io/cluster-name", "c",
				"metadata.ownerReferences", []any{l.ownerRef("AcmeMachinePool", "mp", false)}, "metadata.finalizers", []any{"acmemachine.acme.io"})
			l.wait(5 * time.Second)
			l.fillPool()
		})
	},
	"BEH309 of another pool": after("work", sets(provider, "AcmeMachine", "p1", "metadata.labels|cluster.x-k8s.io/pool-name", "other")),
	"BEH309 of no Cluster": after("work",
		sets(provider, "AcmeMachine", "p1", "metadata.labels|cluster.x-k8s.io/cluster-name", ""),
		wait(5*time.Second),
		sets(provider, "AcmeMachine", "p1", "metadata.labels|cluster.x-k8s.io/cluster-name", "c")),
	"BEH310": before("delete pool",
		deleting("Machine", "p1"),
		gone("Machine", "p1"),
		wait(minute),
		deleting("AcmeMachine", "p1"),
		gone("AcmeMachine", "p1")),
	"BEH311": func(l *life) {
		l.before("delete pool", func(l *life) {
			l.deleting("AcmeMachine", "p1")
			l.gone("AcmeMachine", "p1")
			l.poolStatus("p2")
			l.wait(5 * time.Second)
			l.deleting("Machine", "p1")
			l.gone("Machine", "p1")
		})
	},
	"BEH312": func(l *life) {
		l.instead("pool filled", func(l *life) {
			l.fillPool()
			l.status("AcmeMachinePool", "mp", "status.instances", []any{m{"providerID": "acme://p1"}})
		})
	},
	"BEH313": func(l *life) {
		l.instead("delete pool", func(l *life) {
			l.deleting("MachinePool", "mp")
			l.deleting("AcmeMachinePool", "mp")
			l.gone("AcmeMachinePool", "mp")
			l.wait(10 * time.Second)
			for _, n := range []string{"p1", "p2"} {
				l.deleting("Machine", n)
				l.deleting("AcmeMachine", n)
				l.gone("AcmeMachine", n)
				l.gone("Machine", n)
			}
			l.gone("MachinePool", "mp")
		})
	},
	"BEH401": instead("config w1",
		status("AcmeConfig", "w1", "status.dataSecretName", "w1", "status.initialization.dataSecretCreated", true),
		sets(core, "Machine", "w1", "spec.bootstrap.dataSecretName", "w1")),
	"BEH401 deleted": before("node w1", gone("Secret", "w1"), wait(3*minute)),
	"BEH402": func(l *life) {
		l.instead("config w1", func(l *life) {
			l.secret("w1", "AcmeConfig", "w1")
			l.status("AcmeConfig", "w1", "status.initialization.dataSecretCreated", true)
			l.put(core, "Machine", "w1", "spec.bootstrap.dataSecretName", "w1")
		})
	},
	"BEH403": after("work", status("AcmeConfig", "w1", "status.dataSecretName", "w1-2")),
	"BEH404": func(l *life) {
		l.before("config w1", func(l *life) {
			l.secret("w1", "AcmeConfig", "w1")
			l.put(provider, "Secret", "w1", "data", m{"data": 5})
		})
		l.instead("config w1", func(l *life) {
			l.status("AcmeConfig", "w1", "status.dataSecretName", "w1", "status.initialization.dataSecretCreated", true)
			l.put(core, "Machine", "w1", "spec.bootstrap.dataSecretName", "w1")
		})
	},
	"BEH404 later": after("work", sets(provider, "Secret", "w1", "data.value", 0)),
	"BEH405": func(l *life) {
		l.before("config w1", func(l *life) {
			l.put(provider, "Secret", "w1", "type", "cluster.x-k8s.io/secret", "data.value", 5, "metadata.ownerReferences", []any{l.ownerRef("AcmeConfig", "w1", true)})
		})
		l.instead("config w1", func(l *life) {
			l.status("AcmeConfig", "w1", "status.dataSecretName", "w1", "status.initialization.dataSecretCreated", true)
			l.put(core, "Machine", "w1", "spec.bootstrap.dataSecretName", "w1")
		})
	},
	"BEH406": after("work", status("AcmeConfig", "w1", "status.initialization.dataSecretCreated", false)),
	"BEH407": func(l *life) {
		l.before("plane initialized", func(l *life) { l.makeMachine("m2", true); l.bootstrap("m2") })
		l.after("plane initialized", func(l *life) {
			l.deleteMachine("m2")
		})
	},
	"BEH408": after("work",
		sets(user, "AcmeConfig", "w1", "spec.size", "small"),
		status("AcmeConfig", "w1", "status.observedGeneration", 2),
		sets(provider, "Secret", "w1", "data.value", 120)),
	"BEH409": instead("delete w1",
		gone("AcmeConfig", "w1"),
		wait(minute),
		deleting("Machine", "w1"),
		deleting("AcmeMachine", "w1"),
		gone("AcmeMachine", "w1"),
		gone("Machine", "w1")),
	"BEH501": after("work", status("AcmeControlPlane", "c", "status.initialization.controlPlaneInitialized", false)),
	"BEH502": func(l *life) {
		l.after("plane initialized", func(l *life) { l.gone("Secret", "c-kubeconfig") })
	},
	"BEH502 deleted":       after("work", gone("Secret", "c-kubeconfig")),
	"BEH502 later":         after("work", sets(provider, "Secret", "c-kubeconfig", "metadata.labels", nil)),
	"BEH503":               before("plane initialized", sets(provider, "Secret", "c-sa", "type", "Opaque")),
	"BEH503 without a key": before("plane initialized", sets(provider, "Secret", "c-sa", "data|tls.key", nil)),
	"BEH504": func(l *life) {
		l.after("work", func(l *life) {
			l.makeMachine("m2", true)
			l.put(provider, "Machine", "m3", "metadata.labels|cluster.x-k8s.io/cluster-name", "c", "metadata.ownerReferences", []any{l.ownerRef("AcmeControlPlane", "c", true)})
			l.wait(5 * time.Second)
			l.deleteMachine("m2")
			l.deleting("Machine", "m3")
			l.gone("Machine", "m3")
		})
	},
	"BEH504 lost": after("work",
		sets(provider, "Machine", "m1", "metadata.labels|cluster.x-k8s.io/control-plane", nil),
		wait(5*time.Second),
		sets(provider, "Machine", "m1", "metadata.labels|cluster.x-k8s.io/control-plane", "")),
	"BEH505":          after("work", status("AcmeControlPlane", "c", "status.readyReplicas", 2)),
	"BEH505 negative": after("work", status("AcmeControlPlane", "c", "status.readyReplicas", -1)),
	"BEH506":          after("work", status("AcmeControlPlane", "c", "status.replicas", 2, "status.versions", []any{m{"version": "v1.34.0", "replicas": 2}})),
	"BEH506 while the Cluster changes": after("work",
		status("AcmeControlPlane", "c", "status.readyReplicas", 0),
		wait(20*time.Second), sets(user, "Cluster", "c", "metadata.annotations|note", "x"), wait(2*minute)),
	"BEH506 ready": after("work", status("AcmeControlPlane", "c", "status.readyReplicas", 0)),
	"BEH507": after("work",
		sets(user, "AcmeControlPlane", "c", "spec.replicas", 3),
		status("AcmeControlPlane", "c", "status.observedGeneration", 2),
		wait(longer)),
	"BEH507 version": after("work",
		sets(user, "AcmeControlPlane", "c", "spec.version", "v1.35.0"),
		status("AcmeControlPlane", "c", "status.observedGeneration", 2),
		wait(longer)),
	"BEH508":         after("work", status("AcmeControlPlane", "c", "status.selector", "cluster.x-k8s.io/cluster-name=c")),
	"BEH509":         after("work", status("AcmeControlPlane", "c", "status.versions", []any{m{"version": "v1.35.0", "replicas": 0}, m{"version": "v1.34.0", "replicas": 1}})),
	"BEH510":         after("work", status("AcmeControlPlane", "c", "status.version", "v1.35.0")),
	"BEH510 older":   after("work", status("AcmeControlPlane", "c", "status.version", "v1.33.0")),
	"BEH510 missing": after("work", status("AcmeControlPlane", "c", "status.version", nil)),
	"BEH511": after("work",
		sets(user, "AcmeControlPlane", "c", "spec.machineTemplate.metadata.labels", m{"team": "a"}),
		status("AcmeControlPlane", "c", "status.observedGeneration", 2)),
	"BEH511 an annotation": after("work",
		sets(user, "AcmeControlPlane", "c", "spec.machineTemplate.metadata.annotations", m{"team": "a"}),
		status("AcmeControlPlane", "c", "status.observedGeneration", 2)),
	"BEH511 a timeout": after("work",
		sets(user, "AcmeControlPlane", "c", "spec.machineTemplate.spec.deletion", m{"nodeDrainTimeoutSeconds": 60}),
		status("AcmeControlPlane", "c", "status.observedGeneration", 2)),
	"BEH512": func(l *life) {
		l.after("work", func(l *life) {
			l.put(user, "AcmeControlPlane", "c", "spec.rollout.after", l.at.Format(time.RFC3339))
			l.status("AcmeControlPlane", "c", "status.observedGeneration", 2)
		})
	},
	"BEH513": func(l *life) {
		l.after("work", func(l *life) {
			l.makeMachine("m2", true)
			l.deleteMachine("m2")
			l.put(provider, "Machine", "m3", "metadata.labels", m{"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane": ""}, "spec.failureDomain", "b",
				"metadata.ownerReferences", []any{l.ownerRef("AcmeControlPlane", "c", true)})
			l.wait(5 * time.Second)
			l.deleting("Machine", "m3")
			l.gone("Machine", "m3")
		})
	},
	"BEH513 unknown": func(l *life) {
		l.after("work", func(l *life) {
			l.put(provider, "Machine", "m3", "metadata.labels", m{"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane": ""}, "spec.failureDomain", "z",
				"metadata.ownerReferences", []any{l.ownerRef("AcmeControlPlane", "c", true)})
			l.wait(5 * time.Second)
			l.deleting("Machine", "m3")
			l.gone("Machine", "m3")
		})
	},
	"BEH514": after("work", status("AcmeControlPlane", "c", "status.externalManagedControlPlane", true)),
	"BEH515": after("work",
		sets(provider, "AcmeControlPlane", "c", "spec.controlPlaneEndpoint", m{"host": "10.0.0.1", "port": 6443}),
		sets(provider, "AcmeControlPlane", "c", "spec.controlPlaneEndpoint.port", 443),
		status("AcmeControlPlane", "c", "status.observedGeneration", 3)),
	"BEH516": after("machine m1", status("Machine", "m1", "status.conditions", conditions(true, false))),
	"BEH517": func(l *life) {
		l.skip("delete m1")
		l.after("delete plane", func(l *life) {
			l.wait(15 * time.Second)
			l.deleteMachine("m1")
		})
	},
	"BEH518": func(l *life) {
		l.after("machine m1", func(l *life) { l.initPlane() })
	},
	"BEH519":         after("work", sets(provider, "Secret", "c-ca", "data.value", 101)),
	"BEH519 deleted": after("work", gone("Secret", "c-ca")),
	"BEH520": after("work",
		sets(provider, "Machine", "m2", "metadata.labels", m{"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane": ""},
			"metadata.ownerReferences", []any{}, "spec.clusterName", "c"),
		wait(minute),
		deleting("Machine", "m2"),
		gone("Machine", "m2")),
	"BEH521": after("work", func(l *life) {
		l.makeMachine("m2", true)
		l.wait(longer)
		l.deleteMachine("m2")
	}),
	"BEH522":             plane2("spec.version", nil),
	"BEH522 the Cluster": plane2("spec.clusterName", "d"),
	"BEH522 shared":      plane2("spec.infrastructureRef.name", "m1"),
	"BEH522 nothing":     plane2("spec.bootstrap.configRef.name", "m3"),
	"BEH601": func(l *life) {
		l.after("work", func(l *life) {
			l.makeClaim("k2", "w1")
			l.put(provider, "IPAddressClaim", "k2", "metadata.finalizers", []any{"ipam.acme.io/release"})
		})
		l.before("delete w1", func(l *life) { l.gone("IPAddressClaim", "k2") })
	},
	"BEH601 after a pause": after("work",
		sets(user, "Cluster", "c", "metadata.annotations|cluster.x-k8s.io/paused", ""),
		func(l *life) { l.makeClaim("k2", "w1") },
		wait(minute),
		sets(user, "Cluster", "c", "metadata.annotations", nil),
		wait(minute),
		gone("IPAddressClaim", "k2")),
	"BEH602": func(l *life) {
		l.instead("address", func(l *life) {
			l.put(provider, "IPAddress", "k-1", "spec.address", "10.1.0.1", "spec.claimRef.name", "k", "spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"},
				"metadata.finalizers", []any{"ipam.acme.io/protect"}, "metadata.ownerReferences", []any{
					l.ownerRef("IPAddressClaim", "k", true), m{"apiVersion": "ipam.acme.io/v1", "kind": "AcmePool", "name": "pool", "uid": "pool", "blockOwnerDeletion": true}})
		})
		l.instead("claim answered", func(l *life) { l.status("IPAddressClaim", "k", "status.addressRef", m{"name": "k-1"}) })
		l.instead("delete claim", func(l *life) {
			l.deleting("IPAddressClaim", "k")
			l.gone("IPAddress", "k-1")
			l.gone("IPAddressClaim", "k")
		})
	},
	"BEH603": after("work",
		sets(user, "IPAddressClaim", "foreign", "spec.clusterName", "c", "spec.poolRef", m{"apiGroup": "ipam.other.io", "kind": "AcmePool", "name": "pool"}),
		sets(provider, "IPAddressClaim", "foreign", "metadata.finalizers", []any{"ipam.acme.io/release"})),
	"BEH604": func(l *life) {
		l.after("paused", func(l *life) {
			l.put(user, "IPAddressClaim", "k2", "spec.clusterName", "c", "spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"})
			l.put(provider, "IPAddressClaim", "k2", "metadata.finalizers", []any{"ipam.acme.io/release"})
			l.makeAddress("k2", "10.1.0.2")
			l.status("IPAddressClaim", "k2", "status.addressRef", m{"name": "k2"})
			l.wait(5 * time.Second)
			l.deleteClaim("k2")
		})
	},
	"BEH604 at once": after("pause",
		wait(2*time.Second),
		func(l *life) { l.makeClaim("k2", "w1"); l.makeAddress("k2", "10.1.0.2"); l.deleteClaim("k2") }),
	"BEH604 annotated": after("work",
		func(l *life) { l.makeClaim("k2", "w1") },
		sets(user, "IPAddressClaim", "k2", "metadata.annotations|cluster.x-k8s.io/paused", ""),
		wait(minute),
		func(l *life) { l.makeAddress("k2", "10.1.0.2"); l.deleteClaim("k2") }),
	"BEH604 annotated Cluster": after("work",
		sets(user, "Cluster", "c", "metadata.annotations|cluster.x-k8s.io/paused", ""),
		wait(minute),
		func(l *life) { l.makeClaim("k2", "w1"); l.makeAddress("k2", "10.1.0.2"); l.deleteClaim("k2") },
		sets(user, "Cluster", "c", "metadata.annotations", nil)),
	"BEH605": func(l *life) {
		l.after("work", func(l *life) {
			l.put(user, "IPAddressClaim", "k2", "spec.clusterName", "nowhere", "spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"})
			l.put(provider, "IPAddressClaim", "k2", "metadata.finalizers", []any{"ipam.acme.io/release"})
			l.makeAddress("k2", "10.1.0.2")
			l.status("IPAddressClaim", "k2", "status.addressRef", m{"name": "k2"})
		})
	},
	"BEH605 with a label": before("address", sets(user, "IPAddressClaim", "k", "spec.clusterName", "nowhere")),
	"BEH606": func(l *life) {
		l.skip("claim finalizer")
		l.after("claim answered", func(l *life) {
			l.put(provider, "IPAddressClaim", "k", "metadata.finalizers", []any{"ipam.acme.io/release"})
		})
	},
	"BEH607": func(l *life) {
		l.instead("address", func(l *life) {
			l.put(provider, "IPAddress", "k", "spec.address", "10.1.0.1", "spec.claimRef.name", "k", "spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"},
				"metadata.finalizers", []any{"ipam.acme.io/protect"}, "metadata.ownerReferences", []any{l.ownerRef("IPAddressClaim", "k", true)})
		})
	},
	"BEH607 another claim": func(l *life) {
		l.instead("address", func(l *life) {
			l.makeClaim("k2", "w1")
			l.put(provider, "IPAddress", "k", "spec.address", "10.1.0.1", "spec.claimRef.name", "k", "spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"},
				"metadata.finalizers", []any{"ipam.acme.io/protect"}, "metadata.ownerReferences", []any{
					l.ownerRef("IPAddressClaim", "k2", true), m{"apiVersion": "ipam.acme.io/v1", "kind": "AcmePool", "name": "pool", "uid": "pool", "blockOwnerDeletion": true}})
			l.gone("IPAddressClaim", "k2")
		})
	},
	"BEH607 without a pool": before("delete claim", func(l *life) {
		l.put(provider, "IPAddress", "k", "metadata.ownerReferences", []any{l.ownerRef("IPAddressClaim", "k", true)})
	}, wait(5*time.Second)),
	"BEH608 later": before("delete claim",
		sets(provider, "IPAddress", "k", "metadata.finalizers", nil),
		wait(5*time.Second)),
	"BEH608": func(l *life) {
		l.after("address", func(l *life) {})
		l.instead("address", func(l *life) {
			l.put(provider, "IPAddress", "k", "spec.address", "10.1.0.1", "spec.claimRef.name", "k", "spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"},
				"metadata.ownerReferences", []any{
					l.ownerRef("IPAddressClaim", "k", true), m{"apiVersion": "ipam.acme.io/v1", "kind": "AcmePool", "name": "pool", "uid": "pool", "blockOwnerDeletion": true}})
		})
	},
	"BEH609": func(l *life) {
		l.after("work", func(l *life) {
			l.makeClaim("k2", "w1")
			l.put(provider, "IPAddressClaim", "k2", "metadata.finalizers", []any{"ipam.acme.io/release"})
			l.makeAddress("k2", "10.1.0.1")
			l.status("IPAddressClaim", "k2", "status.addressRef", m{"name": "k2"})
		})
		l.before("delete claim", func(l *life) { l.deleteClaim("k2") })
	},
	"BEH610": func(l *life) {
		l.after("claim answered", func(l *life) { l.status("IPAddressClaim", "k", "status.addressRef", m{"name": "other"}) })
		l.instead("delete claim", func(l *life) {
			l.deleting("IPAddressClaim", "k")
			l.gone("IPAddressClaim", "k")
			l.gone("IPAddress", "k")
		})
	},
	"BEH610 removed": before("delete claim", status("IPAddressClaim", "k", "status.addressRef", nil)),
	"BEH610 of another": func(l *life) {
		l.after("work", func(l *life) {
			l.makeClaim("k2", "w1")
			l.put(provider, "IPAddressClaim", "k2", "metadata.finalizers", []any{"ipam.acme.io/release"})
			l.makeAddress("k2", "10.1.0.2")
			l.status("IPAddressClaim", "k2", "status.addressRef", m{"name": "k"})
			l.wait(5 * time.Second)
			l.status("IPAddressClaim", "k2", "status.addressRef", m{"name": "k2"})
			l.deleteClaim("k2")
		})
	},
	"BEH611": instead("delete claim",
		deleting("IPAddressClaim", "k"),
		gone("IPAddressClaim", "k"),
		wait(15*time.Second),
		gone("IPAddress", "k")),
	"BEH612": instead("delete claim",
		deleting("IPAddressClaim", "k"),
		wait(longer),
		gone("IPAddress", "k"),
		gone("IPAddressClaim", "k")),
	"BEH613": func(l *life) {
		l.before("delete claim", func(l *life) { l.gone("IPAddress", "k"); l.wait(5 * time.Second) })
		l.instead("delete claim", func(l *life) { l.deleting("IPAddressClaim", "k"); l.gone("IPAddressClaim", "k") })
	},
	"BEH614": func(l *life) {
		l.instead("claim", func(l *life) {
			l.put(provider, "IPAddressClaim", "k", "spec.clusterName", "c", "metadata.labels|cluster.x-k8s.io/cluster-name", "c",
				"spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"}, "metadata.ownerReferences", []any{l.ownerRef("AcmeMachine", "w1", false)})
		})
	},
	"BEH614 another Cluster": instead("claim",
		sets(user, "Cluster", "d", "spec.x", "y"),
		func(l *life) {
			l.put(provider, "IPAddressClaim", "k", "spec.clusterName", "d", "metadata.labels|cluster.x-k8s.io/cluster-name", "d",
				"spec.poolRef", m{"apiGroup": "ipam.acme.io", "kind": "AcmePool", "name": "pool"}, "metadata.ownerReferences", []any{l.ownerRef("AcmeMachine", "w1", true)})
		}),
	"BEH615": func(l *life) {
		l.skip("delete claim")
		l.after("end", func(l *life) { l.deleteClaim("k") })
	},
	"BEH616":         instead("address", func(l *life) { l.makeAddress("k", "10.1.0.300") }),
	"BEH616 prefix":  instead("address", func(l *life) { l.makeAddress("k", "10.1.0.1", "spec.prefix", 64) }),
	"BEH616 gateway": instead("address", func(l *life) { l.makeAddress("k", "10.1.0.1", "spec.gateway", "fe80::1") }),
	"BEH616 changed": before("delete claim", sets(provider, "IPAddress", "k", "spec.address", "10.1.0.9")),
	"BEH701":         func(l *life) { l.instead("resume", func(l *life) { l.pause(false, "Machine/w1") }) },
	"BEH702": func(l *life) {
		l.instead("pool filled", func(l *life) {
			l.poolMachine("p1")
			l.poolMachine("p2")
			l.put(provider, "AcmeMachinePool", "mp", "spec.providerIDList", []any{"acme://p1", "acme://p2"})
			l.status("AcmeMachinePool", "mp", "status.replicas", 2, "status.initialization.provisioned", true, "status.observedGeneration", 2)
		})
	},
}
