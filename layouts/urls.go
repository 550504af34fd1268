package layouts

import (
	"errors"
	"net/url"
	"strings"
)

// urlProblem is why a provider URL does not work. Rule is the ID of the lint rule that
// states it, empty if there is no problem.
type urlProblem struct{ Rule, Message, Help string }

// URLProblem takes the URL of the provider apart as clusterctl does, and says why
// clusterctl does not find the release with it.
func (p Provider) URLProblem(raw string) (Location, urlProblem) {
	l, err := ParseProviderURL(raw, p)
	u, urlErr := url.Parse(raw)
	var refused *URLError
	if errors.As(err, &refused) {
		rule := "REPO012"
		if urlErr == nil {
			rule = ruleOf(u, p, raw)
		}
		return l, urlProblem{rule, refused.Message, refused.Help}
	}
	switch l.Kind {
	case Local:
		switch {
		case l.File == "":
			return l, urlProblem{"REPO006", "the URL ends with a slash; the name of the components file is missing", ""}
		case u.Host != "" && u.Host != "localhost":
			return l, urlProblem{"REPO006", "clusterctl reads " + u.Host + " as a host name and ignores it; the path is " + u.Path, "Write three slashes: file:///" + u.Host + u.Path + "."}
		}
		return l, urlProblem{}
	case GitHub:
		if sound, ok := l.withoutDownload(); ok {
			return l, urlProblem{"REPO009", raw + " is a download link, not the URL of a release", "Use " + sound.URL() + "."}
		}
		if l.Version == Latest {
			return l, urlProblem{}
		}
	case GitLab:
		if l.Version == Latest {
			return l, urlProblem{"REPO011", "on GitLab clusterctl treats latest as a version and does not look for the newest one", ""}
		}
		if strings.Trim(l.Project, "0123456789") != "" && !strings.Contains(strings.ToUpper(l.Project), "%2F") {
			return l, urlProblem{"REPO010", "the project " + l.Project + " is neither a number nor a path with its group", ""}
		}
	}
	if _, err := ParseVersion(l.Version); err != nil {
		return l, urlProblem{"REPO001", err.Error(), ""}
	}
	return l, urlProblem{}
}

// ruleOf says which rule a URL breaks that clusterctl refuses.
func ruleOf(u *url.URL, p Provider, raw string) string {
	host := strings.ToLower(u.Host)
	switch {
	case u.Scheme == "https" && strings.Contains(host, "github"):
		return "REPO009"
	case u.Scheme == "https" && (strings.Contains(host, "gitlab") || strings.Contains(u.Path, "/api/v4/")):
		return "REPO010"
	case u.Scheme != "file" && u.Scheme != "":
		return "REPO012"
	case !strings.HasPrefix(u.Path, "/"), strings.Contains(u.Path, "/./"), strings.Contains(u.Path, "/../"):
		return "REPO006"
	case strings.Contains(raw, "/"+p.Label()+"/"):
		return "REPO001" // the folder is right, so it must be the version
	}
	return "REPO005"
}
