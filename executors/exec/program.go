package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/internal/sealed"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// maxProgram is the maximum size of a program in bytes.
const maxProgram = 1 << 30

// searchPath is the PATH of functions. Interpreters named by "#!/usr/bin/env" are looked up in
// it.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A program is a function's verified executable with its requirements.
type program struct {
	*sealed.Program
	name   string // file name at run time
	script bool
	wraps  bool     // the script wraps a command
	needs  []string // required files of the machine: interpreters, dynamic linkers
}

// A heldProgram is a program whose content the parent process holds.
type heldProgram struct {
	digest krm.Digest
	place  string // path of the sealed file
}

// load returns f's program, from held if it has the right digest and from its file otherwise. It
// compares the digest and checks that the program can run on this machine.
func load(f function.Function, held heldProgram) (*program, error) {
	var content *sealed.Program
	err := fs.ErrNotExist
	if held.place != "" && held.digest == f.Digest {
		content, err = sealed.Open(held.place, held.digest)
	}
	if err != nil {
		content, err = read(f)
	}
	if err != nil {
		return nil, err
	}
	p := &program{Program: content, name: filepath.Base(f.Program)}
	if f.Bin != "" {
		p.name = filepath.Base(f.Bin)
	}
	shown := diag.OneLine(f.Program)
	if f.Digest != (krm.Digest{}) && p.Digest != f.Digest {
		err = refuse(executors.Verification, "%s does not match its digest; it was not run", shown).
			Hint("want %s", f.Digest).Hint("got  %s", p.Digest)
	} else if f.Digest == (krm.Digest{}) && !f.Unverified {
		err = refuse(executors.Denied, "%s has no digest to verify it", shown).Hint("its digest is %s", p.Digest)
	} else if err = p.inspect(); err != nil {
		err = invalid("%s %v", shown, err)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// read reads the content of f's program, which must be a regular executable file inside f's
// root.
func read(f function.Function) (*sealed.Program, error) {
	rel, err := filepath.Rel(f.Root, f.Program)
	shown := diag.OneLine(f.Program)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, invalid("%s is not below %s", shown, diag.OneLine(f.Root))
	}
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return nil, invalid("%v", err)
	}
	defer root.Close()
	// The path has been resolved before, so a symbolic link in its last element is new.
	if info, err := root.Lstat(rel); err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil, invalid("%s became a symbolic link", shown)
	}
	file, err := root.OpenFile(rel, openFlags, 0)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, invalid("%s: %v", shown, err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, invalid("%s is a directory, not a program", shown)
	case !info.Mode().IsRegular():
		return nil, invalid("%s is not a regular file", shown)
	case info.Size() == 0:
		return nil, invalid("%s is empty", shown)
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return nil, invalid("%s is not executable (mode %04o)", shown, info.Mode().Perm()).Hint("make it executable with chmod +x")
	}
	content, err := sealed.Read(file, maxProgram)
	if err != nil {
		return nil, invalid("%s: %v", shown, err)
	}
	return content, nil
}

// inspect returns the reason why the program cannot run on this machine, or nil. The text
// continues a sentence that starts with the path.
func (p *program) inspect() error {
	head := string(p.Head)
	switch {
	case strings.HasPrefix(head, "#!"):
		p.script, p.wraps = true, strings.Contains(head, "krmflow wrap ") || strings.Contains(head, "config run wrap ")
		return p.inspectScript(head[2:])
	case strings.HasPrefix(head, "\x7fELF"):
		if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
			return fmt.Errorf("is a program for Linux, but this machine runs %s", runtime.GOOS)
		}
		return p.inspectELF()
	case strings.HasPrefix(head, "MZ"):
		return p.foreign("windows")
	case strings.HasPrefix(head, "\xcf\xfa\xed\xfe"), strings.HasPrefix(head, "\xca\xfe\xba\xbe"):
		return p.foreign("darwin")
	}
	return errors.New(`is neither a program nor a script that begins with "#!"`)
}

func (p *program) foreign(goos string) error {
	if runtime.GOOS == goos {
		return nil
	}
	return fmt.Errorf("is a program for %s, but this machine runs %s", goos, runtime.GOOS)
}

// inspectScript checks the interpreter named in line, the rest of the "#!" line.
func (p *program) inspectScript(line string) error {
	line, _, _ = strings.Cut(line, "\n")
	bare := strings.TrimSuffix(line, "\r")
	fields := strings.Fields(bare)
	switch {
	case bare != line:
		return fmt.Errorf("cannot run: its first line ends with a carriage return, so its interpreter would be %q", strings.TrimSpace(line))
	case len(fields) == 0:
		return errors.New(`names no interpreter after "#!"`)
	case !filepath.IsAbs(fields[0]):
		return fmt.Errorf("needs the interpreter %s, which is not an absolute path", fields[0])
	}
	if err := p.need("the interpreter", fields[0]); err != nil {
		return err
	}
	if filepath.Base(fields[0]) != "env" {
		return nil
	}
	for _, word := range fields[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		for _, dir := range filepath.SplitList(searchPath) {
			if p.need("the interpreter", filepath.Join(dir, word)) == nil {
				return nil
			}
		}
		return diag.Errorf(diag.Pos{}, "", "needs the interpreter %s, which is not on this machine", word).
			Hint("functions find programs in %s", searchPath)
	}
	return nil
}

// need records a file of the machine that the program requires to start, and returns an error if
// it is missing.
func (p *program) need(what, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("needs %s %s, which is not on this machine", what, path)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("needs %s %s, which is not executable", what, path)
	}
	p.needs = append(p.needs, path)
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		p.needs = append(p.needs, real)
	}
	return nil
}
