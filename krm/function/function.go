package function

import (
	"fmt"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Runtime is how a function is run.
type Runtime string

// The runtimes that krmflow has executors for. A program of a third party may run functions of another one.
const (
	RuntimeExec      Runtime = "exec"
	RuntimeContainer Runtime = "container"
	// RuntimeHelm is for helm, which renders charts. No configuration of a function can name it.
	RuntimeHelm Runtime = "helm"
)

// Valid reports whether r may be the name of a runtime: lower-case letters, digits and dashes, the first a letter.
func (r Runtime) Valid() bool {
	for i, c := range []byte(r) {
		if !(c-'a' < 26 || i > 0 && (c == '-' || c-'0' < 10)) {
			return false
		}
	}
	return r != ""
}

// A Function is one KRM function as an executor runs it: everything is decided, nothing is left to look up. It is plain
// data and crosses the process boundary as it is.
type Function struct {
	// Name is what messages call it, for instance "example.com/v1 Stamp/release", and Node the id of its node.
	Name, Node string
	Runtime    Runtime
	// Digest is that of the program's bytes or of the image's manifest. What has another digest is never run.
	Digest krm.Digest
	// Unverified is true if the user allowed a function without a digest.
	Unverified bool

	// URI is the address that a program is fetched from, empty for one of this machine. Program is then a path in the archive that is there, and
	// Digest that of the program, of the archive, or of the artifact. Executors do not get it: who runs a plan fetches the program, verifies
	// it, and says where it is.
	URI string
	// Archive is the real path of an archive of this machine, in the same way: Program is then a path in it, and Digest that of one of them.
	Archive string
	// Program and Root are for all runtimes but RuntimeContainer: the real path of the file and the directory that it must not leave. Args
	// follow the program's name; Dir is the working directory, Root if it is empty.
	Program, Root string
	// Bin is what the program is called when it runs, the name of its file if empty.
	Bin  string
	Args []string
	Dir  string
	// Image is for RuntimeContainer: the reference as it was written, without digest.
	Image string

	// Network, Mounts and Env are what was granted; the zero values grant nothing.
	Network string // name of a container network, "" for none
	Mounts  []Mount
	Env     []string // NAME=value
	// AsCurrentUser runs a container with the user's own ids.
	AsCurrentUser bool
	// Unsandboxed allows an exec function where this machine cannot isolate it.
	Unsandboxed bool

	Limits Limits
	// Config is the functionConfig as a container finds it below /local: the source text without the field that names
	// the runtime.
	Config []byte
}

// FieldsVariable is the variable with the fields that the schema of a function's catalog entry
// declares: paths such as spec.replicas, separated by commas. krmflow sets it for each function of
// an entry with a schema; krmflow wrap turns only these fields into variables. It is not a grant,
// and a configuration cannot set it for a function of a catalog.
const FieldsVariable = "KRMFLOW_FIELDS"

// IsVariable reports whether name can be a shell variable: ASCII letters, digits and _, not
// starting with a digit.
func IsVariable(name string) bool {
	for i, c := range []byte(name) {
		if !(c == '_' || c|0x20-'a' < 26 || i > 0 && c-'0' < 10) {
			return false
		}
	}
	return name != ""
}

// A Mount makes a file or directory of the host visible in a container.
type Mount struct {
	Type         string // bind, volume or tmpfs
	Source, Dest string
	Writable     bool
}

// Limits bound one call. Zero means the executor's default.
type Limits struct {
	Timeout time.Duration // default 5m
	Output  int64         // bytes of stdout, default 256 MiB
	Memory  int64         // bytes, default 2 GiB
	Procs   int           // processes, default 256
}

// Output is what one call of a function has written.
type Output struct {
	List   yaml.Chunks // stdout
	Stderr []byte      // the tail of stderr, bounded by the executor; raw, so escape it before it meets a terminal
}

// A Code says what kind of failure an [Error] is.
type Code int

const (
	// Internal is a fault of the executor.
	Internal Code = iota
	// Invalid means that the function can never run as it is: no such file, no interpreter, another architecture.
	Invalid
	// Denied means that running it would need a permission that was not given.
	Denied
	// Verification means that it is not what was agreed on: another digest.
	Verification
	// Failed means that it ran and failed, that this machine could not run it, or that its executor crashed meanwhile.
	Failed
	// Timeout means that it was stopped because its time was over.
	Timeout
	// LimitExceeded means that it was stopped because it used too much of something else.
	LimitExceeded
	// Retrieval means that what it runs could not be fetched.
	Retrieval
)

// An Error is why a function could not be prepared or executed.
type Error struct {
	Code   Code
	Msg    string   // begins with the function's name
	Hints  []string // as those of [diag.Error]
	Stderr []byte   // of the function, as in [Output]
	kind   diag.Code
}

func (e *Error) Error() string { return e.Diag().Error() }

// Diag returns e as a [diag.Error].
func (e *Error) Diag() *diag.Error { return &diag.Error{Msg: e.Msg, Hints: e.Hints, Err: e} }

// Kind says which kind of message it is: see [diag.CodeOf].
func (e *Error) Kind() diag.Code {
	if e.kind != "" {
		return e.kind
	}
	switch e.Code {
	case Invalid:
		return diag.BadProgram
	case Denied:
		return diag.Denied
	case Verification:
		return diag.DigestMismatch
	case Timeout:
		return diag.FunctionTimeout
	case LimitExceeded:
		return diag.FunctionLimit
	case Retrieval:
		return diag.NotFetched
	}
	return diag.FunctionFailed
}

// Wrap returns an Error that says what err does.
func Wrap(code Code, err error) *Error {
	text, hints := diag.Parts(err)
	return &Error{Code: code, Msg: text, Hints: hints, kind: diag.CodeOf(err)}
}

// With makes e a message of the kind c and returns e.
func (e *Error) With(c diag.Code) *Error {
	e.kind = c
	return e
}

// Hint adds a line that tells the user what to do and returns e.
func (e *Error) Hint(format string, args ...any) *Error {
	e.Hints = append(e.Hints, fmt.Sprintf(format, args...))
	return e
}
