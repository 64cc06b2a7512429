package exec

import "os"

func endOf(s *os.ProcessState) ended { return ended{code: s.ExitCode()} }
