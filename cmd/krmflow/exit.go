package main

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/internal/cli/exit"
)

// exitCodes describes each exit code. It is printed by help and repeated in
// docs/exit-codes.md; docs/functions.md repeats the codes that concern functions.
var exitCodes = []struct {
	code int
	when string
}{
	{exit.OK, "done"},
	{exit.Input, "invalid input, or the output cannot be written"},
	{exit.Usage, "invalid command line"},
	{exit.Trust, "a function is not trusted"},
	{exit.Verified, "verification failed"},
	{exit.Function, "a function failed"},
	{exit.Limit, "a resource limit was exceeded"},
	{exit.Retrieval, "fetching failed"},
	{exit.Locked, "another run is writing the output"},
	{exit.Changed, "--check found a difference"},
	{exit.Danger, "diff --exit-code found a finding of level error"},
	{exit.Internal, "internal error"},
	{exit.Output, "the output was lost (no space left, stdout closed)"},
	{exit.Trouble, "an error with diff --exit-code, where 1 means differences"},
	{exit.Signal + 2, "interrupted"},
	{exit.Signal + 15, "terminated"},
}

// exitHelp returns the exit codes as a sentence, wrapped at width bytes.
func exitHelp(width int) string {
	var list []string
	for _, e := range exitCodes {
		list = append(list, fmt.Sprintf("%d %s", e.code, e.when))
	}
	text := "Exit"
	line := len(text)
	for word := range strings.FieldsSeq("codes: " + strings.Join(list, ", ") + ".") {
		between := " "
		if line+1+len(word) > width {
			between, line = "\n", -1
		}
		text += between + word
		line += 1 + len(word)
	}
	return text
}
