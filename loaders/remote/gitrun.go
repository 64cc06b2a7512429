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

// A gitRun runs the git program in one repository of its own, for one reference.
type gitRun struct {
	*git.Git
	url     string // without credentials: other users see the arguments of a program
	retried func(attempt int, wait time.Duration)
	take    func(int64) error // counts what comes
	taken   int64             // of the repository
}

// settings hold for every call.
var settings = []string{
	"-c", "core.symlinks=false", "-c", "submodule.recurse=false", "-c", "transfer.fsckObjects=true", "-c", "fetch.writeCommitGraph=false", "-c", "advice.detachedHead=false",
}

// git returns what runs git for a reference.
func (s *Session) git(ctx context.Context, r reference.Reference, from Origin) (*gitRun, error) {
	g, err := newGit(ctx, r, from)
	if err == nil {
		g.retried, g.take = s.retried(r), s.take
	}
	return g, err
}

// newGit returns what runs git once: nobody is told about retries.
func newGit(ctx context.Context, r reference.Reference, from Origin) (*gitRun, error) {
	run, err := git.New(settings...)
	if err != nil {
		return nil, notFetched(r, err, "the program git is not on PATH")
	}
	location, config, askpass := cutCredentials(r.Location)
	g := &gitRun{Git: run, url: location}
	g.Env = append(g.Env, "SSH_ASKPASS_REQUIRE=never")
	g.Inherit("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH")
	config = append([]string{"http.followRedirects", "initial"}, config...)
	if end, ok := ctx.Deadline(); ok { // if krmflow is killed, what git has started ends soon, too
		config = append(config, "http.lowSpeedLimit", "1", "http.lowSpeedTime", strconv.Itoa(int(time.Until(end)/time.Second)+1))
	}
	allowed := "https"
	if from == FromUser {
		g.Inherit("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")
		g.Inherit("HOME", "USERPROFILE", "USER", "LOGNAME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT",
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

// cutCredentials returns a location without user and password and the settings that hand these to git, which follows no redirection
// with a password. askpass is the program that answers when git asks for more: with nothing for a token that needs no password.
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

// publicWay returns the setting that decides how git reaches the host of a reference: at one of its addresses, all of which must be public,
// or by a proxy, which looks names up itself. What git would find in the environment does not count, or it could go round both.
func publicWay(ctx context.Context, r reference.Reference, proxy func(*http.Request) (*url.URL, error)) ([]string, error) {
	u, err := url.Parse(r.Location)
	if err != nil {
		return nil, wrap(r, err)
	}
	switch p, err := proxy(&http.Request{URL: u}); {
	case err != nil:
		return nil, notFetched(r, err, "the proxy that the environment names is no valid address")
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
