package serve

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// StorageStep is the name of reading from a bucket in logs and rules.
const StorageStep = "storage"

// ObjectPattern is the path of an object.
const ObjectPattern = "/objects/{id}"

// Bucket is the object storage behind a fake: another host that gives bytes to any client
// with a signed address, and that must not be sent credentials.
type Bucket struct{ key []byte }

func (b *Bucket) sign(id int64) string {
	m := hmac.New(sha256.New, b.key)
	fmt.Fprint(m, id)
	return hex.EncodeToString(m.Sum(nil))
}

// Address returns the signed path and query of an object. It bears no
// credentials but its own.
func (b *Bucket) Address(id int64, name string) string {
	q := url.Values{
		"X-Amz-Algorithm": {"AWS4-HMAC-SHA256"}, "X-Amz-Expires": {"300"}, "X-Amz-Signature": {b.sign(id)},
		"response-content-disposition": {"attachment; filename=" + name}, "response-content-type": {"application/octet-stream"},
	}
	return "/objects/" + strconv.FormatInt(id, 10) + "?" + q.Encode()
}

// serve answers a request for an object. As S3 does, it refuses an Authorization
// header next to the signature.
func (b *Bucket) serve(w http.ResponseWriter, r *http.Request, find func(id int64) *Blob) {
	id, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/objects/"), 10, 64)
	status, code, text := 0, "", ""
	var found *Blob
	switch {
	case r.Header.Get("Authorization") != "":
		status, code, text = http.StatusBadRequest, "InvalidArgument", "Only one auth mechanism allowed"
	case err != nil || r.URL.Query().Get("X-Amz-Signature") != b.sign(id):
		status, code, text = http.StatusForbidden, "SignatureDoesNotMatch", "The signature does not match"
	default:
		if found = find(id); found == nil {
			status, code, text = http.StatusNotFound, "NoSuchKey", "The specified key does not exist"
		}
	}
	if status != 0 {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, text)
		return
	}
	w.Header().Set("Content-Disposition", r.URL.Query().Get("response-content-disposition"))
	Send(w, r, found)
}

// Send writes bytes, or the range of them that the client asks for.
func Send(w http.ResponseWriter, r *http.Request, b *Blob) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Etag", `"`+b.SHA256[:32]+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.data))
}
