package remote

import (
	"cmp"
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/krmflow/krmflow/loaders/git"
	"github.com/krmflow/krmflow/loaders/remote/internal/address"
	"github.com/krmflow/krmflow/reference"
)

// A gitRun runs git in a temporary repository for one reference.
type gitRun struct {
	*git.Git
	url     string // without credentials, because other users can see arguments
	retried func(attempt int, wait time.Duration)
	take    func(int64) error // adds received bytes to the total
	taken   int64             // bytes of the repository counted so far
}

// settings apply to every call.
var settings = []string{
	"-c", "core.symlinks=false", "-c", "submodule.recurse=false", "-c", "transfer.fsckObjects=true", "-c", "fetch.writeCommitGraph=false",
	"-c", "advice.detachedHead=false",
}

// git returns a gitRun for a reference.
func (s *Session) git(ctx context.Context, r reference.Reference, from Origin) (*gitRun, error) {
	g, err := newGit(ctx, r, from)
	if err == nil {
		g.retried, g.take = s.retried(r), s.take
	}
	return g, err
}

// newGit returns a gitRun for one call that reports neither retries nor received bytes.
func newGit(ctx context.Context, r reference.Reference, from Origin) (*gitRun, error) {
	run, err := git.New(settings...)
	if err != nil {
		return nil, notFetched(r, err, "git is not on PATH")
	}
	location, config, askpass := cutCredentials(r.Location)
	g := &gitRun{Git: run, url: location}
	g.Env = append(g.Env, "SSH_ASKPASS_REQUIRE=never")
	g.Inherit("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH")
	config = append([]string{"http.followRedirects", "initial"}, config...)
	if end, ok := ctx.Deadline(); ok { // if krmflow is killed, its git processes end soon after
		config = append(config, "http.lowSpeedLimit", "1", "http.lowSpeedTime", strconv.Itoa(int(time.Until(end)/time.Second)+1))
	}
	allowed := "https"
	if from == FromUser {
		g.Inherit("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")
		g.Inherit("HOME", "USERPROFILE", "USER", "LOGNAME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND",
			"GIT_SSH_VARIANT",
			"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME")
		allowed = "https:ssh:" + r.Protocol()
		config = append(git.UserConfig(), config...)
	} else {
		g.Env = append(g.Env, "HOME="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		way, err := publicWay(ctx, r, http.ProxyFromEnvironment)
		if err != nil {
			return nil, err
		}
		config = append(append(config, "http.followRedirects", "false"), way...)
	}
	if r.Direct {
		config = append(config, "http.followRedirects", "false")
	}
	g.Env = append(g.Env, "GIT_ASKPASS="+askpass, "GIT_ALLOW_PROTOCOL="+allowed)
	g.Configure(config)
	return g, nil
}

// cutCredentials returns a location without user and password, and the git settings that pass
// them instead. With a password, git does not follow redirects. askpass is the program that
// answers prompts of git: "true" returns an empty password for a user name that is a token, and
// "false" refuses.
func cutCredentials(location string) (rest string, config []string, askpass string) {
	u, err := url.Parse(location)
	if reference.IsShort(location) || err != nil || u.User == nil || u.Scheme == "ssh" {
		return location, nil, "false"
	}
	name := u.User.Username()
	password, ok := u.User.Password()
	u.User = nil
	if !ok {
		return u.String(), []string{"credential." + u.Scheme + "://" + u.Host + ".username", name}, "true"
	}
	header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
	return u.String(), []string{"http.extraHeader", header, "http.followRedirects", "false"}, "false"
}

// publicWay returns the git setting for connecting to the host of a reference in fetched content.
// It resolves the host, requires all addresses to be public, and pins git to one of them, so that
// a second lookup by git cannot return a private address. With a proxy, which resolves names
// itself, it returns the setting for the proxy. git must not read the proxy from the environment,
// because its rules could bypass both.
func publicWay(ctx context.Context, r reference.Reference, proxy func(*http.Request) (*url.URL, error)) ([]string, error) {
	u, err := url.Parse(r.Location)
	if err != nil {
		return nil, wrap(r, err)
	}
	switch p, err := proxy(&http.Request{URL: u}); {
	case err != nil:
		return nil, notFetched(r, err, "the proxy in the environment is not a valid address")
	case p != nil:
		return []string{"http.proxy", p.String()}, nil
	}
	addrs, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return nil, wrap(r, err)
	}
	for _, addr := range addrs {
		if err := address.CheckPublic(addr); err != nil {
			return nil, refused(r, "%s", err)
		}
	}
	addr := addrs[0]
	if strings.Contains(addr, ":") {
		addr = "[" + addr + "]"
	}
	return []string{"http.curloptResolve", u.Hostname() + ":" + cmp.Or(u.Port(), "443") + ":" + addr}, nil
}
