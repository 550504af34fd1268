package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// envelope is a message with signatures (DSSE v1.0). Bytes are in base64.
type envelope struct {
	PayloadType string              `json:"payloadType"`
	Payload     []byte              `json:"payload"`
	Signatures  []envelopeSignature `json:"signatures"`
}

// envelopeSignature has no keyid, which is a hint that verifiers understand in
// different ways.
type envelopeSignature struct {
	Sig []byte `json:"sig"`
}

// signed is what the signatures of an envelope are of (DSSE: PAE). It binds the
// payload to its type.
func (e *envelope) signed() []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(e.PayloadType), e.PayloadType, len(e.Payload), e.Payload)
}

// Envelope returns a payload and its signature in one line of JSON.
func (k *PrivateKey) Envelope(payloadType string, payload []byte) ([]byte, error) {
	e := envelope{PayloadType: payloadType, Payload: payload}
	sig, err := k.Sign(e.signed())
	if err != nil {
		return nil, err
	}
	e.Signatures = []envelopeSignature{{sig}}
	line, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write the envelope: %w", err)
	}
	return append(line, '\n'), nil
}

// InEnvelope reports whether one of the lines is an envelope with exactly this
// payload, signed by one of the keys. Lines that are none are left to others
// (in-toto attestation: spec/v1/bundle.md).
func InEnvelope(lines []byte, payloadType string, payload []byte, keys ...*PublicKey) bool {
	for line := range bytes.Lines(lines) {
		var e envelope
		if json.Unmarshal(line, &e) != nil || repo.UnambiguousJSON(line) != nil ||
			e.PayloadType != payloadType || !bytes.Equal(e.Payload, payload) {
			continue
		}
		message := e.signed()
		for _, s := range e.Signatures {
			if maker(message, s.Sig, keys) != nil {
				return true
			}
		}
	}
	return false
}

// SignFile returns a signature file, as cosign sign-blob --output-signature writes it.
func (k *PrivateKey) SignFile(message []byte) ([]byte, error) {
	sig, err := k.Sign(message)
	return base64.StdEncoding.AppendEncode(nil, sig), err
}

// Signer returns the first key that made a signature file, or nil. That is base64 as
// cosign writes it, with or without line breaks, or the bytes as openssl writes them.
func Signer(message, file []byte, keys []*PublicKey) *PublicKey {
	if sig, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(file))); err == nil {
		file = sig
	}
	return maker(message, file, keys)
}

// maker returns the first key that made a signature, or nil.
func maker(message, sig []byte, keys []*PublicKey) *PublicKey {
	if i := slices.IndexFunc(keys, func(k *PublicKey) bool { return k.Verify(message, sig) }); i >= 0 {
		return keys[i]
	}
	return nil
}
