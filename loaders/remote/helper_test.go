package remote

import (
	"io"
	"log"
)

// quiet is the log of servers whose clients fail on purpose.
var quiet = log.New(io.Discard, "", 0)
