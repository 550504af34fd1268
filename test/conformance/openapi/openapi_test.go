package openapi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const described = `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"components":{},"paths":{"/releases":{"patch":{"operationId":"update",
"requestBody":{"content":{"application/json":{"schema":{"type":"object","required":["name"]}}}},
"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object"}}}}}}}}}`

// TestCutRequest: a client that is killed halfway through its request has broken no
// rule, and the server sees that the request was cut. A whole request that the server
// takes is compared.
func TestCutRequest(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		length   int
		problems int
		err      error
	}{
		"whole":       {`{"name":"v1"}`, 13, 0, nil},
		"without":     {`{"other":"v1"}`, 14, 1, nil},
		"cut":         {`{"other":`, 14, 0, io.ErrUnexpectedEOF},
		"without any": {``, 14, 0, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "description.json")
			given.NoError(t, os.WriteFile(file, []byte(described), 0o600))
			spec := given.Value(Load(file))(t)
			read := make(chan error, 1)
			server := httptest.NewServer(spec.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := io.ReadAll(r.Body)
				read <- err
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, "{}")
			})))
			conn := given.Value(net.Dial("tcp", strings.TrimPrefix(server.URL, "http://")))(t)
			conn.SetDeadline(time.Now().Add(time.Minute))
			fmt.Fprintf(conn, "PATCH /releases HTTP/1.1\r\nHost: acme.example\r\nContent-Length: %d\r\n\r\n%s", c.length, c.body)
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn)
			conn.Close()
			select {
			case err := <-read:
				if err != c.err {
					t.Errorf("the server read: %v, want %v", err, c.err)
				}
			default: // the connection has ended
				t.Error("the server was not asked")
			}
			server.Close() // waits until the comparison has ended
			if got := spec.Problems(); len(got) != c.problems {
				t.Errorf("problems %q, want %d", got, c.problems)
			}
		})
	}
}
