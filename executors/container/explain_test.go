package container

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm/function"
)

// The messages of engines when the function did not run, and of functions that end with the same
// exit codes.
func TestExplainRecognisesEngineFailures(t *testing.T) {
	const rlimit = "Error: runc: runc create failed: unable to start container process: error during container init: error setting rlimits for ready process: " +
		"error setting rlimit type 7: operation not permitted: OCI permission denied\n"
	const started = "could not start the container, so the function did not run: "
	const try = "\n  to check whether ENGINE itself fails, run: ENGINE run --rm --network none 222222222222"
	for _, tt := range []struct {
		engine, stderr string
		code           int
		want           string
	}{
		{"podman", rlimit, 126, started + "runc: runc create failed"},
		{"podman", rlimit,
			126, "OCI permission denied\n  lower the limits in the file named by CONTAINERS_CONF: [containers] default_ulimits ="},
		{"podman", rlimit, 126, try},
		{"podman", "Error: default OCI runtime \"crun\" not found: invalid argument\n",
			125, started + `default OCI runtime "crun" not found: invalid argument` + "\n  install that runtime, or"},
		{"podman",
			"time=\"x\" level=warning msg=\"dial unix /run/systemd/private\"\nError: OCI runtime error: runc: runc create failed: systemd not running on this host, cannot use systemd cgroups manager\n",
			126, "cgroups manager\n  without systemd, set this in the file named by CONTAINERS_CONF: [engine] cgroup_manager"},
		{"podman", "Error: unable to find network with name or ID nonet: network not found\n", 125, "network not found" + try},
		{"podman", "Error: cannot set up namespace using \"/usr/bin/newuidmap\": exit status 1\n",
			125, "\n  rootless podman needs newuidmap, and ids for this user in /etc/subuid"},
		{"docker", "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n\nRun 'docker run --help' for more information\n",
			125, started + "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n  the docker daemon is not running"},
		{"docker", "docker: Error response from daemon: no space left on device\n", 125, started + "no space left on device" + try},
		{"docker", "docker: Error response from daemon: exec: \"/nope\": stat /nope: no such file or directory: unknown.\n",
			127, "the command of the image does not exist: exec: "},
		{"podman",
			"Error: crun: executable file `/nope` not found: No such file or directory: OCI runtime attempted to invoke a command that was not found\n", 127, "the command of the image does not exist: crun"},
		{"podman", "Error: runc: exec: \"/etc\": permission denied: OCI permission denied\n", 126,
			"the command of the image cannot be executed: runc"},
		{"podman", "{\"msg\":\"exec container process `/fn`: Exec format error\"}\nError: crun: exec format error\n", 126,
			"the command of the image is for another machine: "},
		{"podman", "/fn: line 3: kubectl: not found\n", 127, "T: exit code 127"},
		{"podman", "Error: the configuration has no size\n", 126, "T: exit code 126"},
		{"docker", "", 125, "T: exit code 125"},
	} {
		c := &call{engine: Engine{Name: tt.engine}, function: function.Function{Name: "T"}, image: "sha256:" + strings.Repeat("2", 64)}
		err := c.explain(exitCode(tt.code), executors.Output{Stderr: []byte(tt.stderr)})
		if want := strings.ReplaceAll(tt.want, "ENGINE", tt.engine); !strings.Contains(err.Error(), want) {
			t.Errorf("%s, exit code %d: got\n%v\nwant\n%s", tt.engine, tt.code, err, want)
		}
	}
}
