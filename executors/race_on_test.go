//go:build race

package executors_test

import "time"

// slack is how much longer things may take: a program with the race detector waits for a second when it ends.
const slack = 4 * time.Second
