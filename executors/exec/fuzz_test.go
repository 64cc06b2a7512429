package exec

import (
	"os"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors/internal/sealed"
)

// FuzzInspect inspects the start of files that claim to be programs.
func FuzzInspect(f *testing.F) {
	if self, err := os.ReadFile("/proc/self/exe"); err == nil {
		f.Add(self[:1024])
		f.Add(self[:100])
	}
	for _, text := range []string{"#!/bin/sh\n", "#! /usr/bin/env -S A=b python3 -u\r\n", "#!", "#!sh", "MZ", "\x7fELF", "\xcf\xfa\xed\xfe",
		"text"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		p := &program{Program: &sealed.Program{Head: head}}
		err := p.inspect()
		if err != nil && err.Error() == "" {
			t.Error("an error without text")
		}
		if err == nil && p.script != strings.HasPrefix(string(head), "#!") {
			t.Error("a script that is none")
		}
	})
}
