package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"golang.org/x/sys/unix"
)

// completions are lines that a user types before the tab key, and the resulting arguments of
// krmflow. They run in the tree of [changedShop], with the branch release-1.2 and the tag v1.0. The
// first ones have one line for each kind of completion.
var completions = []struct{ typed, want string }{
	{"expl", "explain"},
	{"plan --keep", "plan --keep-going"},
	{"plan --color=alw", "plan --color=always"},
	{"diff --against rel", "diff --against release-1.2"},
	{"explain base Deployment/fr", "explain base Deployment/frontend"},
	{"build overlays/pr", "build overlays/prod"},

	{"catalog pub", "catalog publish"},
	{"plan -o ht", "plan -o html"},
	{"plan --color alw", "plan --color always"},
	{"diff --against=v1", "diff --against=v1.0"},
	{"plan overlays/prod --against v1", "plan overlays/prod --against v1.0"},
	{"explain overl", "explain overlays"},
	{"explain base Deployment.apps/fr", "explain base Deployment.apps/frontend"},
	{"explain overlays/dev StatefulSet/", "explain overlays/dev StatefulSet/redis"},
	{"explain overlays/dev StatefulSet/shop", "explain overlays/dev StatefulSet/shop-dev/redis"},
	{"explain KF071", "explain KF0710"},
	{"build base --cache-dir overl", "build base --cache-dir overlays"},
}

// shells are the tested shells. PowerShell is not among them: its line editor needs a terminal that
// answers questions. In start, SETUP is a file that sets the prompt and loads the script.
var shells = []struct {
	name, setup string
	file        string // name of the setup file
	start       []string
}{
	{"bash", "PS1='ready> '; source <(krmflow completion bash)\n", "bashrc", []string{"bash", "--noprofile", "--rcfile", "SETUP", "-i"}},
	{"zsh", zshSetup, ".zshrc", []string{"zsh", "-d", "-i"}},
	{"fish", "function fish_prompt; echo -n 'ready> '; end; set -g fish_greeting; krmflow completion fish | source\n", "config.fish", []string{"fish", "--no-config", "-i", "-C", "source SETUP"}},
}

// zshSetup reads only the basic functions for completion at the start: all of them take seconds.
const zshSetup = `PS1='ready> '; unsetopt prompt_sp
all=($fpath); fpath=(${(M)fpath:#*/Completion(|/Base)})
autoload -U compinit; compinit -C -D
fpath=($all); autoload -Uz ${^fpath}/_*(N.:t)
source <(krmflow completion zsh)
`

// TestCompletionInShells types lines with the tab key into each shell. The program krmflow of the
// shells answers requests for completions and otherwise prints its arguments.
func TestCompletionInShells(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		executortest.Missing(t, "no git")
	}
	t.Parallel()
	lines := completions[:longtest.Sample(6, len(completions), len(completions))]
	shop := changedShop(t)
	git := exec.Command("sh", "-ec", "git branch release-1.2 && git tag v1.0")
	git.Dir = shop
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	krmflow, err := exec.LookPath("krmflow")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := "#!/bin/sh\ncase $1 in __complete*|completion) exec '" + krmflow + "' \"$@\";; esac\necho \"ran: $*.\"\n"
	testbinary.Script(t, filepath.Join(bin, "krmflow"), script)
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell.name); err != nil {
				executortest.Missing(t, "no "+shell.name)
			}
			home := t.TempDir()
			setup := filepath.Join(home, shell.file)
			if err := os.WriteFile(setup, []byte(shell.setup), 0o666); err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, arg := range shell.start {
				args = append(args, strings.ReplaceAll(arg, "SETUP", setup))
			}
			prompt := regexp.MustCompile(`ready> `)
			var types []typing
			for _, c := range lines {
				types = append(types, typing{prompt, "krmflow " + c.typed + "\t\n"})
				prompt = regexp.MustCompile(`(?s)ran: .*\.[\r\n].*ready> `)
			}
			types = append(types, typing{prompt, "exit\n"})
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = shop
			cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "ZDOTDIR=" + home, "TERM=xterm", "LC_ALL=C.UTF-8"}
			shown, err := runOnScreen(cmd, &unix.Winsize{Col: 200, Row: 50}, types, 3*patience)
			if none := (noTerminal{}); errors.As(err, &none) {
				executortest.Missing(t, none.Error())
			}
			if err != nil {
				t.Error(err)
			}
			ran := regexp.MustCompile(`(?m)ran: (.*)\.$`).FindAllStringSubmatch(string(shown), -1)
			for i, c := range lines {
				got := ""
				if i < len(ran) {
					got = strings.TrimSuffix(ran[i][1], "/")
				}
				if got != c.want {
					t.Errorf("krmflow %s: completed to %q, want %q", c.typed, got, c.want)
				}
			}
			if errors := regexp.MustCompile(`.*command not found.*`).Find(shown); errors != nil {
				t.Errorf("the script fails: %s", errors)
			}
			if t.Failed() {
				t.Logf("%q", shown)
			}
		})
	}
}
