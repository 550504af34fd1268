package sign

import (
	"crypto"
	"encoding/base64"
	"errors"
	"fmt"
)

type PrivateKey struct {
	// sign is a closure because whatever prints or dumps a value does not look
	// into one.
	sign   func(digest []byte, h crypto.Hash) ([]byte, error)
	public *PublicKey
}

// LoadPrivateKey reads a private key in PEM form without a password: PKCS #8,
// SEC 1 or PKCS #1. Errors follow the name of the file, and show nothing of it.
func LoadPrivateKey(data []byte) (*PrivateKey, error) {
	public := false
	for p, b := range blocksIn(data) {
		if !b.private {
			public = public || b.parse != nil
			continue
		}
		if b.parse == nil {
			return nil, cannotRead(p.Type, b)
		}
		key, err := b.parse(p.Bytes)
		if err != nil {
			return nil, cannotRead(p.Type, b)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, cannotRead(p.Type, b)
		}
		known, err := newPublicKey(signer.Public())
		if err != nil {
			return nil, err
		}
		sign := func(digest []byte, h crypto.Hash) ([]byte, error) { return signer.Sign(nil, digest, h) }
		return &PrivateKey{sign, known}, nil
	}
	if public {
		return nil, errors.New("holds a public key; signing needs the private one")
	}
	return nil, errNoPEM
}

func (k *PrivateKey) Public() *PublicKey { return k.public }

// SignFile returns a signature file, as cosign sign-blob --output-signature writes it.
func (k *PrivateKey) SignFile(message []byte) ([]byte, error) {
	sig, err := k.Sign(message)
	return base64.StdEncoding.AppendEncode(nil, sig), err
}

// Sign returns the signature of a message: ECDSA over SHA-256 in ASN.1, with a
// nonce made of key and message (RFC 6979); RSA PKCS #1 v1.5 over SHA-256; or
// Ed25519. The same key and message give the same bytes.
func (k *PrivateKey) Sign(message []byte) ([]byte, error) {
	h := k.public.alg.hashes[0]
	sig, err := k.sign(digest(h, message), h)
	if err != nil {
		return nil, fmt.Errorf("sign with the %s: %w", k.public, err)
	}
	return sig, nil
}
