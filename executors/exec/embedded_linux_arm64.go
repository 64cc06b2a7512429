//go:build embedsandbox

package exec

import _ "embed"

// embedded is the content of the program krmflow-sandbox, built by "make sandbox".
//
//go:embed krmflow-sandbox_linux_arm64
var embedded string
