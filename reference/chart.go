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

// ChartVersion returns the version that r selects from the versions in the chart's repository.
func (r Reference) ChartVersion(versions []string) (string, error) {
	if version, ok := LastVersion(versions, r.Ref); ok {
		return version, nil
	}
	if len(versions) == 0 {
		return "", fmt.Errorf("there is no chart %q in the repository", r.Path)
	}
	last, _ := LastVersion(versions, AnyVersion)
	return "", diag.Errorf(diag.Pos{}, "", "there is no version %q of the chart in the repository", r.Ref).
		Hint("the last one is %q", last)
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
	return Reference{}, errors.New("its repository does not say where it is")
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
		return a, fmt.Errorf("its repository says that it is at %q, which is no address", diag.Redact(address))
	}
	at.Fragment = ""
	a = Reference{Scheme: HTTPS, Location: at.String()}
	if digest = strings.TrimPrefix(digest, "sha256:"); digest != "" {
		if a.Pin, err = krm.ParseDigest("sha256:" + digest); err != nil {
			err = fmt.Errorf("its repository says that it has the digest %q, which is none", digest)
		}
	}
	return a, err
}
