package exec

import "os"

const openFlags = os.O_RDONLY
