// Krmflow-sandbox is the sandbox process as a small program, which starts in a quarter of the time
// of krmflow. "make build" embeds it in krmflow for Linux.
package main

import (
	"os"

	_ "github.com/krmflow/krmflow/executors/internal/sandbox" // runs before main
)

// main runs only if an executor did not start the program.
func main() {
	os.Stderr.WriteString("krmflow: a sandbox is started by an executor only\n")
	os.Exit(1)
}
