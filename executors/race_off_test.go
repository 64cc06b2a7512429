//go:build !race

package executors_test

import "time"

const slack = 0 * time.Second
