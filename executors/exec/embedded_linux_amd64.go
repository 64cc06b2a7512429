//go:build embedsandbox

package exec

import _ "embed"

// embedded is the content of the program krmflow-sandbox, built by "make sandbox".
//
//go:embed krmflow-sandbox_linux_amd64
var embedded string
