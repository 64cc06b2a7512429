// Report is a generator that makes a ConfigMap of what it finds around it: who it is, what it can see and where it can
// write. The scripts make an image of it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	io.Copy(io.Discard, os.Stdin)
	fmt.Fprintln(os.Stderr, "reporting")
	config, _ := os.ReadFile("/local/functionConfig.yaml")
	if strings.Contains(string(config), "fail: true") {
		fmt.Fprintln(os.Stderr, "told to fail")
		os.Exit(7)
	}
	if strings.Contains(string(config), "hang: true") {
		time.Sleep(time.Hour)
	}
	data := map[string]string{
		"user":   fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
		"config": string(config),
		"local":  names("/local"),
		"data":   names("/data"),
	}
	var networks, writable []string
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains([]string{"HOME", "HOSTNAME", "PATH", "TERM", "container"}, name) // engines set them
	})
	slices.Sort(env)
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		networks = append(networks, i.Name)
	}
	for _, dir := range []string{"/", "/data", "/etc", "/local", "/tmp"} {
		if os.WriteFile(filepath.Join(dir, "probe"), nil, 0o600) == nil {
			writable = append(writable, dir)
		}
	}
	data["env"], data["networks"], data["writable"] = strings.Join(env, " "), strings.Join(networks, " "), strings.Join(writable, " ")
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": "report"}, "data": data}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []any{object},
		"results": []any{map[string]string{"message": "all is seen", "severity": "info"}},
	})
}

// names lists a directory.
func names(dir string) string {
	entries, _ := os.ReadDir(dir)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}
