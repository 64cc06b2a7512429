//go:build !race

package exec_test

import "time"

const slack = 0 * time.Second
