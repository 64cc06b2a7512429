//go:build !unix

package profile

import "time"

// cpuTime returns 0: the processor time is unknown on this system.
func cpuTime() time.Duration { return 0 }
