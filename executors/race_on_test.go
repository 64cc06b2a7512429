//go:build race

package executors_test

import "time"

// slack is the extra time that things may take. A program with the race detector waits for a second
// when it ends.
const slack = 4 * time.Second
