package oracle

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	certmanager "github.com/cert-manager/cert-manager/oracle"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// newIssuing returns a server that knows what cert-manager serves.
func newIssuing(t testing.TB) *server {
	t.Helper()
	s := &server{map[string]*kind{}}
	for _, name := range coreKinds[certManager] {
		given.NoError(t, s.define(served(t, certManager, name)))
	}
	return s
}

// issued returns why an API server with cert-manager refuses a new object.
func (s *server) issued(o map[string]any) error {
	if err := s.create(runtime.DeepCopyJSON(o)); err != nil {
		return err
	}
	return certmanager.Validate(o)
}

// certificateSamples are objects that cert-manager accepts.
const certificateSamples = `[
{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "a"}, "spec": {
  "secretName": "a", "dnsNames": ["a.b.svc"], "issuerRef": {"kind": "Issuer", "name": "a"}}},
{"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "a"}, "spec": {"selfSigned": {}}},
{"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": {"name": "a"}, "spec": {"ca": {"secretName": "a"}}}
]`

// certificateValues are what fields are set to; nil removes them.
var certificateValues = map[string]map[string][]any{
	"Certificate": {
		"spec":            {nil, map[string]any{}},
		"spec.secretName": {nil, "", "a", "A_b", 1}, "spec.issuerRef": {nil, map[string]any{}, "a"},
		"spec.issuerRef.name": {nil, "", "a"}, "spec.issuerRef.kind": {nil, "", "Issuer", "ClusterIssuer", "AWSPCAIssuer"},
		"spec.issuerRef.group": {nil, "", "cert-manager.io", "awspca.cert-manager.io"},
		"spec.dnsNames":        {nil, []any{}, []any{"a"}, "a", []any{1}}, "spec.commonName": {nil, "", "a", strings.Repeat("a", 65)},
		"spec.ipAddresses": {[]any{"10.0.0.1"}, []any{"10.0.0"}}, "spec.emailAddresses": {[]any{"a@b.c"}, []any{"A <a@b.c>"}, []any{"a"}},
		"spec.uris": {[]any{"spiffe://a/b"}}, "spec.literalSubject": {"", "CN=a"}, "spec.isCA": {true, false, "true"},
		"spec.privateKey": {map[string]any{}, nil}, "spec.privateKey.algorithm": {nil, "RSA", "ECDSA", "Ed25519", "DSA", "rsa"},
		"spec.privateKey.size": {nil, 0, 256, 384, 512, 521, 1024, 2048, 4096, 8192, 16384, -1, "2048"}, "spec.privateKey.encoding": {"PKCS1", "PKCS8", "DER"},
		"spec.privateKey.rotationPolicy": {"Never", "Always", "Sometimes"},
		"spec.signatureAlgorithm":        {nil, "SHA256WithRSA", "ECDSAWithSHA256", "PureEd25519", "MD5"},
		"spec.duration":                  {nil, "2160h", "30m", "1h", "24h", "a", "90d", 1}, "spec.renewBefore": {nil, "360h", "24h", "1m", "5m", "30m", "a", "2160h"},
		"spec.renewBeforePercentage": {nil, 30, 0, 100, 99, "30"}, "spec.revisionHistoryLimit": {0, 1, -1, nil},
		"spec.usages":                     {[]any{"server auth"}, []any{"serving"}, []any{"digital signature", "any"}},
		"spec.secretTemplate.labels":      {map[string]any{"a": "b"}, map[string]any{"a": "b c"}, map[string]any{"a/b/c": "d"}},
		"spec.secretTemplate.annotations": {map[string]any{"a": "b c"}, map[string]any{"cert-manager.io/allow-direct-injection": "true"}, map[string]any{"cert-manager.io/a": "b"}, map[string]any{"a/b/c": "d"}},
		"spec.nameConstraints":            {map[string]any{}, map[string]any{"permitted": map[string]any{"dnsDomains": []any{"a"}}}},
		"spec.additionalOutputFormats":    {[]any{map[string]any{"type": "DER"}}, []any{map[string]any{"type": "DER"}, map[string]any{"type": "DER"}}, []any{map[string]any{"type": "X"}}},
		"spec.keystores.jks":              {map[string]any{"create": true}, map[string]any{"create": true, "password": "a"}, map[string]any{"create": true, "password": ""}, map[string]any{"create": true, "password": "a", "passwordSecretRef": map[string]any{"name": "a"}}},
		"spec.keystores.pkcs12":           {map[string]any{"create": true}, map[string]any{"create": true, "passwordSecretRef": map[string]any{"name": "a", "key": "b"}}, map[string]any{}},
		"spec.subject.organizations":      {[]any{"a"}, "a"}, "spec.encodeUsagesInRequest": {true, "yes"}, "spec.unknown": {"a"},
	},
	"Issuer":        issuerValues,
	"ClusterIssuer": issuerValues,
}

var issuerValues = map[string][]any{
	"spec": {nil, map[string]any{}}, "spec.selfSigned": {nil, map[string]any{}, map[string]any{"crlDistributionPoints": []any{"a"}}, "a"},
	"spec.ca": {nil, map[string]any{}, map[string]any{"secretName": ""}, map[string]any{"secretName": "a"}, map[string]any{"secretName": "a", "ocspServers": []any{""}}, map[string]any{"secretName": "a", "issuingCertificateURLs": []any{"http://a"}}},
	"spec.acme": {map[string]any{"server": "https://a", "privateKeySecretRef": map[string]any{"name": "a"}}, map[string]any{"server": "", "privateKeySecretRef": map[string]any{"name": "a"}},
		map[string]any{"server": "https://a", "privateKeySecretRef": map[string]any{"name": ""}}, map[string]any{"server": "https://a"}},
	"spec.vault": {map[string]any{"server": "https://a", "path": "b", "auth": map[string]any{"tokenSecretRef": map[string]any{"name": "a", "key": "b"}}}, map[string]any{"server": "", "path": "b", "auth": map[string]any{}},
		map[string]any{"server": "a", "path": "", "auth": map[string]any{"tokenSecretRef": map[string]any{"name": "a"}}}, map[string]any{"server": "a", "path": "b", "auth": map[string]any{}}},
	"spec.unknown": {"a", map[string]any{}},
}

// TestCertificates compares what lint says of Certificates and Issuers with the
// definitions and the webhook of cert-manager, on objects whose fields get random values.
func TestCertificates(t *testing.T) {
	t.Parallel()
	s := newIssuing(t)
	var samples []map[string]any
	given.NoError(t, json.Unmarshal([]byte(certificateSamples), &samples))
	random := rand.New(rand.NewPCG(*seed, 21))
	refused, all := map[any]int{}, share.Of(1500, 30000)
	for i := range all {
		o := runtime.DeepCopyJSON(samples[i%len(samples)])
		varied(t, random, o, certificateValues[o["kind"].(string)])
		data := given.Value(json.Marshal(o))(t)
		server := s.issued(o)
		said := findingsOf(t, "infrastructure-components.yaml", data, "WH016")
		if (server != nil) != (len(said) > 0) {
			t.Errorf("-seed %d: %s\ncert-manager: %v\nlint: %q", *seed, data, server, said)
		}
		if server != nil {
			refused[o["kind"]]++
		}
	}
	t.Logf("%d of %d refused: %v", refused["Certificate"]+refused["Issuer"]+refused["ClusterIssuer"], all, refused)
	if len(refused) != len(samples) {
		t.Errorf("refused: %v", refused)
	}
}

// varied sets up to three fields of an object to values of a table.
func varied(t *testing.T, random *rand.Rand, o map[string]any, fields map[string][]any) {
	t.Helper()
	for range random.IntN(4) {
		name := sortedKeys(fields)[random.IntN(len(fields))]
		path, value := strings.Split(name, "."), fields[name][random.IntN(len(fields[name]))]
		if value == nil {
			unstructured.RemoveNestedField(o, path...)
		} else if err := unstructured.SetNestedField(o, jsonOf(value), path...); err != nil {
			continue // what holds it is of another type by now
		}
	}
}
