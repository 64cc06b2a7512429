package krmflow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestRowsNameExistingTests checks the tables in docs/rows, which list the tests of each
// requirement. Every script named by a row exists and has the row's id in a comment, every test
// exists, nothing is left out without a reason, and no row occurs twice.
func TestRowsNameExistingTests(t *testing.T) {
	files, _ := filepath.Glob("docs/rows/*.md")
	if len(files) == 0 {
		t.Fatal("there are no tables")
	}
	seen := map[string]string{}
	defer func() {
		for _, id := range everyRow() {
			if seen[id] == "" {
				t.Errorf("no table has %s", id)
			}
		}
	}()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range tableRows(string(data)) {
			if len(row) != 4 {
				t.Errorf("%s: %q has %d columns: a row is | id | sentence | shown by | note |", file, row[0], len(row))
				continue
			}
			id, sentence, shown, note := row[0], row[1], row[2], row[3]
			if !rowID.MatchString(id) || sentence == "" {
				t.Errorf("%s: %q is no row id with a sentence", file, id)
			}
			if first, ok := seen[id]; ok {
				t.Errorf("%s: %s occurs in %s, too", file, id, first)
			}
			seen[id] = file
			if shown == "-" {
				if note == "" {
					t.Errorf("%s: %s is not shown, and there is no reason", file, id)
				}
				continue
			}
			for name := range strings.SplitSeq(shown, ",") {
				if why := showsRow(strings.Trim(strings.TrimSpace(name), "`"), id); why != "" {
					t.Errorf("%s: %s: %s", file, id, why)
				}
			}
		}
	}
}

// everyRow returns the ids of all rows, except for ids that end in a letter. The list has the last
// id of each kind.
func everyRow() (ids []string) {
	const last = `
	B15 BT-11 C10 CA-07 CD-11 CE-10 CF-40 CI-16 CL-20 CM-12 CO-26 CP-16 CR-30 CT-17 CV-14 DO-07 DP-07 EX-16 G04 GC-16 GR-20 IM-18
	IV-20 K10 KC-09 KT-09 KX-11 L06 LA-09 MS-14 N17 P30 PR-23 R14 RA-10 RL-24 ST-05 T28 TP-08 TR-35 VW-09 WR-09 X32 XC-12 XP-15 Y27`
	for _, id := range strings.Fields(last) {
		kind := strings.TrimRight(id, "0123456789")
		digits := id[len(kind):]
		n, _ := strconv.Atoi(digits)
		width := len(digits)
		if kind == "B" {
			width = 1
		}
		for i := range n {
			if id := fmt.Sprintf("%s%0*d", kind, width, i+1); id != "P18" && id != "P19" {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

var rowID = regexp.MustCompile(`^[A-Z]+-?[0-9]+[a-z]?$`)

// tableRows returns the cells of all table rows of a text, without table headers.
func tableRows(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !ok || strings.HasPrefix(line, "---") || strings.HasPrefix(strings.TrimSpace(line), "id |") {
			continue
		}
		var row []string
		for cell := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|") {
			row = append(row, strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|")))
		}
		rows = append(rows, row)
	}
	return rows
}

// showsRow returns the reason why name, a script or package.Test, does not show the row; empty if
// it does.
func showsRow(name, id string) string {
	if strings.HasSuffix(name, ".txtar") {
		data, err := os.ReadFile("testdata/script/" + name)
		if err != nil {
			return "there is no script " + name
		}
		script, _, _ := strings.Cut(string(data), "\n-- ")
		for line := range strings.Lines(script) {
			if comment, ok := strings.CutPrefix(line, "#"); ok && containsWord(comment, id) {
				return ""
			}
		}
		return "no comment of " + name + " names it"
	}
	dir, test, ok := strings.Cut(name, ".")
	if !ok || !strings.HasPrefix(test, "Test") && !strings.HasPrefix(test, "Fuzz") {
		return name + " is neither a script nor package.TestName"
	}
	if dir == "krmflow" { // the package of this test
		dir = "."
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), "\nfunc "+test+"(") {
			return ""
		}
	}
	return "there is no test " + name
}

func containsWord(text, word string) bool {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,.:;()\n", r) }) {
		if w == word {
			return true
		}
	}
	return false
}
