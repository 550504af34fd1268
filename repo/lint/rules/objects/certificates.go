package objects

import (
	"cmp"
	"net/mail"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = webhookRules.Add(lint.Rule{
	ID: "WH016", Name: "certificate-fields", Severity: lint.Error, Proof: lint.APIServer,
	Yields: []string{"COMP011"},
	Title:  "Certificates and Issuers must have fields that cert-manager accepts",
	Source: "cert-manager v1.21 deploy/crds; internal/apis/certmanager/validation, ValidateCertificateSpec and ValidateIssuerConfig",
	Why:    "The API server or the webhook of cert-manager refuses the object in the middle of the installation.",
	Fix:    "Set the field to what the message allows, or remove it if cert-manager has no such field.",
	Check:  certificateFields,
})

func certificateFields(p *lint.Pass) {
	checker := crd.Checker{Received: true}
	for _, o := range p.File.Objects() {
		if o.Group != view.CertManagerGroup {
			continue
		}
		if s, ok := contract.CoreSchema(o.Group, o.Kind, o.Version); ok {
			view.ReportViolations(p, o, slices.DeleteFunc(checker.CheckObject(s, o.Doc.Root), view.OfStatus))
			judge{p, o}.demands(o.Doc.Root, nil, certManagerDemands[o.Kind])
		}
	}
}

var certManagerDemands = map[string][]demand{"Certificate": certificateDemands, "Issuer": issuerDemands, "ClusterIssuer": issuerDemands}

// What a Certificate is for, of which it needs one.
var certified = []string{"commonName", "dnsNames", "uris", "emailAddresses", "ipAddresses", "otherNames"}

var certificateDemands = []demand{
	{"", needs("spec")},
	{"spec.duration", form(aDuration)},
	{"spec.renewBefore", form(aDuration)},
	{"spec.secretName", notEmpty},
	{"spec.secretName", form(validation.IsDNS1123Subdomain)},
	{"spec.issuerRef.name", notEmpty},
	{"spec.issuerRef", func(n *yamldoc.Node, fail view.Failure) {
		group, kind := n.Get("group"), n.Get("kind")
		if group.Str() == "" || group.Str() == view.CertManagerGroup {
			if !slices.Contains([]string{"", "Issuer", "ClusterIssuer"}, kind.Str()) {
				fail.By(kind, group).Says("has the kind %q; in the group %s it must be Issuer or ClusterIssuer",
					kind.Text(), view.CertManagerGroup)
			}
		}
	}},
	{"spec", func(n *yamldoc.Node, fail view.Failure) {
		set := slices.ContainsFunc(certified, func(name string) bool { return !unset(n.Get(name)) })
		switch literal, name := n.Get("literalSubject"), n.Get("commonName"); {
		case !n.Is(yamldoc.Map):
		case literal.Str() != "" && name.Str() != "":
			fail.By(name, literal).Says("has both literalSubject and commonName")
		case literal.Str() != "" && slices.ContainsFunc(view.Fields(n.Get("subject")), func(f yamldoc.Field) bool { return !unset(f.Value) }):
			fail.By(n.Get("subject"), literal).Says("has both literalSubject and subject")
		case literal.Str() == "" && !set:
			fail.By(n, literal, name).Says("has none of %s", phrase.And(certified))
		}
	}},
	{"spec.commonName", func(n *yamldoc.Node, fail view.Failure) {
		if len(n.Str()) > 64 {
			fail.Says("has %d bytes; at most 64 are allowed", len(n.Str()))
		}
	}},
	{"spec.ipAddresses.*", form(func(text string) []string {
		if a, err := netip.ParseAddr(text); err != nil || a.Zone() != "" {
			return []string{"not an IP address"}
		}
		return nil
	})},
	{"spec.emailAddresses.*", form(func(text string) []string {
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
			return []string{"not an email address"}
		}
		return nil
	})},
	{"spec.privateKey", func(n *yamldoc.Node, fail view.Failure) {
		size, ok := n.Get("size").Int()
		switch algorithm := n.Get("algorithm").Str(); {
		case !ok || size <= 0:
		case (algorithm == "" || algorithm == "RSA") && (size < 2048 || size > 8192):
			fail.By(n.Get("size"), n.Get("algorithm")).Says("has the size %d; an RSA key must have 2048 to 8192 bits", size)
		case algorithm == "ECDSA" && size != 256 && size != 384 && size != 521:
			fail.By(n.Get("size"), n.Get("algorithm")).Says("has the size %d; an ECDSA key must have 256, 384 or 521 bits", size)
		}
	}},
	{"spec", func(n *yamldoc.Node, fail view.Failure) {
		signature, algorithm := n.Get("signatureAlgorithm"), n.Get("privateKey", "algorithm")
		key := cmp.Or(algorithm.Str(), "RSA")
		if allowed, ok := signatures[key]; ok && signature.Str() != "" && !slices.Contains(allowed, signature.Str()) {
			fail.By(signature, algorithm).Says("has the signatureAlgorithm %s; with %s keys it must be %s",
				signature.Text(), key, phrase.Or(allowed))
		}
	}},
	{"spec", lifetime},
	{"spec.revisionHistoryLimit", between(1, many)},
	{"spec.secretTemplate.labels", labels},
	{"spec.secretTemplate.annotations", func(n *yamldoc.Node, fail view.Failure) {
		for _, f := range view.Fields(n) {
			if strings.HasPrefix(f.Name, "cert-manager.io/") && f.Name != "cert-manager.io/allow-direct-injection" {
				fail.By(f.Key()).Says("has %s, which only cert-manager may set", f.Name)
			} else if why := validation.IsQualifiedName(strings.ToLower(f.Name)); len(why) > 0 {
				fail.By(f.Key()).Says("has the key %q, which is not valid: %s", f.Name, why[0])
			}
		}
	}},
	{"spec.nameConstraints", choiceOfAny("permitted", "excluded")},
	{"spec", func(n *yamldoc.Node, fail view.Failure) {
		if limits, ca := n.Get("nameConstraints"), n.Get("isCA"); limits.Is(yamldoc.Map) && !ca.Bool() {
			fail.By(limits, ca).Says("has nameConstraints, which need isCA: true")
		}
	}},
	{"spec.additionalOutputFormats", distinct("type")},
	{"spec.keystores.jks", choice(true, "password", "passwordSecretRef")},
	{"spec.keystores.jks.password", notEmpty},
	{"spec.keystores.pkcs12", choice(true, "password", "passwordSecretRef")},
	{"spec.keystores.pkcs12.password", notEmpty},
}

func aDuration(text string) []string {
	if _, err := time.ParseDuration(text); err != nil {
		return []string{"not a duration such as 2160h"}
	}
	return nil
}

// signatures are the algorithms that keys can sign with.
var signatures = map[string][]string{
	"RSA":     {"SHA256WithRSA", "SHA384WithRSA", "SHA512WithRSA"},
	"ECDSA":   {"ECDSAWithSHA256", "ECDSAWithSHA384", "ECDSAWithSHA512"},
	"Ed25519": {"PureEd25519"},
}

// lifetime demands that a certificate is valid for some time before it is renewed.
func lifetime(n *yamldoc.Node, fail view.Failure) {
	of := func(name string) (*yamldoc.Node, time.Duration, bool) {
		d, err := time.ParseDuration(n.Get(name).Str())
		return n.Get(name), d, err == nil
	}
	whole, duration, given := of("duration")
	before, early, some := of("renewBefore")
	share, percent := n.Get("renewBeforePercentage").Int()
	if !given {
		duration = 90 * 24 * time.Hour
	}
	if percent && !some && (given || before != nil) {
		early = time.Duration(float64(duration) * float64(100-share) / 100)
		before = n.Get("renewBeforePercentage")
	}
	switch {
	case given && duration < time.Hour:
		fail.By(whole).Says("has the duration %s; it must be at least an hour", whole.Text())
	case some && percent:
		fail.By(before, n.Get("renewBeforePercentage")).Says("has both renewBefore and renewBeforePercentage")
	case early == 0 && !some:
	case early < 5*time.Minute:
		fail.By(before, whole).Says("renews the certificate %s before its end; it must be at least 5 minutes", early)
	case early >= duration:
		fail.By(before, whole).Says("renews the certificate %s before its end, but it is valid for %s only", early, duration)
	}
}

// choiceOfAny demands at least one of some fields.
func choiceOfAny(names ...string) test {
	return func(n *yamldoc.Node, fail view.Failure) {
		if n.Is(yamldoc.Map) && !slices.ContainsFunc(names, func(name string) bool { return n.Get(name) != nil && !n.Get(name).Is(yamldoc.Null) }) {
			fail.Says("has none of %s", phrase.And(names))
		}
	}
}

var issuerDemands = []demand{
	{"spec", choice(true, "acme", "ca", "selfSigned", "vault", "venafi")},
	{"spec.acme.server", notEmpty},
	{"spec.acme.privateKeySecretRef.name", notEmpty},
	{"spec.ca.secretName", notEmpty},
	{"spec.ca.ocspServers.*", notEmpty},
	{"spec.ca.issuingCertificateURLs.*", notEmpty},
	{"spec.vault.server", notEmpty},
	{"spec.vault.path", notEmpty},
	{"spec.vault.auth", choiceOfAny("appRole", "kubernetes", "tokenSecretRef", "clientCertificate", "aws")},
}

var _ = webhookRules.Add(lint.Rule{
	ID: "WH017", Name: "certificate-issuer", Severity: lint.Error, Proof: lint.Contract,
	Title:  "The issuer of a Certificate must be in the components",
	Source: "clusterctl provider contract, section Links to external objects",
	Why:    "cert-manager does not issue the certificate, so the Secret is never created and the pods that mount it do not start.",
	Fix:    "Add the Issuer, or correct its name.",
	Scope:  lint.ScopeRelease, Check: certificateIssuer,
})

func certificateIssuer(p *lint.Pass) {
	all := p.Release.Installed()
	for _, c := range all.Kind(view.CertManagerGroup, "Certificate") {
		ref := c.Get("spec", "issuerRef")
		name, kind, group := ref.Get("name"), cmp.Or(ref.Get("kind").Str(), "Issuer"), ref.Get("group").Str()
		if at := ref.Get("group"); group != "" && group != view.CertManagerGroup &&
			all.Find(view.CertManagerGroup, kind, name.Text()) != nil && !view.Open(c, at) {
			p.On(c, at, "the group is %q, but the %s %s is in %s", group, kind, name.Text(), view.CertManagerGroup)
		}
		if name.Str() == "" || group != "" && group != view.CertManagerGroup ||
			view.Open(c, name) || all.Find(view.CertManagerGroup, kind, name.Text()) != nil {
			continue
		}
		f := lint.On(c, name, "the %s %s is not in the components", kind, name.Text())
		if kind != "Issuer" {
			f.Severity = lint.Info // administrators have those
		}
		p.Report(f)
	}
}
