package reference

import (
	"errors"
	"net/url"
	"strings"
)

// parseChart reads REPOSITORY//NAME?version=VERSION. The repository is a URL with the scheme https, http or oci.
func parseChart(text string) (Reference, error) {
	r := Reference{Scheme: Helm}
	address, query, _ := strings.Cut(text, "?")
	i := strings.LastIndex(address, "//")
	values, err := url.ParseQuery(query)
	if err != nil || i < 0 {
		return r, errors.New("it names no chart")
	}
	r.Location, r.Path, r.Ref = strings.TrimSuffix(address[:i], "/"), address[i+2:], values.Get("version")
	u, err := url.Parse(r.Location)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci" {
		return r, errors.New("the repository of a chart is a URL with the scheme https, http or oci")
	}
	if path, ok := cleanPath(r.Path); !ok || path != r.Path || path == "" {
		return r, errors.New("it has no name of a chart")
	}
	return r, nil
}
