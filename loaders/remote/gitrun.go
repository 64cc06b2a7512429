package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/detach"
	"github.com/krmflow/krmflow/loaders/remote/address"
	"github.com/krmflow/krmflow/reference"
)

// A gitRun runs the git program in one repository of its own, for one reference.
type gitRun struct {
	program string
	url     string // without credentials: other users see the arguments of a program
	env     []string
	dir     string // of the repository; empty if there is none
	retried func(attempt int, wait time.Duration)
	take    func(int64) error // counts what comes
	taken   int64             // of the repository
}

// settings hold for every call. Whatever a repository or the user's configuration say, git starts no program for them.
var settings = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.symlinks=false", "-c", "submodule.recurse=false",
	"-c", "transfer.fsckObjects=true", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "fetch.writeCommitGraph=false", "-c", "advice.detachedHead=false",
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
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, notFetched(r, err, "the program git is not on PATH")
	}
	location, config, askpass := cutCredentials(r.Location)
	g := &gitRun{program: program, url: location}
	g.env = []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1"}
	g.inherit("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH")
	config = append([]string{"http.followRedirects", "initial"}, config...)
	if end, ok := ctx.Deadline(); ok { // if krmflow is killed, what git has started ends soon, too
		config = append(config, "http.lowSpeedLimit", "1", "http.lowSpeedTime", strconv.Itoa(int(time.Until(end)/time.Second)+1))
	}
	allowed := "https"
	if from == FromUser {
		g.inherit("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")
		g.inherit("HOME", "USERPROFILE", "USER", "LOGNAME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT",
			"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME")
		allowed = "https:ssh:" + r.Protocol()
		config = append(g.userConfig(), config...)
	} else {
		g.env = append(g.env, "HOME="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		way, err := publicWay(ctx, r, http.ProxyFromEnvironment)
		if err != nil {
			return nil, err
		}
		config = append(append(config, "http.followRedirects", "false"), way...)
	}
	g.env = append(g.env, "GIT_ASKPASS="+askpass, "GIT_ALLOW_PROTOCOL="+allowed, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)/2))
	for i := 0; i < len(config); i += 2 {
		g.env = append(g.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, config[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, config[i+1]))
	}
	return g, nil
}

func (g *gitRun) inherit(names ...string) {
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			g.env = append(g.env, name+"="+value)
		}
	}
}

// userConfig returns the settings that the user's environment has, name and value in turn.
func (g *gitRun) userConfig() (config []string) {
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	for i := range min(n, 1000) {
		config = append(config, os.Getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i)), os.Getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)))
	}
	return config
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

// maxGitOutput bounds what one call may print, in bytes.
const maxGitOutput = 64 << 20

// errLong says that git prints more than anybody needs.
var errLong = errors.New("git prints too much")

// run calls git and returns what it prints.
func (g *gitRun) run(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := g.stream(ctx, nil, func(r io.Reader) error {
		if _, err := io.Copy(&out, io.LimitReader(r, maxGitOutput+1)); err != nil {
			return err
		}
		if out.Len() > maxGitOutput {
			return errLong
		}
		return nil
	}, args...)
	return out.Bytes(), err
}

// stream calls git, gives it input and gives what it prints to read. If read fails, git is ended. The error has what git said.
func (g *gitRun) stream(ctx context.Context, input io.Reader, read func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, slices.Concat(settings, args)...)
	cmd.Env, cmd.Stdin = g.env, input
	if g.dir != "" {
		cmd.Dir, cmd.Env = g.dir, append(slices.Clip(cmd.Env), "GIT_DIR="+g.dir)
	}
	stderr := &tail{max: 4096}
	cmd.Stderr = stderr
	cmd.WaitDelay = 2 * time.Second
	detach.Command(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	// The program ends with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	errRead := read(out)
	if errRead != nil {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case context.Cause(ctx) != nil && errRead == nil:
		return context.Cause(ctx)
	case errRead != nil && (stderr.Len() == 0 || errors.Is(errRead, diag.ErrLimit) || errors.Is(errRead, errLong)):
		return errRead
	case err != nil:
		return &gitError{text: g.said(stderr.String()), err: err}
	}
	return errRead
}

// A gitError says how a call of git failed.
type gitError struct {
	text string
	err  error
}

func (e *gitError) Error() string { return cmp.Or(e.text, e.err.Error()) }
func (e *gitError) Unwrap() error { return e.err }

// said returns what git wrote on stderr, in one line and without credentials.
func (g *gitRun) said(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal: ", "error: ", "remote: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line == "Could not read from remote repository." {
			break // general advice follows
		}
		if strings.HasPrefix(line, "unable to read askpass response") { // nobody was to be asked
			continue
		}
		if line != "" && !strings.HasPrefix(line, "warning: ") && !strings.HasPrefix(line, "hint: ") && len(lines) < 4 {
			lines = append(lines, strings.TrimSuffix(hideUsers(line), "."))
		}
	}
	return diag.Sanitise(strings.Join(lines, "; "))
}

// hideUsers removes user and password from the URLs in a text.
func hideUsers(text string) string {
	before, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	end := strings.IndexAny(rest, "/' \"")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	return before + "://" + host[strings.LastIndexByte(host, '@')+1:] + hideUsers(rest[end:])
}

// tail keeps the first bytes that are written to it.
type tail struct {
	bytes.Buffer
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p[:min(len(p), max(0, t.max-t.Len()))])
	return len(p), nil
}
