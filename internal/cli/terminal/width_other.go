//go:build !unix

package terminal

import "os"

func width(*os.File) int { return 0 }
