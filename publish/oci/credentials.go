package oci

import (
	"context"
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry/remote/credentials"
)

// The names of the variables that the operator reads credentials from
// (cluster-api-operator: internal/controller, OCIAuthentication). This package
// names them in messages and does not read them.
const (
	UserVariable         = "OCI_USERNAME"
	TokenServerVariable  = "OCI_TOKEN_SERVER"
	PasswordVariable     = "OCI_PASSWORD"
	AccessTokenVariable  = "OCI_ACCESS_TOKEN"
	RefreshTokenVariable = "OCI_REFRESH_TOKEN"
)

// Credential is what a registry gets to see. The zero Credential is anonymous.
type Credential struct {
	UserName, Password string
	// AccessToken is sent to the registry as it is.
	AccessToken string
	// RefreshToken is exchanged for an access token; Docker calls it an
	// identity token.
	RefreshToken string
}

// String hides everything.
func (c Credential) String() string { return "credential" }

// GoString hides everything.
func (c Credential) GoString() string { return c.String() }

// Credentials finds the credential for a registry, which may be anonymous: the known
// one, which is meant for a destination, since that has only one registry, or else what
// `docker login` stored: in a configuration file, or with the credential helper that it
// names. A file that does not exist knows none. The files are read when the first
// registry asks.
func Credentials(known Credential, files ...string) func(ctx context.Context, host string) (Credential, error) {
	return func(ctx context.Context, host string) (Credential, error) {
		if known != (Credential{}) {
			return known, nil
		}
		for _, file := range files {
			if c, err := dockerCredential(ctx, file, host); err != nil || c != (Credential{}) {
				return c, err
			}
		}
		return Credential{}, nil
	}
}

func dockerCredential(ctx context.Context, file, host string) (Credential, error) {
	store, err := credentials.NewStore(file, credentials.StoreOptions{})
	if err != nil {
		return Credential{}, fmt.Errorf("the configuration of Docker cannot be read: %s is not readable, or not JSON as Docker writes it", file)
	}
	c, err := store.Get(ctx, credentials.ServerAddressFromRegistry(host))
	switch {
	case ctx.Err() != nil:
		return Credential{}, context.Cause(ctx)
	case err != nil && strings.Contains(err.Error(), "executable file not found"):
		return Credential{}, fmt.Errorf("%s names a credential helper for %s that is not installed; install the docker-credential-* program that it names, or log in with `docker login %s`", file, host, host)
	case err != nil:
		// The text of the error may quote what could not be decoded.
		return Credential{}, fmt.Errorf("the credentials for %s that %s stores or names a helper for cannot be read; log in again with `docker login %s`", host, file, host)
	}
	return Credential{UserName: c.Username, Password: c.Password, AccessToken: c.AccessToken, RefreshToken: c.RefreshToken}, nil
}
