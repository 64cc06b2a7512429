package exec

import "os"

const openFlags = os.O_RDONLY

func removeAll(dir string) { os.RemoveAll(dir) }
