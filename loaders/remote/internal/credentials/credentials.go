// Package credentials finds the registry credentials that docker and podman have stored.
package credentials

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A Credential is a stored credential for a registry: a name and a password, or an identity
// token, which is exchanged for access tokens.
type Credential struct {
	Name, Password, Identity string
}

// Basic returns the basic Authorization header; empty if there is neither a name nor a password.
func (c Credential) Basic() string {
	if c.Name == "" && c.Password == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Name+":"+c.Password))
}

// A credentialFile is the configuration file of docker or podman.
type credentialFile struct {
	Auths map[string]struct {
		Auth          string `json:"auth"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
	Helpers map[string]string `json:"credHelpers"`
	Store   string            `json:"credsStore"`
}

// Stored returns the credential for a repository from the files of podman and docker, in podman's
// order. The zero Credential means that there is none.
func Stored(ctx context.Context, host, repository string) (Credential, error) {
	for _, path := range credentialPaths() {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var file credentialFile
		if err := json.Unmarshal(data, &file); err != nil {
			return Credential{}, fmt.Errorf("%s cannot be read: not valid JSON", path)
		}
		if c, ok, err := file.find(ctx, host, repository); ok || err != nil {
			return c, err
		}
	}
	return Credential{}, nil
}

func credentialPaths() (paths []string) {
	add := func(dir, name string) {
		if dir != "" {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	home, _ := os.UserHomeDir()
	if file := os.Getenv("REGISTRY_AUTH_FILE"); file != "" {
		return []string{file}
	}
	add(os.Getenv("XDG_RUNTIME_DIR"), "containers/auth.json")
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	add(config, "containers/auth.json")
	docker := os.Getenv("DOCKER_CONFIG")
	if docker == "" && home != "" {
		docker = filepath.Join(home, ".docker")
	}
	add(docker, "config.json")
	return paths
}

// find returns the most specific credential: for the repository, a parent of it, or the host. A
// credential helper takes precedence.
func (f credentialFile) find(ctx context.Context, host, repository string) (Credential, bool, error) {
	if helper := cmp.Or(f.Helpers[host], f.Store); helper != "" {
		if c, ok, err := askHelper(ctx, helper, serverName(host)); ok || err != nil {
			return c, ok, err
		}
	}
	entries := map[string]string{} // key without scheme and version -> key
	for key := range f.Auths {
		entries[entryName(key)] = key
	}
	for name := host + "/" + repository; name != ""; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
		key, ok := entries[name]
		if !ok {
			continue
		}
		entry := f.Auths[key]
		text, err := base64.StdEncoding.DecodeString(entry.Auth)
		if err != nil {
			return Credential{}, false, fmt.Errorf("the stored credential for %s is not valid", name)
		}
		user, password, _ := strings.Cut(strings.TrimRight(string(text), "\x00"), ":")
		return Credential{Name: user, Password: password, Identity: entry.IdentityToken}, true, nil
	}
	return Credential{}, false, nil
}

// dockerHub is the key of Docker Hub in credential files.
const dockerHub = "https://index.docker.io/v1/"

func serverName(host string) string {
	if host == "docker.io" {
		return dockerHub
	}
	return host
}

// entryName returns the key of an entry without the scheme and the protocol version.
func entryName(key string) string {
	if key == dockerHub {
		return "docker.io"
	}
	_, rest, ok := strings.Cut(key, "://")
	if !ok {
		rest = key
	}
	rest = strings.TrimSuffix(rest, "/")
	rest = strings.TrimSuffix(strings.TrimSuffix(rest, "/v1"), "/v2")
	return rest
}

// askHelper asks the credential helper docker-credential-NAME.
func askHelper(ctx context.Context, name, server string) (c Credential, ok bool, err error) {
	if strings.ContainsAny(name, `/\`) {
		return c, false, fmt.Errorf("%q is not the name of a credential helper", name)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker-credential-"+name, "get")
	cmd.Stdin = strings.NewReader(server)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		if bytes.Contains(out, []byte("credentials not found")) {
			return c, false, nil
		}
		return c, false, fmt.Errorf("docker-credential-%s: %w", name, err)
	}
	var answer struct{ Username, Secret string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return c, false, fmt.Errorf("docker-credential-%s did not return valid JSON", name)
	}
	if answer.Username == "<token>" {
		return Credential{Identity: answer.Secret}, true, nil
	}
	return Credential{Name: answer.Username, Password: answer.Secret}, true, nil
}

// Challenge parses the name="value" pairs of an authentication challenge.
func Challenge(text string) map[string]string {
	m := map[string]string{}
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		if !ok {
			break
		}
		value := ""
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			value, rest, _ = strings.Cut(quoted, `"`)
			_, rest, _ = strings.Cut(rest, ",")
		} else {
			value, rest, _ = strings.Cut(rest, ",")
		}
		m[strings.ToLower(strings.Trim(name, " ,"))], text = value, rest
	}
	return m
}

// TokenRequest returns the request for an access token. With an identity token it is a POST
// request with a form, otherwise a GET request with a query.
func (c Credential) TokenRequest(ctx context.Context, realm *url.URL, form url.Values) (*http.Request, error) {
	if c.Identity != "" {
		form.Set("grant_type", "refresh_token")
		form.Set("client_id", "krmflow")
		form.Set("refresh_token", c.Identity)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, realm.String(), strings.NewReader(form.Encode()))
		if err == nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return req, err
	}
	query := realm.Query()
	for name := range form {
		query.Set(name, form.Get(name))
	}
	realm.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, realm.String(), nil)
	if basic := c.Basic(); err == nil && basic != "" {
		req.Header.Set("Authorization", basic)
	}
	return req, err
}
