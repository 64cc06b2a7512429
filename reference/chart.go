package reference

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// parseChart parses REPOSITORY//NAME?version=VERSION. The repository is an https, http or oci
// URL.
func parseChart(text string) (Reference, error) {
	r := Reference{Scheme: Helm}
	address, query, _ := strings.Cut(text, "?")
	i := strings.LastIndex(address, "//")
	values, err := url.ParseQuery(query)
	if err != nil || i < 0 {
		return r, errors.New("it does not name a chart")
	}
	r.Location, r.Path, r.Ref = strings.TrimSuffix(address[:i], "/"), address[i+2:], values.Get("version")
	u, err := url.Parse(r.Location)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci" {
		return r, errors.New("the repository of a chart must be a URL with the scheme https, http or oci")
	}
	if path, ok := cleanPath(r.Path); !ok || path != r.Path || path == "" {
		return r, errors.New("the chart name is missing")
	}
	return r, nil
}

// ChartVersion returns the version that r selects from the versions in the chart's repository.
func (r Reference) ChartVersion(versions []string) (string, error) {
	if version, ok := LastVersion(versions, r.Ref); ok {
		return version, nil
	}
	if len(versions) == 0 {
		return "", fmt.Errorf("the repository has no chart %q", r.Path)
	}
	last, _ := LastVersion(versions, AnyVersion)
	return "", diag.Errorf(diag.Pos{}, "", "the repository has no version %q of the chart", r.Ref).
		Hint("the latest version is %q", last)
}

// InIndex returns a reference to the chart's archive, as listed in the repository's index.
func (r Reference) InIndex(index yaml.Value) (Reference, error) {
	entries := index.At("entries", r.Path).Items()
	var versions []string
	for _, e := range entries {
		versions = append(versions, e.Get("version").Text())
	}
	version, err := r.ChartVersion(versions)
	if err != nil {
		return Reference{}, err
	}
	for i, e := range entries {
		if urls := e.Get("urls").Items(); versions[i] == version && len(urls) > 0 {
			return r.archive(urls[0].Text(), e.Get("digest").Text())
		}
	}
	return Reference{}, errors.New("the repository lists no URL for this version of the chart")
}

// archive returns a reference to a chart's archive. The address may be relative to the
// repository's URL.
func (r Reference) archive(address, digest string) (a Reference, err error) {
	base, err := url.Parse(r.Location + "/")
	if err != nil {
		return a, err
	}
	at, err := base.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return a, fmt.Errorf("the repository lists %q as its URL, which is not valid", diag.Redact(address))
	}
	at.Fragment = ""
	a = Reference{Scheme: HTTPS, Location: at.String()}
	if digest = strings.TrimPrefix(digest, "sha256:"); digest != "" {
		if a.Pin, err = krm.ParseDigest("sha256:" + digest); err != nil {
			err = fmt.Errorf("the repository lists %q as its digest, which is not valid", digest)
		}
	}
	return a, err
}
