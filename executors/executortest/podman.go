package executortest

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
)

// PodmanConfig writes a podman configuration to dir that makes a test independent of the
// machine. It uses a runtime that works with cgroup v1 and without raising limits, storage below
// dir, and registry without TLS if registry is not empty. PodmanConfig returns the environment
// variables for this configuration.
func PodmanConfig(dir, registry string) (env map[string]string, err error) {
	runtime := ""
	if _, err := osexec.LookPath("runc"); err == nil {
		runtime = "runtime = \"runc\"\n"
	}
	registries := ""
	if registry != "" {
		registries = fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n", registry)
	}
	env = map[string]string{}
	for name, text := range map[string]string{
		"CONTAINERS_CONF": "[engine]\n" + runtime + "cgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n" +
			"[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n",
		"CONTAINERS_STORAGE_CONF":    fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", dir+"/graph", dir+"/run"),
		"CONTAINERS_REGISTRIES_CONF": registries,
	} {
		env[name] = filepath.Join(dir, strings.ToLower(name))
		if err := os.WriteFile(env[name], []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return env, nil
}
