//go:build !unix

package loaders

import "os"

// An identity tells files apart. Here only their names do.
type identity struct{ _ byte }

func identify(*os.File) (identity, int64) { return identity{}, 0 }
