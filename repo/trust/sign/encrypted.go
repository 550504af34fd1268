package sign

import (
	"encoding/json"
	"errors"
	"slices"

	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"
)

// box is a secret under a password, as cosign keeps its private keys
// (go-securesystemslib: encrypted).
type box struct {
	KDF struct {
		Name   string `json:"name"`
		Params struct {
			N int `json:"N"`
			R int `json:"r"`
			P int `json:"p"`
		} `json:"params"`
		Salt []byte `json:"salt"`
	} `json:"kdf"`
	Cipher struct {
		Name  string `json:"name"`
		Nonce []byte `json:"nonce"`
	} `json:"cipher"`
	Ciphertext []byte `json:"ciphertext"`
}

// costs are the values of N that are in use. Others could take any time and
// memory.
var costs = []int{1 << 15, 1 << 16, 1 << 17}

var (
	errBox      = errors.New("holds a damaged encrypted private key, or one written by a newer cosign")
	errPassword = errors.New("cannot be decrypted: the password is wrong")
	errAsk      = errors.New("is encrypted, and the password is missing")
)

// decrypt returns the content of a box.
func decrypt(data []byte, password func() ([]byte, error)) ([]byte, error) {
	var b box
	err := json.Unmarshal(data, &b)
	p := b.KDF.Params
	if err != nil || b.KDF.Name != "scrypt" || b.Cipher.Name != "nacl/secretbox" ||
		len(b.Cipher.Nonce) != 24 || !slices.Contains(costs, p.N) || p.R != 8 || p.P != 1 {
		return nil, errBox
	}
	if password == nil {
		return nil, errAsk
	}
	word, err := password()
	if err != nil {
		return nil, err
	}
	key, err := scrypt.Key(word, b.KDF.Salt, p.N, p.R, p.P, 32)
	if err != nil {
		return nil, errBox
	}
	secret, ok := secretbox.Open(nil, b.Ciphertext, (*[24]byte)(b.Cipher.Nonce), (*[32]byte)(key))
	if !ok {
		return nil, errPassword
	}
	return secret, nil
}
