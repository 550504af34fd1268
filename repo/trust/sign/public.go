package sign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512" // for keys that ask for it
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// algorithm is a kind of key and what is signed with it.
type algorithm struct {
	name string
	is   func(crypto.PublicKey) bool
	// verify reports whether sig is one of a message, or its hash.
	verify func(k crypto.PublicKey, h crypto.Hash, message, sig []byte) bool
	// hashes that a signature may be of; we sign the first. It is the one that
	// cosign verify-blob always uses, whatever the key. The others are
	// those that cosign sign-blob takes. 0 is the message as it is.
	hashes []crypto.Hash
}

// kinds names the algorithms for messages.
const kinds = "ECDSA (P-256, P-384, P-521), RSA (2048 to 16384 bits) and Ed25519"

// The bounds of RSA keys, in bits: shorter ones are broken, and openssl does
// not verify with longer ones.
const minRSA, maxRSA = 2048, 16384

var algorithms = []algorithm{
	{"ECDSA P-256", onCurve(elliptic.P256), verifyECDSA, []crypto.Hash{crypto.SHA256}},
	{"ECDSA P-384", onCurve(elliptic.P384), verifyECDSA, []crypto.Hash{crypto.SHA256, crypto.SHA384}},
	{"ECDSA P-521", onCurve(elliptic.P521), verifyECDSA, []crypto.Hash{crypto.SHA256, crypto.SHA512}},
	{"RSA", func(k crypto.PublicKey) bool {
		r, ok := k.(*rsa.PublicKey)
		return ok && r.N.BitLen() >= minRSA && r.N.BitLen() <= maxRSA
	}, func(k crypto.PublicKey, h crypto.Hash, hash, sig []byte) bool {
		return rsa.VerifyPKCS1v15(k.(*rsa.PublicKey), h, hash, sig) == nil
	}, []crypto.Hash{crypto.SHA256}},
	// Ed25519 of a SHA-512 is Ed25519ph.
	{"Ed25519", func(k crypto.PublicKey) bool { _, ok := k.(ed25519.PublicKey); return ok }, func(k crypto.PublicKey, h crypto.Hash, message, sig []byte) bool {
		return ed25519.VerifyWithOptions(k.(ed25519.PublicKey), message, sig, &ed25519.Options{Hash: h}) == nil
	}, []crypto.Hash{0, crypto.SHA512}},
}

func onCurve(curve func() elliptic.Curve) func(crypto.PublicKey) bool {
	return func(k crypto.PublicKey) bool {
		e, ok := k.(*ecdsa.PublicKey)
		return ok && e.Curve == curve()
	}
}

func verifyECDSA(k crypto.PublicKey, _ crypto.Hash, hash, sig []byte) bool {
	return ecdsa.VerifyASN1(k.(*ecdsa.PublicKey), hash, sig)
}

// digest is what is signed of a message.
func digest(h crypto.Hash, message []byte) []byte {
	if h == 0 {
		return message
	}
	d := h.New()
	d.Write(message)
	return d.Sum(nil)
}

type PublicKey struct {
	key crypto.PublicKey
	alg *algorithm
	id  string
}

// LoadPublicKey reads a public key in PEM form: PKIX, as cosign and openssl
// write it, or PKCS #1. Errors follow the name of the file.
func LoadPublicKey(data []byte) (*PublicKey, error) {
	var found any
	keys := 0
	for p, b := range blocksIn(data) {
		switch {
		case b.private:
			return nil, errors.New("holds a private key, which should never leave its owner; give the public one, which cosign public-key or openssl pkey -pubout writes")
		case b.help != "":
			return nil, cannotRead(p.Type, b)
		case b.parse == nil:
			continue
		}
		var err error
		if found, err = b.parse(p.Bytes); err != nil {
			return nil, cannotRead(p.Type, b)
		}
		keys++
	}
	switch keys {
	case 0:
		return nil, errNoPEM
	case 1:
		return newPublicKey(found)
	default:

		return nil, errors.New("holds several public keys; put each in a file of its own")
	}
}

// Signer returns the first key that made a signature file, or nil. That is base64 as
// cosign writes it, with or without line breaks, or the bytes as openssl writes them.
func Signer(message, file []byte, keys []*PublicKey) *PublicKey {
	if sig, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(file))); err == nil {
		file = sig
	}
	if i := slices.IndexFunc(keys, func(k *PublicKey) bool { return k.Verify(message, file) }); i >= 0 {
		return keys[i]
	}
	return nil
}

func newPublicKey(key crypto.PublicKey) (*PublicKey, error) {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.is(key) })
	if i < 0 {
		return nil, errors.New("holds a key of a different kind than " + kinds)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("holds a key that has no public form: %w", err)
	}
	sum := sha256.Sum256(der)
	return &PublicKey{key, &algorithms[i], hex.EncodeToString(sum[:])}, nil
}

// String names the key: its kind, and the SHA-256 of its PKIX form, as openssl
// pkey -pubin -outform DER | sha256sum prints it.
func (k *PublicKey) String() string { return k.alg.name + " key " + k.id }

// Verify reports whether a signature is one of a message by this key.
func (k *PublicKey) Verify(message, signature []byte) bool {
	return slices.ContainsFunc(k.alg.hashes, func(h crypto.Hash) bool {
		return k.alg.verify(k.key, h, digest(h, message), signature)
	})
}
