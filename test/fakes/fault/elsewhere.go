package fault

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Elsewhere starts a server that has nothing to do with any other, for faults
// with a redirect. It accepts everything and answers an empty JSON object. Its
// address has another host name than 127.0.0.1; its log tells who came with which
// credentials.
func Elsewhere(tb testing.TB) (address string, log *Injector) {
	tb.Helper()
	log = New()
	s := httptest.NewServer(log.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "{}")
	}), nil))
	tb.Cleanup(func() {
		log.Close()
		s.Close()
	})
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1), log
}
