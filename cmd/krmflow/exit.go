package main

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/internal/cli/exit"
)

// exitCodes describes each exit code. It is printed by help and repeated in README;
// docs/functions.md repeats the codes that concern functions.
var exitCodes = []struct {
	code int
	when string
}{
	{exit.OK, "done"},
	{exit.Input, "the input is wrong or the output folder or file cannot be used"},
	{exit.Usage, "the command line is wrong"},
	{exit.Trust, "a function is not trusted"},
	{exit.Verified, "something is not what it was said to be"},
	{exit.Function, "a function failed"},
	{exit.Limit, "a function used too much, or the tree asks for too much"},
	{exit.Retrieval, "something could not be fetched"},
	{exit.Locked, "another run writes the output"},
	{exit.Changed, "--check found a difference"},
	{exit.Internal, "a bug of krmflow"},
	{exit.Output, "the output was lost while it was written (no space, stdout gone)"},
	{exit.Trouble, "the input is wrong, with diff --exit-code, whose 1 says that something differs"},
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
