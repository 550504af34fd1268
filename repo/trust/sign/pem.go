package sign

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// block says what a type of PEM block holds.
type block struct {
	private bool
	// parse reads it; nil if we cannot.
	parse func(der []byte) (any, error)
	// help says what to do with one that we cannot read.
	help string
}

// withCosign is the way out for keys that only cosign reads.
const withCosign = "sign SHA256SUMS with cosign sign-blob, or make a key with openssl, " +
	"which cosign import-key-pair takes too"

var blocks = map[string]block{
	"PUBLIC KEY":                     {parse: x509.ParsePKIXPublicKey},
	"RSA PUBLIC KEY":                 {parse: func(der []byte) (any, error) { return x509.ParsePKCS1PublicKey(der) }},
	"CERTIFICATE":                    {help: "openssl x509 -pubkey -noout prints its public key"},
	"PRIVATE KEY":                    {private: true, parse: x509.ParsePKCS8PrivateKey},
	"EC PRIVATE KEY":                 {private: true, parse: func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) }},
	"RSA PRIVATE KEY":                {private: true, parse: func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) }},
	"ENCRYPTED SIGSTORE PRIVATE KEY": {private: true, help: withCosign},
	"ENCRYPTED COSIGN PRIVATE KEY":   {private: true, help: withCosign},
	"ENCRYPTED PRIVATE KEY":          {private: true, help: "openssl pkey removes the password"},
	"OPENSSH PRIVATE KEY":            {private: true, help: "ssh-keygen -p -m PKCS8 converts a copy of it to PEM"},
}

// blocksIn returns the PEM blocks of a file.
func blocksIn(data []byte) iter.Seq2[*pem.Block, block] {
	return func(yield func(*pem.Block, block) bool) {
		for p, rest := pem.Decode(data); p != nil; p, rest = pem.Decode(rest) {
			b, known := blocks[p.Type]
			if !known {
				b.private = strings.Contains(p.Type, "PRIVATE KEY")
			}
			if p.Headers["DEK-Info"] != "" {
				b.parse, b.help = nil, blocks["ENCRYPTED PRIVATE KEY"].help
			}
			if !yield(p, b) {
				return
			}
		}
	}
}

// errNoPEM is a file without keys.
var errNoPEM = errors.New("holds no key in PEM form, which begins with a line such as -----BEGIN PUBLIC KEY-----")

// cannotRead is a block that parse refuses. The cause is left out: it may
// quote what is private.
func cannotRead(kind string, b block) error {
	if b.parse == nil && b.help != "" {
		return fmt.Errorf("holds a %s, which cannot be read here as it is: %s", kind, b.help)
	}
	return fmt.Errorf("holds a damaged %s, or one of a different kind than %s", kind, kinds)
}
