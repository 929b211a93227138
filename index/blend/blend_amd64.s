#include "textflag.h"

// func runAVX2(call *kernelCall, w *Weights, marks *uint64) (above int)
TEXT ·runAVX2(SB), NOSPLIT, $0-32
	MOVQ call+0(FP), AX
	MOVQ w+8(FP), BX
	MOVQ marks+16(FP), DX
	MOVQ 0(AX), DI  // scores
	MOVQ 8(AX), SI  // keywords
	MOVQ 16(AX), R8 // cosines
	MOVQ 24(AX), R9 // sizes
	MOVQ 32(AX), R10 // servers
	MOVQ 40(AX), R11 // priors
	MOVQ 48(AX), R12 // n

	VBROADCASTSS 0(BX), Y8   // keyword
	VBROADCASTSS 4(BX), Y9   // cosine
	VBROADCASTSS 8(BX), Y10  // fixed
	VBROADCASTSS 12(BX), Y11 // slope
	VBROADCASTSS 16(BX), Y7  // relative
	VBROADCASTSS 20(BX), Y12 // floor
	VBROADCASTSS 24(BX), Y13 // least
	VXORPS       Y14, Y14, Y14
	XORQ         CX, CX
	XORQ         R13, R13 // above

loop:
	VMULPS     (SI)(CX*4), Y8, Y0
	VMAXPS     (R8)(CX*4), Y14, Y1
	VMULPS     Y1, Y9, Y1
	VADDPS     Y1, Y0, Y0
	VMOVDQU    (R10)(CX*4), Y2
	VPCMPEQD   Y4, Y4, Y4
	VGATHERDPS Y4, (R11)(Y2*4), Y3
	VADDPS     Y3, Y0, Y0
	VMOVUPS    Y0, (DI)(CX*4)
	VMULPS     (R9)(CX*4), Y11, Y1
	VADDPS     Y1, Y10, Y1
	VMULPS     Y0, Y7, Y2
	VADDPS     Y2, Y1, Y1
	VSUBPS     Y1, Y0, Y2 // lower bound
	VADDPS     Y1, Y0, Y3 // upper bound
	VCMPPS     $13, Y12, Y2, Y2 // lower >= floor
	VCMPPS     $13, Y12, Y3, Y4 // upper >= floor
	VCMPPS     $13, Y13, Y3, Y3 // upper >= least
	VXORPS     Y2, Y4, Y4
	VORPS      Y3, Y4, Y4 // marked
	VANDNPS    Y2, Y4, Y2 // above and not marked
	VMOVMSKPS  Y4, AX
	VMOVMSKPS  Y2, BX
	MOVB       AX, (DX)
	POPCNTL    BX, BX
	ADDQ       BX, R13
	INCQ       DX
	ADDQ       $8, CX
	CMPQ       CX, R12
	JLT        loop

	VZEROUPPER
	MOVQ R13, above+24(FP)
	RET
