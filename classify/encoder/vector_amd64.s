//go:build amd64 && !purego

#include "textflag.h"

// Y0 to Y7 hold the sums of a tile: two registers of eight columns for each of four
// rows. SI and R11 to R13 are the rows of x, CX is their distance in floats. DI is
// the first row of the outcome, DX their distance in floats.
#define BEGIN \
	LEAQ (SI)(CX*4), R11; \
	LEAQ (R11)(CX*4), R12; \
	LEAQ (R12)(CX*4), R13; \
	VXORPS Y0, Y0, Y0; \
	VXORPS Y1, Y1, Y1; \
	VXORPS Y2, Y2, Y2; \
	VXORPS Y3, Y3, Y3; \
	VXORPS Y4, Y4, Y4; \
	VXORPS Y5, Y5, Y5; \
	VXORPS Y6, Y6, Y6; \
	VXORPS Y7, Y7, Y7

// ADD adds number AX of the rows of x, each times the 16 weights at BX.
#define ADD \
	VPMOVSXBD (BX), Y8; \
	VPMOVSXBD 8(BX), Y9; \
	VCVTDQ2PS Y8, Y8; \
	VCVTDQ2PS Y9, Y9; \
	VBROADCASTSS (SI)(AX*4), Y10; \
	VBROADCASTSS (R11)(AX*4), Y11; \
	VBROADCASTSS (R12)(AX*4), Y12; \
	VBROADCASTSS (R13)(AX*4), Y13; \
	VFMADD231PS Y8, Y10, Y0; \
	VFMADD231PS Y9, Y10, Y1; \
	VFMADD231PS Y8, Y11, Y2; \
	VFMADD231PS Y9, Y11, Y3; \
	VFMADD231PS Y8, Y12, Y4; \
	VFMADD231PS Y9, Y12, Y5; \
	VFMADD231PS Y8, Y13, Y6; \
	VFMADD231PS Y9, Y13, Y7

// END stores the sums times the scales at R9, plus the bias at R10.
#define END \
	VMOVUPS (R9), Y8; \
	VMOVUPS 32(R9), Y9; \
	VMOVUPS (R10), Y10; \
	VMOVUPS 32(R10), Y11; \
	VFMADD213PS Y10, Y8, Y0; \
	VFMADD213PS Y11, Y9, Y1; \
	VFMADD213PS Y10, Y8, Y2; \
	VFMADD213PS Y11, Y9, Y3; \
	VFMADD213PS Y10, Y8, Y4; \
	VFMADD213PS Y11, Y9, Y5; \
	VFMADD213PS Y10, Y8, Y6; \
	VFMADD213PS Y11, Y9, Y7; \
	SHLQ $2, DX; \
	VMOVUPS Y0, (DI); \
	VMOVUPS Y1, 32(DI); \
	ADDQ DX, DI; \
	VMOVUPS Y2, (DI); \
	VMOVUPS Y3, 32(DI); \
	ADDQ DX, DI; \
	VMOVUPS Y4, (DI); \
	VMOVUPS Y5, 32(DI); \
	ADDQ DX, DI; \
	VMOVUPS Y6, (DI); \
	VMOVUPS Y7, 32(DI); \
	VZEROUPPER

// func tileAVX2(out []float32, outWidth int, x []float32, xWidth int, panel []int8, scales, bias []float32)
TEXT ·tileAVX2(SB), NOSPLIT, $0-136
	MOVQ out_base+0(FP), DI
	MOVQ outWidth+24(FP), DX
	MOVQ x_base+32(FP), SI
	MOVQ xWidth+56(FP), CX
	MOVQ panel_base+64(FP), BX
	MOVQ panel_len+72(FP), R8
	MOVQ scales_base+88(FP), R9
	MOVQ bias_base+112(FP), R10
	SHRQ $4, R8
	BEGIN
	XORQ AX, AX

row:
	ADD
	ADDQ $16, BX
	INCQ AX
	CMPQ AX, R8
	JLT row
	END
	RET

// func sparseTileAVX2(out []float32, outWidth int, x []float32, xWidth int, panel []int8, scales, bias []float32, active []int32)
TEXT ·sparseTileAVX2(SB), NOSPLIT, $0-160
	MOVQ out_base+0(FP), DI
	MOVQ outWidth+24(FP), DX
	MOVQ x_base+32(FP), SI
	MOVQ xWidth+56(FP), CX
	MOVQ panel_base+64(FP), R15
	MOVQ scales_base+88(FP), R9
	MOVQ bias_base+112(FP), R10
	MOVQ active_base+136(FP), R8
	BEGIN
	MOVQ active_len+144(FP), CX
	LEAQ (R8)(CX*4), CX
	JMP check

row:
	MOVLQSX (R8), AX
	MOVQ AX, BX
	SHLQ $4, BX
	ADDQ R15, BX
	ADD
	ADDQ $4, R8

check:
	CMPQ R8, CX
	JLT row
	END
	RET

// func dotAVX2(a, b []float32) float32
TEXT ·dotAVX2(SB), NOSPLIT, $0-52
	MOVQ a_base+0(FP), SI
	MOVQ a_len+8(FP), CX
	MOVQ b_base+24(FP), DI
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	XORQ AX, AX

sixteen:
	VMOVUPS (SI)(AX*4), Y2
	VMOVUPS 32(SI)(AX*4), Y3
	VFMADD231PS (DI)(AX*4), Y2, Y0
	VFMADD231PS 32(DI)(AX*4), Y3, Y1
	ADDQ $16, AX
	CMPQ AX, CX
	JLT sixteen

	VADDPS Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VHADDPS X0, X0, X0
	VHADDPS X0, X0, X0
	VMOVSS X0, ret+48(FP)
	VZEROUPPER
	RET

// func addTimesAVX2(y, x []float32, factor float32)
TEXT ·addTimesAVX2(SB), NOSPLIT, $0-52
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	VBROADCASTSS factor+48(FP), Y0
	XORQ AX, AX

sixteen:
	VMOVUPS (DI)(AX*4), Y1
	VMOVUPS 32(DI)(AX*4), Y2
	VFMADD231PS (SI)(AX*4), Y0, Y1
	VFMADD231PS 32(SI)(AX*4), Y0, Y2
	VMOVUPS Y1, (DI)(AX*4)
	VMOVUPS Y2, 32(DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, CX
	JLT sixteen
	VZEROUPPER
	RET
