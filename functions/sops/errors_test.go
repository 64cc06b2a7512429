package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/cmd/sops/formats"
)

const ksopsOf = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\n"

// TestFileErrors damages encrypted files. x.fails checks that no message contains a value.
func TestFileErrors(t *testing.T) {
	x := newTree(t)
	whole := encrypt(t, "a.yaml", secretYAML, x.to)
	data := encrypt(t, "a.yaml", secretYAML, x.to, encryptedRegex(onlyData))
	vars := encrypt(t, "a.env", "A=1\nB="+canary+"\n", x.to)
	cipher := regexp.MustCompile(`password: ENC\S*`).FindString(data)
	for _, c := range []struct{ title, file, text, config, want string }{
		{"not encrypted", "a.yaml", secretYAML, "", "a.yaml: not encrypted with sops\n  encrypt it: sops encrypt --in-place a.yaml"},
		{"not encrypted, dotenv", "a.env", "A=" + canary + "\n", generatorOf + "envs: [a.env]\n", "a.env: not encrypted with sops"},
		{"not encrypted, json", "a.json", `{"a": "` + canary + `"}`, "", "a.json: not encrypted with sops"},
		{"not encrypted, binary", "a", canary, "", "a: not encrypted with sops"},
		{"not encrypted, binary JSON", "a", `{"data": "` + canary + `"}`, "", "a: not encrypted with sops"},
		{"wrong name", "a.enc", data, "", "its name selects the format binary"},
		{"no dotenv", "a.env", canary + "\n", generatorOf + "envs: [a.env]\n", "a.env: the encrypted file is not valid dotenv"},
		{"no JSON", "a.json", canary, "", "a.json: the encrypted file is not valid JSON"},
		{"no INI", "a.ini", "[" + canary, generatorOf + "files: [a.ini]\n", "a.ini: the encrypted file is not valid INI"},
		{"no YAML", "a.yaml", "a: [" + canary + "\nb: }\n", "", "a.yaml: invalid YAML near line"},
		{"empty", "a.yaml", "", "", "a.yaml: not encrypted with sops"},
		{"a list", "a.yaml", "- " + canary + "\n", "", "a.yaml: "},
		{"an alias", "a.yaml", "a: &a [1]\nb: *a\n" + data, "", "a.yaml: line 2: an alias"},
		{"a changed value", "a.yaml", strings.Replace(data, cipher, strings.Replace(cipher, "data:", "data:AAAA", 1), 1), "",
			"a.yaml: the value at stringData.password cannot be decrypted: it was changed"},
		{"a moved value", "a.yaml", strings.Replace(data, "password:", "passwort:", 1), "", "a.yaml: the value at stringData.passwort cannot be decrypted"},
		{"a removed value", "a.yaml", strings.Replace(data, cipher, "x: \"\"", 1), "",
			"a.yaml: MAC mismatch: a value was changed, added or removed"},
		{"a changed name", "a.yaml", strings.Replace(data, "mysecret", "other", 1), "", "a.yaml: MAC mismatch: a value was changed"},
		{"a plain value", "a.yaml", strings.Replace(data, cipher, "password: "+canary, 1), "",
			"a.yaml: encrypted in part: the value at stringData.password is not encrypted"},
		{"a plain number", "a.yaml", strings.Replace(data, cipher, "password: 17", 1), "",
			"a.yaml: encrypted in part: a value is not encrypted"},
		{"a plain variable", "a.env", vars + "C=" + canary + "\n", generatorOf + "envs: [a.env]\n",
			"a.env: encrypted in part: the value at C is not encrypted"},
		{"a document added", "a.yaml", whole + "---\n" + secretYAML, "", "a.yaml: encrypted in part: document 2"},
		{"a rule without a match", "a.yaml", encrypt(t, "a.yaml", secretYAML, x.to, encryptedRegex("^(Data)$")), "",
			"a.yaml: encrypted in part: no value of data and stringData of the Secret is encrypted (encrypted_regex: ^(Data)$)\n  check the rule in .sops.yaml"},
		{"a rule for metadata", "a.yaml", encrypt(t, "a.yaml", secretYAML, x.to, encryptedRegex("^metadata$")), "",
			"a.yaml: encrypted in part: no value of data and stringData of the Secret is encrypted"},
		{"only plain variables", "a.env", encrypt(t, "a.env", "A_unencrypted="+canary+"\n", x.to), generatorOf + "envs: [a.env]\n",
			"a.env: encrypted in part: no value is encrypted (unencrypted_suffix: _unencrypted)"},
		{"another mac", "a.yaml", regexp.MustCompile(`(?m)^    mac: .*`).ReplaceAllString(data, "    mac: "+strings.TrimPrefix(cipher, "password: ")), "",
			"a.yaml: MAC mismatch: mac or lastmodified was changed"},
		{"a plain mac", "a.yaml", regexp.MustCompile(`(?m)^    mac: .*`).ReplaceAllString(data, "    mac: "+canary), "", "a.yaml: MAC mismatch"},
		{"no mac", "a.yaml", regexp.MustCompile(`(?m)^    mac: .*`).ReplaceAllString(data, ""), "", "a.yaml: the sops metadata is damaged: it has no mac"},
		{"another date", "a.yaml", strings.Replace(data, "2026-01-02", "2026-01-03", 1), "",
			"a.yaml: MAC mismatch: mac or lastmodified was changed"},
		{"no date", "a.yaml", strings.Replace(data, "2026-01-02T03:04:05Z", "yesterday", 1), "", "a.yaml: the sops metadata is damaged: "},
		{"no keys", "a.yaml", strings.Replace(data, "    age:", "    old:", 1), "",
			"a.yaml: the sops metadata is damaged: No keys found in file"},
		{"a damaged key", "a.yaml", strings.Replace(data, "-----BEGIN AGE", "-----BEGIN EGA", 1), "", "a.yaml: wrong key: "},
		{"metadata that is no object", "a.yaml", "a: ENC[AES256_GCM,data:x]\nsops: yes\n", "", "a.yaml: the sops metadata is damaged: "},
		{"two rules", "a.yaml", strings.Replace(data, "    encrypted_regex:", "    encrypted_suffix: x\n    encrypted_regex:", 1), "",
			"a.yaml: the sops metadata is damaged: Cannot use more than one"},
		{"a rule that is no expression", "a.yaml", strings.Replace(data, "^(data|stringData)$", "(", 1), "",
			"a.yaml: the sops metadata is damaged: error parsing regexp"},
		{"a new version", "a.yaml", strings.Replace(data, "3.13.3", "4.0.0", 1), "", "a.yaml: encrypted by sops 4.0.0: this program reads files of sops 1 to 3"},
		{"no version", "a.yaml", strings.Replace(data, "3.13.3", "new", 1), "", `a.yaml: the sops metadata is damaged: version "new"`},
		{"too large", "a.yaml", data + strings.Repeat("#"+strings.Repeat(" ", 1022)+"\n", maxFile>>10), "",
			"a.yaml: the encrypted file is too large: more than 16 MiB"},
		{"no manifest", "a.yaml", encrypt(t, "a.yaml", "password: "+canary+"\n", x.to), "", "a.yaml: the decrypted manifest has no apiVersion\n  to make a key of a Secret"},
		{"no name", "a.yaml", encrypt(t, "a.yaml", "apiVersion: v1\nkind: Secret\nstringData: {a: "+canary+"}\n", x.to), "",
			"a.yaml: the decrypted manifest has no metadata.name"},
		{"no manifest in a binary file", "a", encrypt(t, "a", canary, x.to), "", "a: the decrypted content is not a manifest"},
		{"no YAML in a binary file", "a", encrypt(t, "a", "a: [\n"+canary+": }\n", x.to), "", "a: the decrypted content is invalid YAML"},
		{"no variables", "a", encrypt(t, "a", canary+"=1\n"+canary+"-x\n-=\n", x.to),
			ksopsOf + "secretFrom: [{metadata: {name: s}, envs: [a]}]\n",
			"a: the decrypted content is not a list of variables in dotenv syntax"},
		{"variables in a binary file", "a", encrypt(t, "a", "A=1\n", x.to), generatorOf + "envs: [a]\n",
			"a: variables have the format dotenv, YAML or JSON"},
		{"nested variables", "a.yaml", encrypt(t, "a.yaml", "a: {b: "+canary+"}\n", x.to), generatorOf + "envs: [a.yaml]\n",
			"a.yaml: the value of a is not a plain value"},
		{"an odd variable", "a.yaml", encrypt(t, "a.yaml", "a b: "+canary+"\n", x.to), generatorOf + "envs: [a.yaml]\n",
			`a.yaml: "a b" is not a key of a Secret`},
		{"a key twice", "a.env", vars, generatorOf + "envs: [a.env]\nfiles: [A=a.env]\n", "a.env: the key A is defined twice"},
		{"binary text", "a", encrypt(t, "a", "\xff"+canary, x.to), ksopsOf + "secretFrom: [{metadata: {name: s}, files: [a]}]\n",
			"a: the decrypted content is not text\n  list the file in binaryFiles"},
	} {
		t.Run(c.title, func(t *testing.T) {
			x := &tree{t, t.TempDir(), x.key, x.to}
			x.write(c.file, c.text)
			x.fails(or(c.config, ksopsOf+"files: ["+c.file+"]\n"), c.want)
		})
	}
}

// TestPlainByRule checks that a rule may leave out some values of a Secret, and comments.
func TestPlainByRule(t *testing.T) {
	x := newTree(t)
	x.encrypt("a.yaml", secretYAML, encryptedRegex("^password$"))
	x.encrypt("b.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name_unencrypted: x, name: b}\ndata: {a: YQ==, b_unencrypted: YQ==}\n")
	// A comment that was added later is not encrypted: the library logs it.
	x.write("b.yaml", "# "+canary+"\n"+x.read("b.yaml"))
	stdout, stderr, code := x.call(ksopsOf + "files: [a.yaml, b.yaml]\n")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "user: admin") {
		t.Error(code, stderr)
	}
}

// TestPaths checks that files outside of the directory are not read.
func TestPaths(t *testing.T) {
	x := newTree(t)
	outside := filepath.Join(t.TempDir(), "outside")
	text := encrypt(t, "a", canary, x.to)
	os.WriteFile(outside, []byte(text), 0o666)
	os.Symlink(outside, filepath.Join(x.dir, "link"))
	os.Symlink(filepath.Dir(outside), filepath.Join(x.dir, "dir"))
	os.Symlink("../../../../../../.."+outside, filepath.Join(x.dir, "up"))
	x.write("sub/in", text)
	os.Symlink("sub/in", filepath.Join(x.dir, "inside"))
	for path, want := range map[string]string{
		outside: "expected a path relative to the layer", "../outside": "leads out of the directory of the layer",
		"sub/../../x": "leads out of the directory of the layer", `sub\in`: "expected a path relative",
		"link": "link: a link leads out of the directory", "dir/outside": "dir/outside: a link leads out of the directory",
		"up": "up: a link leads out of the directory", "sub": "sub: not a regular file",
		"none": "none: no such file\n  it is named in secretFrom[0].files[0]",
	} {
		x.fails(ksopsOf+"secretFrom:\n- metadata: {name: s}\n  files: ['k="+path+"']\n", want)
	}
	for _, path := range []string{"inside", "sub/in", "./sub/../sub/in", "sub//in"} {
		if _, stderr, code := x.call(generatorOf + "files: [" + path + "]\n"); code != 0 {
			t.Error(path, stderr)
		}
	}
}

// TestConfigErrors checks the messages about configurations. All mistakes are reported.
func TestConfigErrors(t *testing.T) {
	x := newTree(t)
	x.encrypt("a", canary)
	for _, c := range []struct {
		config string
		wants  []string
	}{
		{"apiVersion: viaduct.ai/v2\nkind: ksops\n", []string{"ksops: the kind viaduct.ai/v2 ksops is not known\n  use "}},
		{ksopsOf, []string{"ksops g: lists no files: expected files or secretFrom"}},
		{ksopsOf + "files: a\nsecretFrom: {}\n", []string{"ksops g: files is not a list", "ksops g: secretFrom is not a list"}},
		{ksopsOf + "files: [[], 1, '']\n", []string{"files[0] is not a string", "files[1] is not a string"}},
		{ksopsOf + "secretFrom:\n- files: [a]\n", []string{"secretFrom[0].metadata.name is required"}},
		{ksopsOf + "secretFrom:\n- 1\n- metadata: {name: a, labels: {a: 1}}\n",
			[]string{"secretFrom[0] is not an object", "secretFrom[1].metadata.labels.a is not a string"}},
		{ksopsOf + "secretFrom:\n- metadata: {name: s}\n  files: [a=b=c, =a, a=, 'a b=c']\n",
			[]string{`files[0]: "a=b=c" has more than one =`, `files[1]: "=a" is not of the form KEY=PATH`, `files[2]: "a=" is not`,
				`files[3]: "a b" is not a key`}},
		{ksopsOf + "secretFrom:\n- metadata: {name: s}\n  envs: ['']\n", []string{"secretFrom[0].envs[0]: the path is empty"}},
		{"apiVersion: krmflow.dev/v1alpha1\nkind: SopsSecretGenerator\nfiles: [a]\n",
			[]string{"SopsSecretGenerator: metadata.name is required"}},
		{generatorOf, []string{"SopsSecretGenerator app: lists no files: expected files, envs or manifests"}},
		{generatorOf + "files: [a]\nfoo: 1\nliterals: [a=b]\nname: x\nobjects: [a]\n",
			[]string{"app: foo is not known", "app: literals: a literal is not encrypted", "app: name belongs to metadata",
				"app: objects is not known"}},
		{generatorOf + "files: [a]\nbehavior: add\n", []string{`behavior: "add" is not create, merge or replace`}},
		{generatorOf + "files: [a]\noptions: {immutable: 1, x: 2}\ndisableNameSuffixHash: 1\n",
			[]string{"options.immutable is not true or false", "options.x is not known", "disableNameSuffixHash belongs to options"}},
	} {
		x.fails(c.config, c.wants...)
	}
	for _, list := range []string{
		"", "a: [", "[]", "kind: ConfigMap", "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n", "{}\n---\n{}\n",
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {kind: a}\nitems: 1\n",
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {kind: a}\nitems: [1]\n",
	} {
		if _, stderr, code := x.callList(list); code != 1 || !strings.HasPrefix(stderr, "stdin: ") {
			t.Errorf("%q: exit code %d, %s", list, code, stderr)
		}
	}
}

// TestAllErrors checks that each file that fails is reported, and that nothing is printed for the
// files that could be decrypted.
func TestAllErrors(t *testing.T) {
	x := newTree(t)
	x.encrypt("good.yaml", secretYAML)
	x.write("bad.yaml", secretYAML)
	x.fails(ksopsOf+"files: [good.yaml, bad.yaml, none.yaml]\nsecretFrom:\n- metadata: {name: s}\n  files: [none]\n",
		"bad.yaml: not encrypted", "none.yaml: no such file", "none: no such file")
}

// TestRemarks checks that fields that KSOPS does not know are reported.
func TestRemarks(t *testing.T) {
	x := newTree(t)
	x.encrypt("a.yaml", secretYAML)
	stdout, stderr, code := x.call(ksopsOf + "fail-silently: true\nfile: [x]\nfiles: [a.yaml]\n")
	if code != 0 || !strings.HasSuffix(stdout, `results:
  - message: 'fail-silently has no effect: a file that cannot be decrypted is always an error'
    severity: warning
  - message: file is not known and has no effect
    severity: warning
`) {
		t.Error(code, stderr, stdout)
	}
}

// TestOddTexts checks that texts that are difficult for YAML survive.
func TestOddTexts(t *testing.T) {
	x := newTree(t)
	for _, text := range []string{"\n", "\n\n a\n", " a\n b", "a\n\n\n", "\ta\n\tb\n", "a \nb\n", "a\r\nb\r\n", "\u2028a\n",
		"\ufeffa\nb", "yes", "1e3", "~", "0x1F", "a: b", "- a\n", "# a\n#", "'", "\"", "a\x00b", "\x7f\n", "\u0085\n", "<<", "=",
		"!!x", "&a", "2001-01-01"} {
		x.encrypt("a", text)
		stdout, stderr, code := x.call(ksopsOf + "secretFrom:\n- metadata: {name: s}\n  files: [a]\n")
		if code != 0 {
			t.Errorf("%q: %s", text, stderr)
			continue
		}
		docs, err := documents([]byte(stdout))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := str(get(get(get(docs[0], "items").Content[0], "stringData"), "a")); got != text {
			t.Errorf("%q became %q:\n%s", text, got, stdout)
		}
	}
}

// TestMain runs the program itself where a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("KRMFLOW_SOPS_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process runs the program as krmflow does.
func (t *tree) process(config string, wrapper ...string) (stdout, stderr string, err error) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(wrapper, exe)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), "KRMFLOW_SOPS_TEST_MAIN=1")
	cmd.Stdin = strings.NewReader("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n-" + indented(config)[1:] +
		"functionConfig:\n" + indented(config))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// TestPassphrase checks that prompts of the library do not reach stdout.
func TestPassphrase(t *testing.T) {
	x := newTree(t)
	x.encrypt("a.yaml", secretYAML)
	if stdout, stderr, err := x.process(ksopsOf + "files: [a.yaml]\n"); err != nil || !strings.Contains(stdout, canary) || stderr != "" {
		t.Errorf("%v, %s", err, stderr)
	}
	p := pgpTree(t)
	p.encrypt("a.yaml", secretYAML)
	lockRing(t)
	stdout, stderr, err := p.process(ksopsOf + "files: [a.yaml]\n")
	if err == nil || stdout != "" || !strings.Contains(stderr, "a.yaml: wrong key") {
		t.Errorf("%v, stdout %s, stderr %s", err, stdout, stderr)
	}
}

// TestNoFiles checks that the program opens no file for writing.
func TestNoFiles(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	x := newTree(t)
	x.encrypt("a.yaml", secretYAML)
	x.encrypt("b.env", "A="+canary+"\n")
	log := filepath.Join(t.TempDir(), "log")
	stdout, stderr, err := x.process(ksopsOf+"files: [a.yaml]\nsecretFrom:\n- metadata: {name: s}\n  envs: [b.env]\n",
		strace, "-f", "-o", log, "-s", "4096", "-e", "trace=open,openat,creat,memfd_create,mkdirat,linkat,renameat2,socket,execve,write,prctl,prlimit64")
	if err != nil || strings.Count(stdout, canary) != 3 {
		t.Fatalf("%v, %s", err, stderr)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	for line := range strings.Lines(string(calls)) {
		if regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|creat\(|memfd_create|mkdirat|linkat|renameat|socket\(`).MatchString(line) {
			t.Error(line)
		}
		if strings.Contains(line, "write(") && strings.Contains(line, canary) {
			writes++
			if !strings.Contains(line, "write(1,") {
				t.Error(line)
			}
		}
	}
	for _, call := range []string{"PR_SET_DUMPABLE, SUID_DUMP_DISABLE", "RLIMIT_CORE, {rlim_cur=0, rlim_max=0}"} {
		if writes == 0 || !strings.Contains(string(calls), call) {
			t.Errorf("%s is not called:\n%s", call, calls)
		}
	}
}

// FuzzConfig checks that no ResourceList makes the parser fail otherwise than with an error.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		ksopsOf + "files: [a]\nsecretFrom: [{metadata: {name: a, labels: {a: b}}, files: [a=b], envs: [c], binaryFiles: [d], type: t}]\n",
		generatorOf + "files: [a, b=c]\nenvs: [d]\nmanifests: [e]\nbehavior: merge\noptions: {labels: {a: b}, immutable: true, disableNameSuffixHash: true}\n",
		"apiVersion: goabout.com/v1beta1\nkind: SopsSecretGenerator\nmetadata: {name: a}\nobjects: [a]\nfiles: null\n",
	} {
		f.Add("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n" + indented(seed))
	}
	f.Add("a: &a [*a]\n")
	f.Add("{a: {a: {a: [[[[[")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseList([]byte(text))
		if err != nil {
			return
		}
		c, err := parseConfig(l.config)
		if err != nil {
			return
		}
		for _, s := range append(c.manifests, sourcesOf(c)...) {
			if s.path == "" || filepath.IsAbs(s.path) || strings.HasPrefix(s.path, "../") || s.path == ".." {
				t.Errorf("%q is accepted as a path", s.path)
			}
		}
		for _, s := range c.secrets {
			if s.name == "" {
				t.Error("a Secret without a name")
			}
		}
	})
}

func sourcesOf(c *request) (list []source) {
	for _, s := range c.secrets {
		list = append(append(append(list, s.files...), s.binaryFiles...), s.envs...)
	}
	return list
}

// FuzzManifests checks that decrypted manifests reach the answer unchanged.
func FuzzManifests(f *testing.F) {
	f.Add(secretYAML)
	f.Add("apiVersion: v1\nkind: List\nitems: []\n---\n{apiVersion: v1, kind: A, metadata: {name: a}, x: !!binary YQ==, y: 1.5, z: |+\n  a\n\n}\n")
	f.Add("apiVersion: v1\nkind: A\nmetadata:\n  name: a\n? [a]\n: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := manifests("a", []byte(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := (&list{}).write(&out, docs, nil); err != nil {
			return
		}
		back, err := documents(out.Bytes())
		if err != nil || len(back) != 1 || len(get(back[0], "items").Content) != len(docs) {
			t.Fatalf("%v\n%s", err, out.String())
		}
		for i, d := range get(back[0], "items").Content {
			if !equal(d, docs[i]) {
				t.Errorf("document %d changed:\n%s", i, out.String())
			}
		}
	})
}

// FuzzEncrypted checks that files that sops did not write do not end the program, and that errors
// do not contain their text.
func FuzzEncrypted(f *testing.F) {
	key := []byte(strings.Repeat("k", 32))
	for i, name := range []string{"a.yaml", "a.json", "a.env", "a.ini", "a"} {
		f.Add(i, "sops: {mac: x}")
		f.Add(i, name)
	}
	f.Add(0, "a: "+canary+"\nsops:\n  mac: ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]\n  lastmodified: \"2026-01-02T03:04:05Z\"\n  version: 3.1\n  age:\n  - {recipient: a, enc: b}\n")
	f.Add(1, `{"a": "`+canary+`", "sops": {"mac": "x", "lastmodified": "2026-01-02T03:04:05Z", "age": [{"recipient": "a", "enc": "b"}]}}`)
	f.Add(2, "a="+canary+"\nsops_mac=x\nsops_lastmodified=2026-01-02T03:04:05Z\nsops_age__list_0__map_enc=a\nsops_age__list_0__map_recipient=b\n")
	f.Add(3, "[a]\nb="+canary+"\n[sops]\nmac=x\nlastmodified=2026-01-02T03:04:05Z\nage__list_0__map_enc=a\n")
	f.Fuzz(func(t *testing.T, format int, text string) {
		name := []string{"a.yaml", "a.json", "a.env", "a.ini", "a"}[uint(format)%5]
		tree, err := func() (tree sops.Tree, err error) {
			defer func() {
				if recover() != nil { // as decrypt does
					err = damagedContent(name)
				}
			}()
			return load(name, formats.FormatForPath(name), []byte(text))
		}()
		if err == nil && supported(name, &tree) == nil && encrypted(name, &tree, true) == nil {
			func() {
				defer func() { recover() }()
				err = open(name, &tree, key)
			}()
		}
		if err != nil && strings.Contains(err.Error(), canary) && !strings.Contains(err.Error(), "metadata is damaged") {
			t.Error(err)
		}
	})
}
