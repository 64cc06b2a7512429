package exec_test

import (
	"os"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Functions in every common language start in every sandbox and work: they read a list, use a
// temporary file, threads and children, and write the list.
func TestLanguagesRunInSandbox(t *testing.T) {
	const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n"
	r := self(t)
	fallbacks(t, false, func(t *testing.T, iso exec.Isolation) {
		for name, text := range scripts {
			t.Run(name, func(t *testing.T) {
				if name == "java" || name == "node" || name == "perl" {
					longtest.Only(t)
				}
				f := r.program(t, "kyaml")
				if text != "" {
					interpreter, _, _ := strings.Cut(strings.TrimPrefix(text, "#!"), "\n")
					if _, err := os.Stat(strings.Fields(interpreter)[0]); err != nil {
						t.Skip(err)
					}
					f = r.script(t, name, text)
				}
				x := exec.NewWith(iso)
				defer x.Close()
				if out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(list)}); err != nil || out.List.String() != list {
					t.Errorf("%v: %q\n%s", err, out.List, out.Stderr)
				}
			})
		}
	})
}

// scripts are functions that copy their input to their output. The one without a text is a static
// Go program.
var scripts = map[string]string{
	"go": "",
	"sh": "#!/bin/sh\ncat | sed -n p\n",
	"bash": `#!/bin/bash
set -euo pipefail
file=$(mktemp)
cat > "$file"
mapfile -t lines < <(cat "$file")
printf '%s\n' "${lines[@]}" | (read -r first; echo "$first"; cat) &
wait
`,
	"perl": `#!/usr/bin/perl
use strict;
use File::Temp;
my ($file, $name) = File::Temp::tempfile();
print $file $_ while <STDIN>;
close $file;
print qx(cat $name);
`,
	"python": `#!/usr/bin/python3
import concurrent.futures, hashlib, json, random, socket, subprocess, sys, tempfile
text = sys.stdin.read()
with tempfile.NamedTemporaryFile("w+") as f, concurrent.futures.ThreadPoolExecutor(4) as pool:
    f.write(text)
    f.flush()
    parts = list(pool.map(lambda n: subprocess.run(["cat", f.name], capture_output=True, text=True, check=True).stdout, range(4)))
assert parts == [text] * 4 and json.loads(json.dumps(parts)) == parts
sys.stdout.write(parts[0])
`,
	"node": `#!/usr/bin/node
const { readFileSync, writeFileSync, mkdtempSync } = require("fs");
const { execFileSync } = require("child_process");
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
if (isMainThread) {
  const file = mkdtempSync(require("os").tmpdir() + "/fn-") + "/list";
  writeFileSync(file, readFileSync(0));
  new Worker(__filename, { workerData: execFileSync("cat", [file]).toString() }).on("message", (text) => process.stdout.write(text));
} else {
  parentPort.postMessage(workerData);
}
`,
	"java": `#!/usr/bin/java --source 11
import java.nio.file.*;
import java.util.concurrent.*;

public class Copy {
  public static void main(String[] args) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    Path file = Files.createTempFile(Path.of(System.getenv("TMPDIR")), "list", ".yaml");
    Files.write(file, System.in.readAllBytes());
    System.out.write(pool.submit(() -> new ProcessBuilder("cat", file.toString()).start().getInputStream().readAllBytes()).get());
    System.out.flush();
    pool.shutdown();
  }
}
`,
}
