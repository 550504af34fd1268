package github

import (
	"net/http"
	"strconv"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
)

// PrimaryLimit is the answer to a client that used up its requests of this hour.
// Status is 403 or 429; the limit ends after wait, by the server's clock.
func PrimaryLimit(status int, wait time.Duration) fault.Fault {
	return fault.Fault{
		Name: "primary limit " + strconv.Itoa(status), Status: status,
		Header: map[string]string{"Content-Type": "application/json; charset=utf-8", "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0",
			"X-RateLimit-Used": "5000", "X-RateLimit-Resource": "core"},
		Epoch: map[string]time.Duration{"X-RateLimit-Reset": wait},
		Body:  `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"}`,
	}
}

// SecondaryLimit is the answer to a client that does too much at once. Status is
// 403 or 429. Without retryAfter, in seconds, the server does not say how long to
// wait.
func SecondaryLimit(status int, retryAfter string) fault.Fault {
	f := fault.Fault{
		Name: "secondary limit " + strconv.Itoa(status), Status: status,
		Header: map[string]string{"Content-Type": "application/json; charset=utf-8"},
		Body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",` +
			`"documentation_url":"https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`,
	}
	if retryAfter == "" {
		f.Name += " without a time"
	} else {
		f.Header["Retry-After"] = retryAfter
	}
	return f
}

// Faults returns the faults of package fault and those of GitHub. Limits say that
// they are over at once, except the one that says nothing.
func Faults() []fault.Fault {
	return append(fault.Common(),
		PrimaryLimit(http.StatusForbidden, 0),
		PrimaryLimit(http.StatusTooManyRequests, 0),
		SecondaryLimit(http.StatusForbidden, "0"),
		SecondaryLimit(http.StatusTooManyRequests, "0"),
		SecondaryLimit(http.StatusForbidden, ""),
		fault.Fault{Name: "starter left", Effect: fault.Starter},
		fault.Fault{Name: "wrong digest", Effect: fault.WrongDigest},
		fault.Fault{Name: "token expires", Effect: fault.ExpireToken},
		fault.Fault{Name: "handled twice", Twice: true},
	)
}
