//go:build !unix

package loaders

import "os"

// An identity tells files apart. Here only their names do.
type identity struct{ size int64 }

func identify(*os.File) identity { return identity{} }
