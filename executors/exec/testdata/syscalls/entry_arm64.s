#include "textflag.h"

// func bare(nr, stack uintptr) uintptr
TEXT ·bare(SB), NOSPLIT, $0-24
	MOVD nr+0(FP), R8
	MOVD stack+8(FP), R1
	MOVD RSP, R19
	MOVD R1, RSP
	MOVD $0, R0
	MOVD $0, R1
	MOVD $0, R2
	SVC
	MOVD R19, RSP
	MOVD R0, ret+16(FP)
	RET
