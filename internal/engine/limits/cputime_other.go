//go:build !unix

package limits

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
