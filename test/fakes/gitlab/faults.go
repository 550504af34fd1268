package gitlab

import (
	"net/http"
	"strconv"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
)

// RateLimited is the answer to a client that asks too often. The limit ends after
// wait, which is rounded up to seconds, by the server's clock.
func RateLimited(wait time.Duration) fault.Fault {
	seconds := strconv.Itoa(int((wait + time.Second - 1) / time.Second))
	return fault.Fault{
		Name: "rate limited", Status: http.StatusTooManyRequests, Body: "Retry later\n",
		Header: map[string]string{"Content-Type": "text/plain", "Retry-After": seconds, "RateLimit-Limit": "60", "RateLimit-Remaining": "0",
			"RateLimit-Observed": "61", "RateLimit-Name": "throttle_authenticated_packages_api"},
		Epoch: map[string]time.Duration{"RateLimit-Reset": wait},
	}
}

// Faults returns the faults of package fault and those of GitLab.
func Faults() []fault.Fault {
	return append(fault.Common(),
		RateLimited(0),
		fault.Fault{Name: "429 without a time", Status: http.StatusTooManyRequests, Body: "Retry later\n"},
		fault.Fault{Name: "wrong digest", Effect: fault.WrongDigest},
		fault.Fault{Name: "token expires", Effect: fault.ExpireToken},
		fault.Fault{Name: "handled twice", Twice: true},
	)
}
