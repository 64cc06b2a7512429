package shared

import (
	"cmp"
	"encoding/base64"
	"net"
	"net/url"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// An address is the parsed address of a server.
type address struct {
	scheme, host, port string
	// path has no leading or trailing slash. For gRPC it is the instance name.
	path string
	// basic is the Authorization header for the user and password in the address, or empty.
	basic     string
	http, tls bool
}

var schemes = map[string]struct {
	port      string
	http, tls bool
}{"grpc": {"80", false, false}, "grpcs": {"443", false, true}, "http": {"80", true, false}, "https": {"443", true, true}}

func parseAddress(text string) (address, error) {
	bad := func(why string) error {
		e := diag.Errorf(diag.Pos{}, "", "the address of the shared cache, %q, %s", diag.Redact(text), why).With(diag.FlagValue)
		return e.Hint("for example grpcs://cache.example.com:9092/team, or https://cache.example.com")
	}
	u, err := url.Parse(text)
	if err != nil {
		return address{}, bad("is not a valid address")
	}
	s, ok := schemes[u.Scheme]
	switch {
	case !ok || u.Opaque != "":
		return address{}, bad("must begin with grpc://, grpcs://, http:// or https://")
	case u.Hostname() == "":
		return address{}, bad("has no host")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return address{}, bad("must not have a query or a fragment")
	}
	a := address{scheme: u.Scheme, host: u.Hostname(), port: cmp.Or(u.Port(), s.port), path: strings.Trim(u.Path, "/"), http: s.http,
		tls: s.tls}
	if u.User != nil {
		password, _ := u.User.Password()
		a.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	return a, nil
}

// plain reports whether the connection does not use TLS.
func (a address) plain() bool { return !a.tls }

// loopback reports whether the server is on this machine.
func (a address) loopback() bool {
	ip := net.ParseIP(a.host)
	return a.host == "localhost" || ip != nil && ip.IsLoopback()
}

// hostPort returns the address to connect to.
func (a address) hostPort() string { return net.JoinHostPort(a.host, a.port) }

// shown returns the address without user and password.
func (a address) shown() string {
	u := url.URL{Scheme: a.scheme, Host: a.hostPort()}
	if a.path != "" {
		u.Path = "/" + a.path
	}
	return diag.Redact(u.String())
}
