package exec

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/internal/sandbox"
	"golang.org/x/sys/unix"
)

const (
	maxRefused = 3    // maximum number of paths in a message
	maxPath    = 300  // maximum length of a path in a message, in bytes
	lastBytes  = 4096 // examined bytes at the end of stderr, which usually explains a failure
)

// blameSandbox adds hints about operations that the sandbox denied to a failed function, as far
// as its standard error mentions them. It names a path only if this process has the access that
// the rules deny to the function, so that only the sandbox can be the reason.
func (c *call) blameSandbox(e *executors.Error) *executors.Error {
	if c.f.Unsandboxed {
		return e
	}
	text := string(e.Stderr[max(0, len(e.Stderr)-lastBytes):])
	rules := c.rules(false)
	var found []string
	barred, offline := false, false
	for line := range strings.Lines(text) {
		lower := strings.ToLower(line)
		offline = offline || c.f.Network == "" && containsAny(lower, "could not resolve host", "name resolution",
			"name or service not known", "network is unreachable",
			"getaddrinfo", "eai_again", "dial tcp", "dial udp", "no such host", "socket: operation not permitted")
		denied := containsAny(lower, "permission denied", "eacces")
		readOnly := containsAny(lower, "read-only file system", "erofs")
		barred = barred || containsAny(lower, "operation not permitted", "eperm")
		if !denied && !readOnly {
			continue
		}
		writes := readOnly || containsAny(lower, "create", "creating", "write", "writing", "mkdir", "touch", "remove", "rename", "unlink")
		for _, path := range c.pathsIn(line) {
			if what := refusedAt(rules, path, writes); what != "" && !slices.Contains(found, what) {
				found = append(found, what)
			}
		}
	}
	switch {
	case len(found) > 0:
		e.Hint("the sandbox refused it %s", strings.Join(found[:min(len(found), maxRefused)], ", "))
		e.Hint("programs can read and run installed files, and write only to $HOME and $TMPDIR: pass data from the tree in the configuration, " +
			"or let it read the tree: requires: {files: [{from: tree}]} in its catalog entry, and --grant GROUP/KIND=tree")
	case offline:
		e.Hint("the sandbox denies programs network access; a container gets it if its catalog entry has requireNetwork: true")
	case barred:
		e.Hint(
			"the sandbox probably refused it: it denies operations on anything but the program itself, such as sockets, mounts, owners of files and other processes")
	default:
		return e
	}
	return e.Hint("see docs/trust.md#the-sandbox-of-programs; to run programs with all your rights, add --allow-unsandboxed")
}

// pathsIn returns the absolute paths in a line and the word before the last colon, which may be
// a relative path.
func (c *call) pathsIn(line string) (paths []string) {
	add := func(word string) {
		if word = strings.Trim(word, " \t\r\n:,;.()'\"`‘’“”[]"); word == "" || len(word) > maxPath || strings.ContainsRune(word, 0) {
			return
		}
		if !filepath.IsAbs(word) {
			word = filepath.Join(c.f.Dir, word)
		}
		if !slices.Contains(paths, word) {
			paths = append(paths, word)
		}
	}
	for _, word := range strings.Fields(line) {
		if word = strings.TrimLeft(word, "'\"`‘’“”(["); strings.HasPrefix(word, "/") {
			add(word)
		}
	}
	if i := strings.LastIndex(line, ": "); i >= 0 {
		before := line[:i]
		before = before[strings.LastIndex(before, ": ")+1:]
		fields := strings.Fields(before)
		if len(fields) > 0 {
			add(fields[len(fields)-1])
		}
	}
	return paths
}

// refusedAt describes the access to path that rules deny although this process has it. It
// returns "" if there is none.
func refusedAt(rules []sandbox.Rule, path string, writes bool) string {
	real, err := filepath.EvalSymlinks(path)
	exists := err == nil
	if !exists {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return ""
		}
		real = filepath.Join(dir, filepath.Base(path))
	}
	shown := diag.Sanitise(diag.OneLine(path))
	switch reads := allows(rules, real, unix.LANDLOCK_ACCESS_FS_READ_FILE); {
	case writes && !allows(rules, real, unix.LANDLOCK_ACCESS_FS_WRITE_FILE) &&
		(exists && may(real, unix.W_OK) || !exists && may(filepath.Dir(real), unix.W_OK)):
		return "to write " + shown
	case exists && !reads && may(real, unix.R_OK):
		return "to read " + shown
	}
	return ""
}

// allows reports whether a rule grants the access to a path.
func allows(rules []sandbox.Rule, path string, access uint64) bool {
	return slices.ContainsFunc(rules, func(r sandbox.Rule) bool {
		at, err := filepath.EvalSymlinks(r.Path)
		if err != nil || r.Access&access != access {
			return false
		}
		rel, err := filepath.Rel(at, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// may reports whether this process has the access to a path.
func may(path string, mode uint32) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) == nil
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}
