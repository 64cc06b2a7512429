package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A scriptWord is a command, program or condition added to testscript.
type scriptWord struct {
	name, args string
	help       string // text for testdata/script/README.md
	run        func(ts *testscript.TestScript, args []string)
}

// scriptCommands are the commands. Arguments in brackets are optional. Arguments with an ellipsis
// can be repeated.
var scriptCommands = []scriptWord{
	{"archive", "FILE ENTRY=FILE...", "Create an archive. The extension of FILE, .tgz or .zip, selects the format.", archive},
	{"artifact", "HOST/NAME:TAG VARIABLE MEDIATYPE=FILE...", "Store files in a registry and set a variable to the digest.", artifact},
	{"cacheserver", "NAME [stop]",
		"Start a server for a shared cache with an empty folder. Set NAME to its address and NAME_HTTP to the address for HTTP. " +
			"With stop, kill it.", cacheServer},
	{"catalog", "PROGRAM CATALOG", "Write a catalog that lists the program, with its digest, as example.com/v1 Stamp.", writeCatalog},
	{"commit", "REPOSITORY FOLDER [TAG]",
		"Commit all files of a folder to the branch main of a bare repository, which is created if necessary, " +
			"and set COMMIT. The same files make the same commit.", commitFiles},
	{"cosign", "FORM KEY HOST/NAME DIGEST [TYPE]",
		"Store a signature of an artifact as cosign sign --key does. FORM is tag, referrer or bundle. " +
			"A missing key is created, with the public key in KEY.pub. DIGEST=OTHER stores the signature under the artifact OTHER. " +
			"TYPE is the media type of the signed content.", cosign},
	{"damagecache", "CACHE FILE PROGRAM [ARG...]",
		"Damage each file of a cache in every way, and run the program each time. It must exit with 0 and print " +
			"the content of FILE.", damageCache},
	{"digest", "FILE VARIABLE", "Set a variable to the SHA-256 of a file, in hexadecimal digits.", digest},
	{"exitcode", "CODE PROGRAM [ARG...]", "Run a program and check its exit code.", exitcode},
	{"expand", "FILE...", "Replace $NAME and ${NAME} in files with the values of variables.", expand},
	{"gobuild", "PACKAGE PROGRAM VARIABLE [OVERLAY]",
		"Build a program of this repository and set a variable to its digest. OVERLAY is the file for the flag -overlay.", goBuild},
	{"hostiletrees", "FOLDER", "Write the trees of hostile_trees_test.go, one folder each.", writeHostileTrees},
	{"image", "PACKAGE NAME VARIABLE",
		"Create an image that contains only a program of this repository, in a new storage for the script, and set a variable " +
			"to its digest.", image},
	{"lyingcache", "NAME",
		"Start a shared cache that gives wrong answers, and set NAME to its address. The files lie, about and times in $WORK select " +
			"its behaviour: a name in the table lies of script_sharedcache_test.go; ac, cas or nothing; the maximum number of times.",
		lyingCache},
	{"makekrmflow", "PROGRAM [VARIABLE=VALUE...]", "Build krmflow with make and these variables.", makeKrmflow},
	{"nothingleft", "[WORD...]",
		"Fail if a process or a temporary file of krmflow is still left after 20 s. Requires private first. A process whose " +
			"command line contains a WORD is included.", nothingLeft},
	{"poisoncache", "CACHE OLD NEW",
		"Change OLD to NEW in the outputs of roots in a cache, as an attacker who knows how entries are sealed.", poisonCache},
	{"private", "", "Give the script a private TMPDIR, which nothingleft searches for.", private},
	{"registry", "NAME [HTPASSWD]", "Start a registry and set NAME to its address. HTPASSWD names the file with its users.", startRegistry},
	{"repeat", "FILE N TEXT", "Append TEXT, a Go string, to a file N times. %d becomes the number of the repetition.", generate},
	{"requests", "NAME COUNT [PATTERN]",
		"Check how many lines of a server's log match a pattern. A line is connection, or GET /path, in some cases followed " +
			"by with Authorization. forget in place of COUNT empties the log.", requests},
	{"server", "NAME [http|expired]",
		"Start a server. Set NAME to its address and NAME_PORT to its port. krmflow and git trust its certificate, unless " +
			"it has expired. /... and /files/... are the files below $WORK/NAME; /git/... the repositories there; /private/... the same, for the user me with " +
			"the password hunter2; /v2/NAME/... the files in $WORK/NAME/NAME as an artifact; /bad/BEHAVIOUR/... see misbehave in script_server_test.go.", startServer},
	{"unnoticed", "CACHE FILE",
		"Make a cache remember different content of a file with the same metadata, as after a change through a shared memory map.",
		changeUnnoticed},
}

// awaits is separate because it is the only command that ! changes.
const awaitsHelp = "Wait until a file matches a regular expression. ! awaits FILE waits until the file is gone."

var scriptPrograms = []scriptWord{
	{name: "bounded", args: "[-cpu 5s] [-mb 500] PROGRAM [ARG...]",
		help: "Run a program, and fail with 99 if it and its children take more than 2 s of processor time or 300 MB."},
	{name: "flipflop", args: "FILE OTHER N krmflow [ARG...]",
		help: "Run krmflow N times while FILE is constantly replaced with OTHER and back. Each run must exit with 0 or 4, and each code must occur."},
	{name: "onterminal", args: "PROGRAM [ARG...]",
		help: "Run a program in a session with its own terminal. The standard streams stay unchanged."},
	{name: "screen", args: "COLUMNSxLINES [-type REGEXP KEYS]... PROGRAM [ARG...]",
		help: "Run a program on a terminal of this size and print all that appears on it. " +
			"Type KEYS, a Go string, when REGEXP has appeared. Fail with 99 if the program runs for 20 s."},
	{name: "signalled", args: "INT|TERM|KILL WHEN PROGRAM [ARG...]",
		help: "Run a program and send it a signal after a duration, after cpu:DURATION of processor time, or when a file exists that matches the pattern WHEN. Fail with 99 if it runs for another 20 s."},
	{name: "struck", args: "INT|TERM|KILL|EXECUTOR krmflow [ARG...]",
		help: "Run krmflow and send it a signal when a function has started sleep 71.09. INT goes to the process group. " +
			"EXECUTOR kills the executor. Fail with 99 if krmflow runs for another 20 s."},
	{name: "within", args: "DURATION PROGRAM [ARG...]",
		help: "Run a program, and fail with 99 if it takes more than 20 s longer than DURATION. The 20 s allow for a busy machine."},
}

var scriptConditions = []scriptWord{
	{name: "kptfunctions", help: "Stand-ins for functions of kpt are installed. make kpt-functions builds them."},
	{name: "bazelremote", help: "A server for shared caches is installed. make bazel-remote builds it."},
	{name: "long", help: "Slow tests run in full: KRMFLOW_LONG_TESTS=1. Otherwise a slow script stops after its fast part."},
	{name: "longest", help: "All tests run, as by make longtest."},
	{name: "netns", help: "unshare can create a network namespace with the flag $UNSHARE."},
	{name: "podman", help: "podman can run containers."},
	{name: "root", help: "The user may mount file systems and become another user."},
	{name: "sandbox", help: "This machine isolates programs in every way that krmflow knows."},
}

// commandsOfScripts returns the commands for testscript. They check the number of their arguments.
func commandsOfScripts() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){"awaits": awaits}
	for _, c := range scriptCommands {
		least, most := c.arity()
		all[c.name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < least || len(args) > most {
				ts.Fatalf("usage: %s", c.usage())
			}
			c.run(ts, args)
		}
	}
	return all
}

// arity returns the minimum and maximum number of arguments of a command.
func (c *scriptWord) arity() (least, most int) {
	for word := range strings.FieldsSeq(c.args) {
		most++
		if word[0] != '[' {
			least++
		}
		if strings.Contains(word, "...") {
			most = 1 << 20
		}
	}
	return least, most
}

func (c *scriptWord) usage() string { return strings.TrimSpace(c.name + " " + c.args) }

// TestScriptReadme compares testdata/script/README.md with the commands, programs and conditions
// for scripts.
func TestScriptReadme(t *testing.T) {
	const file = "../../testdata/script/README.md"
	want := scriptReadme()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not up to date; to write it: go test ./cmd/krmflow -run TestScriptReadme -update", file)
	}
	programs := maps.Clone(programsOfScripts())
	for _, p := range scriptPrograms {
		delete(programs, p.name)
	}
	for _, name := range []string{"krmflow", "kustomize-5.8.2", "kubectl-krmflow", "config"} {
		delete(programs, name) // krmflow under its names for users
	}
	if len(programs) > 0 {
		t.Errorf("programs that the table lacks: %q", slices.Sorted(maps.Keys(programs)))
	}
}

func scriptReadme() string {
	var b strings.Builder
	b.WriteString(`# Scripts

Each file is a test of one behaviour on the real binary: a script, and the files that it starts with. To run one:

    go test ./cmd/krmflow -run 'TestScript/^NAME$'

The language is that of [testscript](https://pkg.go.dev/github.com/rogpeppe/go-internal/testscript):
` + "`exec`, `cmp`, `stdout`, `stderr`, `grep`, `env`, `exists`" + ` and so on.
A file is called ` + "`COMMAND_BEHAVIOUR.txtar`" + `, or ` + "`SUBJECT_BEHAVIOUR.txtar`" + ` for a subject that several commands share (` + "`attack`, `catalog`,\n`composition`, `container`, `function`, `remote`" + `). Its first comment says what it shows, with the row of the requirements if it has one.

This page lists what scripts of krmflow have besides. It is generated: ` + "`go test ./cmd/krmflow -run TestScriptReadme -update`" + `.
`)
	section := func(title, text string, words []scriptWord) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", title, text)
		for _, w := range words {
			fmt.Fprintf(&b, "- `%s`: %s\n", w.usage(), w.help)
		}
	}
	commands := append([]scriptWord{{name: "awaits", args: "FILE REGEXP", help: awaitsHelp}}, scriptCommands...)
	slices.SortFunc(commands, func(a, b scriptWord) int { return strings.Compare(a.name, b.name) })
	section("Commands", "A server, registry or cache ends with its script.", commands)
	section("Programs", "They run other programs: `exec bounded krmflow build k`. Otherwise they exit with the code of the other program.",
		scriptPrograms)
	section("Conditions",
		"In CI, where `CI=true`, a condition that does not hold because a program is missing is a failure, except `long` and `longest`.",
		scriptConditions)
	b.WriteString(`
## Variables

- ` + "`$CACHE`" + `: the folder of krmflow's cache for this script, outside of the trees that it renders
- ` + "`$REPO`" + `: this repository
- ` + "`$BIN`" + `: the folder with krmflow and nothing else, for a PATH
- ` + "`$UNSHARE`" + `: the flag with which unshare makes a network namespace
`)
	return b.String()
}
