package function

import (
	"fmt"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Runtime is the way in which a function is run.
type Runtime string

// The runtimes for which krmflow has executors. A third-party executor may add others.
const (
	RuntimeExec      Runtime = "exec"
	RuntimeContainer Runtime = "container"
	// RuntimeHelm renders Helm charts. A function configuration cannot name it.
	RuntimeHelm Runtime = "helm"
)

// Valid reports whether r may be the name of a runtime: lower-case letters, digits and dashes,
// starting with a letter.
func (r Runtime) Valid() bool {
	for i, c := range []byte(r) {
		if !(c-'a' < 26 || i > 0 && (c == '-' || c-'0' < 10)) {
			return false
		}
	}
	return r != ""
}

// A Function is a KRM function ready to execute: all references are resolved and all permissions
// decided. It is plain data, which is sent to executor processes.
type Function struct {
	// Name identifies the function in messages, for instance "example.com/v1 Stamp/release". Node
	// is the id of its node.
	Name, Node string
	Runtime    Runtime
	// Executor is the digest of the third-party executor that runs the function, zero for krmflow's
	// own. Executors do not receive it.
	Executor krm.Digest
	// Digest is the digest of the program or of the image's manifest. Content with a different
	// digest is never run.
	Digest krm.Digest
	// Unverified is true if the user allowed a function without a digest.
	Unverified bool

	// URI is the address of a remote program, empty for a local one. Program is then a path in the
	// downloaded archive, and Digest covers the program, the archive or the artifact. Executors do
	// not receive URI: krmflow downloads and verifies the program first, and sets Program to its
	// local path.
	URI string
	// Archive is the real path of a local archive. As with URI, Program is then a path in the
	// archive, and Digest covers the program or the archive.
	Archive string
	// Program and Root apply to all runtimes except RuntimeContainer: the real path of the
	// program, and the directory that the path must not leave. Args are its arguments. Dir is the
	// working directory, Root if empty.
	Program, Root string
	// Bin is the program's name when it runs. If empty, it is the base name of Program.
	Bin  string
	Args []string
	Dir  string
	// Image is the image reference as written, without its digest, for RuntimeContainer.
	Image string

	// Network, Mounts and Env are the granted permissions. Zero values grant nothing.
	Network string // name of a container network, "" for none
	Mounts  []Mount
	Env     []string // NAME=value
	// Tree contains the files below the directory of the configuration, for a function that may
	// read them if they are not files of this machine. A bind mount without a source then stands
	// for them.
	Tree []File
	// AsCurrentUser runs a container with the ids of the current user.
	AsCurrentUser bool
	// Unsandboxed allows an exec function to run where this machine cannot isolate it.
	Unsandboxed bool

	Limits Limits
	// Config is the functionConfig that a container finds below /local: the source text without
	// the field that names the runtime.
	Config []byte
}

// FieldsVariable is the environment variable with the fields that the schema of a function's
// catalog entry declares: paths such as spec.replicas, separated by commas. krmflow sets it for
// each function of an entry with a schema. krmflow wrap turns only these fields into variables. It
// is not a grant, and a configuration cannot set it for a function of a catalog.
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

// A File is a file of a tree. Name is a relative, slash-separated path.
type File struct {
	Name string
	Data []byte
}

// Limits are the resource limits of one call. A zero field means the executor's default.
type Limits struct {
	Timeout time.Duration // default 5m
	Output  int64         // bytes of stdout, default 256 MiB
	Memory  int64         // bytes, default 2 GiB
	Procs   int           // processes, default 256
}

// Output is the output of one function call.
type Output struct {
	List yaml.Chunks // stdout
	// Stderr is the tail of stderr, up to a limit of the executor. It is raw: escape it before
	// printing it on a terminal.
	Stderr []byte
}

// A Code is the category of an [Error].
type Code int

const (
	// Internal is a fault of the executor.
	Internal Code = iota
	// Invalid means that the function cannot run in its present form: a missing file or
	// interpreter, or a different architecture.
	Invalid
	// Denied means that the function needs a permission that was not granted.
	Denied
	// Verification means that the digest differs from the pinned one.
	Verification
	// Failed means that the function ran and failed, that this machine could not run it, or that
	// its executor crashed.
	Failed
	// Timeout means that the function exceeded its time limit and was stopped.
	Timeout
	// LimitExceeded means that the function exceeded a different limit and was stopped.
	LimitExceeded
	// Retrieval means that the program or image could not be fetched.
	Retrieval
)

// An Error reports a function that could not be prepared or executed.
type Error struct {
	Code   Code
	Msg    string   // starts with the function's name
	Hints  []string // see [diag.Error]
	Stderr []byte   // stderr of the function: see [Output]
	kind   diag.Code
}

func (e *Error) Error() string { return e.Diag().Error() }

// Diag returns e as a [diag.Error].
func (e *Error) Diag() *diag.Error { return &diag.Error{Msg: e.Msg, Hints: e.Hints, Err: e} }

// Kind returns the error code: see [diag.CodeOf].
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

// Wrap returns an Error with the message, hints and kind of err.
func Wrap(code Code, err error) *Error {
	text, hints := diag.Parts(err)
	return &Error{Code: code, Msg: text, Hints: hints, kind: diag.CodeOf(err)}
}

// With sets the error code of e to c and returns e.
func (e *Error) With(c diag.Code) *Error {
	e.kind = c
	return e
}

// Hint adds a line with advice for the user and returns e.
func (e *Error) Hint(format string, args ...any) *Error {
	e.Hints = append(e.Hints, fmt.Sprintf(format, args...))
	return e
}
