//go:build amd64 && !purego

#include "textflag.h"

// func productAVX2(a *byte, b *int16, n int) int32
//
// Y0 holds eight sums. Each step widens sixteen int8 to int16, multiplies them by those
// at DI and adds pairs.
TEXT ·productAVX2(SB), NOSPLIT, $0-28
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	VPXOR Y0, Y0, Y0
step:
	VPMOVSXBW (SI), Y1
	VPMADDWD (DI), Y1, Y1
	VPADDD Y1, Y0, Y0
	ADDQ $16, SI
	ADDQ $32, DI
	SUBQ $16, CX
	JNZ step
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VPADDD X1, X0, X0
	VMOVD X0, AX
	VZEROUPPER
	MOVL AX, ret+24(FP)
	RET
