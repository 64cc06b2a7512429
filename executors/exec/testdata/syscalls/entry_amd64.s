#include "textflag.h"

// func interrupt(nr, a, b, c uint32) uint32
TEXT ·interrupt(SB), NOSPLIT, $0-20
	MOVL nr+0(FP), AX
	MOVL a+4(FP), BX
	MOVL b+8(FP), CX
	MOVL c+12(FP), DX
	XORL SI, SI
	XORL DI, DI
	INT  $0x80
	MOVL AX, ret+16(FP)
	RET

// func bare(nr, stack uintptr) uintptr
TEXT ·bare(SB), NOSPLIT, $0-24
	MOVQ nr+0(FP), AX
	MOVQ stack+8(FP), BX
	MOVQ SP, R12
	XORL DI, DI
	XORL SI, SI
	XORL DX, DX
	MOVQ BX, SP
	SYSCALL
	MOVQ R12, SP
	TESTQ AX, AX
	JNE  back
	MOVL $60, AX // vfork's child must not return to what its parent needs
	XORL DI, DI
	SYSCALL

back:
	MOVQ AX, ret+16(FP)
	RET
