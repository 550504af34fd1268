package targets

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

// remotes is the client for what kustomize loads from the network; nil while none
// may be loaded.
var remotes atomic.Pointer[http.Client]

// remoteTripper is the default transport of the process from the first build on that
// may load from the network: kustomize takes that one, reads an answer of any size
// without an end, and cannot be given another.
type remoteTripper struct{ usual http.RoundTripper }

// RoundTrip asks without any credential, follows redirects as all of this program
// does, and ends answers that are too large or too slow.
func (t remoteTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	client := remotes.Load()
	if client == nil {
		return t.usual.RoundTrip(req)
	}
	resp, err := client.Do(req)
	return resp, transport.Clean(err)
}

var installRemotes = sync.OnceFunc(func() {
	transport.Usual() // is made of what was the default
	http.DefaultTransport = remoteTripper{http.DefaultTransport}
})

// guardRemotes bounds what kustomize, and git for it, load from the network, until
// done is called.
func guardRemotes(env *cli.Env) (done func()) {
	before := remotes.Swap(transport.Bounded(transport.New(env.Transport, env.Policy())))
	installRemotes()
	for name, value := range map[string]string{
		"GIT_TERMINAL_PROMPT":      "0", // a build asks for no password
		"GIT_HTTP_LOW_SPEED_LIMIT": fmt.Sprint(transport.MinRate),
		"GIT_HTTP_LOW_SPEED_TIME":  "30", // seconds; kustomize leaves a git that is late behind
	} {
		if _, set := os.LookupEnv(name); !set {
			_ = os.Setenv(name, value) // fails for names that are none
		}
	}
	return func() { remotes.Store(before) }
}
