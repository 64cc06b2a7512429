package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getsops/sops/v3/azkv"
	"github.com/getsops/sops/v3/gcpkms"
	"github.com/getsops/sops/v3/hckms"
	"github.com/getsops/sops/v3/hcvault"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/kms"
)

// requests records the requests to a server.
type requests struct {
	sync.Mutex
	list []string
}

func (r *requests) add(text string) {
	r.Lock()
	defer r.Unlock()
	r.list = append(r.list, text)
}

func (r *requests) take() []string {
	r.Lock()
	defer r.Unlock()
	list := r.list
	r.list = nil
	return list
}

// transit serves the secrets engine transit of Vault, whose keys encrypt nothing.
func transit(t *testing.T) (*httptest.Server, *requests) {
	seen := &requests{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.add(r.URL.Path + " " + r.Header.Get("X-Vault-Token"))
		field := func(name string) string {
			_, text, _ := strings.Cut(string(body), `"`+name+`":"`)
			text, _, _ = strings.Cut(text, `"`)
			return text
		}
		if strings.Contains(r.URL.Path, "/encrypt/") {
			fmt.Fprintf(w, `{"data": {"ciphertext": "vault:v1:%s"}}`, field("plaintext"))
			return
		}
		fmt.Fprintf(w, `{"data": {"plaintext": "%s"}}`, strings.TrimPrefix(field("ciphertext"), "vault:v1:"))
	}))
	t.Cleanup(s.Close)
	return s, seen
}

// TestVaultAddress checks that VAULT_TOKEN reaches no server that a file selects.
func TestVaultAddress(t *testing.T) {
	noKeys(t)
	good, seen := transit(t)
	evil, stolen := transit(t)
	t.Setenv("VAULT_TOKEN", "token-"+canary)
	config := generatorOf + "files: [a]\n"
	x := &tree{T: t, dir: t.TempDir(), key: "token-" + canary}
	x.to = []keys.MasterKey{hcvault.NewMasterKey(good.URL, "transit", "app")}
	x.encrypt("a", canary)
	seen.take()
	file := x.read("a")

	// Without VAULT_ADDR, no server.
	t.Setenv("VAULT_ADDR", "")
	x.fails(config, "a: missing key: no private key was given", "VAULT_ADDR is not set")
	t.Setenv("VAULT_ADDR", good.URL)
	for _, address := range []string{good.URL, good.URL + "/", strings.ToUpper(good.URL[:4]) + good.URL[4:]} {
		x.write("a", strings.Replace(file, good.URL, address, 1))
		stdout, stderr, code := x.call(config)
		if code != 0 || !strings.Contains(stdout, b64(canary)) {
			t.Errorf("%s: %s", address, stderr)
		}
		if got := seen.take(); !slices.Equal(got, []string{"/v1/transit/decrypt/app token-" + canary}) {
			t.Errorf("%s: %q", address, got)
		}
	}
	port := func(s *httptest.Server) string {
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		return port
	}
	for _, address := range []string{
		evil.URL, "http://localhost:" + port(evil), "http://localhost:" + port(good), strings.Replace(good.URL, "http:", "https:", 1),
		"http://127.0.0.1", good.URL + "@" + evil.Listener.Addr().String(), "http://u@" + good.Listener.Addr().String(),
		good.URL + "/evil", good.URL + "/../x", good.URL + "?x=y", good.URL + "?", good.URL + "#x", " " + good.URL, "",
		"//" + good.Listener.Addr().String(),
		"unix:///tmp/socket", evil.URL + "#" + good.URL, evil.URL + `\\@` + good.Listener.Addr().String(),
	} {
		x.write("a", strings.Replace(file, good.URL, address, 1))
		x.fails(config, "a: refused key: a file does not select where credentials are sent\n  encrypted for Vault ",
			"the address differs from VAULT_ADDR, the only server that gets VAULT_TOKEN")
	}
	// A path that Vault would read as a different operation.
	for _, replace := range [][2]string{
		{`"transit"`, `"secret/data/x/../.."`}, {`"transit"`, `""`}, {`"transit"`, `"transit/"`}, {`"transit"`, `"a?b"`},
		{`"transit"`, `"a%2fb"`},
		{`"app"`, `"../../auth/token/create"`}, {`"app"`, `".."`}, {`"app"`, `"a/b"`}, {`"app"`, `""`}, {`"app"`, `"a#b"`},
	} {
		text := strings.Replace(file, replace[0], replace[1], 1)
		if text == file {
			t.Fatal(file)
		}
		x.write("a", text)
		x.fails(config, "refused key: ", "the engine_path or the key_name is not a name in Vault")
	}
	x.write("a", file)
	for _, address := range []string{"vault", "unix:///x", "http://", "https://u:p@x"} {
		t.Setenv("VAULT_ADDR", address)
		x.fails(config, "refused key: ", "VAULT_ADDR is not an address of the form https://HOST:PORT")
	}
	if got := append(seen.take(), stolen.take()...); len(got) > 0 {
		t.Errorf("requests: %q", got)
	}
}

func TestServer(t *testing.T) {
	for _, c := range [][2]string{
		{"https://v", "https://v:443"}, {"https://V:443/", "https://v:443"}, {"http://v", "http://v:80"}, {"HTTPS://v:8200", "https://v:8200"},
		{"https://[::1]:1", "https://[::1]:1"}, {"https://v/p/", "https://v:443/p"}, {"https://v./", "https://v.:443"}, {"https://v%2e", ""},
		{"ftp://v", ""}, {"v:8200", ""}, {"https:v", ""}, {"https:///v", ""}, {"https://u@v", ""}, {"https://v?", ""}, {"https://v#a", ""},
	} {
		if got, ok := server(c[0]); got != c[1] || ok != (got != "") {
			t.Errorf("%s: %q, %v", c[0], got, ok)
		}
	}
}

// TestRefusals checks keys of the other services.
func TestRefusals(t *testing.T) {
	t.Setenv("AWS_PROFILE", "mine")
	const id = "00000000-0000-0000-0000-000000000000"
	arn := func(region string) keys.MasterKey {
		return kms.NewMasterKeyFromArn("arn:aws:kms:"+region+":123456789012:key/"+id, nil, "")
	}
	role := func(role string) keys.MasterKey {
		return kms.NewMasterKey("arn:aws:kms:eu-west-1:123456789012:key/"+id, role, nil)
	}
	profile := func(profile string) keys.MasterKey {
		return kms.NewMasterKeyFromArn("arn:aws:kms:eu-west-1:123456789012:key/"+id, nil, profile)
	}
	vault := func(url string) keys.MasterKey { return azkv.NewMasterKey(url, "key", id[:8]) }
	huawei := func(id string) keys.MasterKey { return &hckms.MasterKey{KeyID: id} }
	for i, c := range []struct {
		key  keys.MasterKey
		want string
	}{
		{arn("eu-west-1"), ""}, {arn("us-gov-west-1"), ""}, {arn("cn-north-1"), ""}, {arn("eusc-de-east-1"), ""},
		{arn("us-isob-east-1"), ""},
		{arn("x.evil.example/"), "the ARN"}, {arn("evil.example:1"), "the ARN"}, {arn("eu-west-1.evil.example"), "the ARN"},
		{arn("eu-west-1@evil.example"), "the ARN"}, {arn("eu-west-1#"), "the ARN"}, {arn(""), "the ARN"}, {arn("eu-west-1\n"), "the ARN"},
		{kms.NewMasterKeyFromArn("arn:aws-cn:kms:cn-north-1:1:alias/a/b_c", nil, ""), ""},
		{kms.NewMasterKeyFromArn("arn:aws:sts:eu-west-1:1:key/a", nil, ""), "the ARN"},
		{role("arn:aws:iam::123456789012:role/path/Name+=,.@-_"), ""}, {role("evil"), "the role"},
		{role("arn:aws:iam::1:user/a"), "the role"},
		{profile("mine"), ""}, {profile("other"), "aws_profile"},
		{vault("https://x.vault.azure.net"), ""}, {vault("https://X.Vault.Azure.NET/"), ""}, {vault("https://x.vault.azure.cn:443"), ""},
		{vault("https://x.managedhsm.azure.net"), ""},
		{vault("http://x.vault.azure.net"), "the vault_url"}, {vault("https://evil.example"), "the vault_url"},
		{vault("https://vault.azure.net"), "the vault_url"},
		{vault("https://.vault.azure.net"), "the vault_url"}, {vault("https://evilvault.azure.net"), "the vault_url"},
		{vault("https://x.y.vault.azure.net"), "the vault_url"},
		{vault("https://x.vault.azure.net.evil.example"), "the vault_url"}, {vault("https://evil.example/.vault.azure.net"), "the vault_url"},
		{vault("https://evil.example#.vault.azure.net"), "the vault_url"}, {vault("https://evil.example?.vault.azure.net"), "the vault_url"},
		{vault("https://x.vault.azure.net@evil.example"), "the vault_url"}, {vault("https://x.vault.azure.net:8443"), "the vault_url"},
		{vault("https://x.vault.azure.net/evil"), "the vault_url"}, {vault("https://x.vault.azure.net/evil:443"), "the vault_url"},
		{vault(""), "the vault_url"}, {vault("x.vault.azure.net"), "the vault_url"},
		{azkv.NewMasterKey("https://x.vault.azure.net", "key", ""), ""}, {azkv.NewMasterKey("https://x.vault.azure.net", "../a", ""), "the name"},
		{azkv.NewMasterKey("https://x.vault.azure.net", "a", "a/b"), "the name"},
		{gcpkms.NewMasterKeyFromResourceID("projects/example.com:p/locations/global/keyRings/r/cryptoKeys/k"), ""},
		{gcpkms.NewMasterKeyFromResourceID("projects/p/locations/g?x/keyRings/r/cryptoKeys/k"), "the resource ID"},
		{gcpkms.NewMasterKeyFromResourceID("https://evil.example"), "the resource ID"},
		{huawei("tr-west-1:" + id), ""}, {huawei("evil.example/:" + id), "the key ID"}, {huawei("a"), "the key ID"},
	} {
		k := keyservice.KeyFromMasterKey(c.key)
		got := refusal(&k)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%d: %s: %q, want %q", i, c.key.ToString(), got, c.want)
		}
	}
	if got := refusal(&keyservice.Key{}); got != "" {
		t.Error(got)
	}
}

// proxy records the hosts of connections, and makes none.
func proxy(t *testing.T) (string, *requests) {
	seen := &requests{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.Method + " " + r.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

// TestNoRequests checks that the clients of the services connect to no host that a file selects,
// even to get a token. The program itself runs: it reads the proxy once.
func TestNoRequests(t *testing.T) {
	x := newTree(t)
	x.encrypt("a", canary)
	file := x.read("a")
	address, seen := proxy(t)
	token := filepath.Join(t.TempDir(), "token")
	os.WriteFile(token, []byte("token-"+canary), 0o600)
	os.Unsetenv("SOPS_AGE_KEY")
	for name, value := range map[string]string{
		"HTTPS_PROXY": address, "HTTP_PROXY": address, "AWS_MAX_ATTEMPTS": "1",
		"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/mine",
		"AZURE_CLIENT_ID": "id", "AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_SECRET": canary,
		"VAULT_ADDR": "https://vault.example", "VAULT_TOKEN": canary, "VAULT_MAX_RETRIES": "0",
	} {
		t.Setenv(name, value)
	}
	const end = `, "created_at": "2026-01-01T00:00:00Z", "enc": "AAAA"}], "age": [`
	aws := `"kms": [{"arn": "arn:aws:kms:%s:123456789012:key/a", "aws_profile": ""` + end
	azure := `"azure_kv": [{"vault_url": "https://%s", "name": "a", "version": "b"` + end
	vault := `"hc_vault": [{"vault_address": "https://%s", "engine_path": "a", "key_name": "b"` + end
	for _, c := range []struct{ form, value, want string }{
		{aws, "eu-west-1", "CONNECT sts.eu-west-1.amazonaws.com:443"}, {aws, "x.evil.example/", ""}, {aws, "evil.example:443/", ""},
		{vault, "vault.example", "CONNECT vault.example:443"}, {vault, "evil.example", ""},
		{azure, "evil.example", ""}, {azure, "x.vault.azure.net.evil.example", ""},
	} {
		x.write("a", strings.Replace(file, `"age": [`, fmt.Sprintf(c.form, c.value), 1))
		_, stderr, err := x.process(generatorOf + "files: [a]\n")
		message := "a: wrong key"
		if c.want == "" {
			message = "a: refused key"
		}
		if err == nil || strings.Contains(stderr, canary) || !strings.Contains(stderr, message) {
			t.Errorf("%s: %v, %s", c.value, err, stderr)
		}
		got := slices.Compact(seen.take())
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
			t.Errorf("%s: %q", c.value, got)
		}
	}
}

// TestHome checks that a tree cannot contain the configuration of a client.
func TestHome(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree, home := filepath.Join(dir, "tree"), filepath.Join(dir, "home")
	os.MkdirAll(filepath.Join(tree, "sub"), 0o777)
	os.Mkdir(home, 0o777)
	os.Symlink(tree, filepath.Join(dir, "link"))
	for _, c := range [][2]string{
		{home, home}, {dir, dir}, {filepath.Join(dir, "tree2"), filepath.Join(dir, "tree2")},
		{tree, "/nonexistent"}, {filepath.Join(tree, "sub"), "/nonexistent"}, {filepath.Join(dir, "link"), "/nonexistent"},
		{filepath.Join(dir, "link", "none"), filepath.Join(dir, "link", "none")},
		{"", "/nonexistent"}, {".", "/nonexistent"}, {"home", "/nonexistent"},
	} {
		t.Setenv("HOME", c[0])
		t.Setenv("AWS_CONFIG_FILE", "")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "")
		if err := keepHome(filepath.Join(dir, "link")); err != nil || os.Getenv("HOME") != c[1] {
			t.Errorf("%s: %s, %v", c[0], os.Getenv("HOME"), err)
		}
	}

	os.Unsetenv("AWS_CONFIG_FILE")
	os.Unsetenv("AWS_SHARED_CREDENTIALS_FILE")
	x := newTree(t)
	x.encrypt("a", canary)
	text := x.read("a")
	address, seen := proxy(t)
	x.write("a", strings.Replace(text, `"age": [`,
		`"kms": [{"arn": "arn:aws:kms:eu-west-1:123456789012:key/a", "aws_profile": "", "created_at": "2026-01-01T00:00:00Z", "enc": "AAAA"}],
		"age": [`, 1))
	x.write(".aws/config", "[default]\nendpoint_url = "+address+"\n")
	os.Unsetenv("SOPS_AGE_KEY")
	for name, value := range map[string]string{"AWS_MAX_ATTEMPTS": "1", "HTTPS_PROXY": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "id",
		"AWS_SECRET_ACCESS_KEY": canary, "AWS_SESSION_TOKEN": canary} {
		t.Setenv(name, value)
	}
	for _, home := range []string{x.dir, ""} {
		t.Setenv("HOME", home)
		if _, stderr, err := x.process(generatorOf + "files: [a]\n"); err == nil || strings.Contains(stderr, canary) {
			t.Errorf("%v, %s", err, stderr)
		}
		if got := seen.take(); len(got) > 0 {
			t.Errorf("HOME=%s: %q", home, got)
		}
	}
}

// TestDirectory checks that the files of a directory get no decrypted Secret.
func TestDirectory(t *testing.T) {
	x := newTree(t)
	x.encrypt("a", canary)
	config := generatorOf + "files: [a]\n"
	list := func(items, config string) string {
		return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n" + items + "functionConfig:\n" + indented(config)
	}
	item := func(annotation string) string {
		return "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {" + annotation + "}}}\n"
	}
	place := strings.Replace(config, "{name: app}", "{name: app, annotations: {config.kubernetes.io/path: s.yaml}}", 1)
	local := strings.Replace(config, "{name: app}", "{annotations: {config.kubernetes.io/local-config: 'true'}, name: app}", 1)
	for _, l := range []string{
		list("items:\n"+item("config.kubernetes.io/path: a.yaml"), config),
		list("items:\n"+item("internal.config.kubernetes.io/path: a.yaml"), config),
		list("items:\n"+item("a: b")+item("config.kubernetes.io/path: a.yaml"), config), list("items:\n-"+indented(place)[1:], config),
		list("items: []\n", config), list("items: null\n", config), list("", config),
	} {
		stdout, stderr, code := x.callList(l)
		if code != 1 || stdout != "" || !strings.HasPrefix(stderr,
			"decrypted Secrets are not written into the files of a directory\n  list the configuration in generators") {
			t.Errorf("exit code %d, %s\n%s\n%s", code, stderr, stdout, l)
		}
	}
	for _, l := range []string{
		list("items:\n-"+indented(config)[1:], config), list("items: []\n", local), list("items:\n"+item("a: b"), config),
	} {
		if stdout, stderr, code := x.callList(l); code != 0 || !strings.Contains(stdout, b64(canary)) {
			t.Errorf("exit code %d, %s\n%s", code, stderr, l)
		}
	}
	// Among other resources, the configuration is a resource as well.
	stdout, stderr, code := x.callList(list("items:\n"+item("a: b")+"-"+indented(config)[1:], config))
	if code != 0 || !strings.Contains(stdout, "kind: SopsSecretGenerator\n") {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
}
