#include "textflag.h"

// The processor waits for memory more than it multiplies: each row's lines are
// asked for AHEAD rows before they are needed.
#define AHEAD 8

// LOAD takes what both kernels have in common off the call at AX.
#define LOAD \
	MOVQ   call+0(FP), AX    \
	MOVQ   0(AX), DI         \ // dst
	MOVQ   8(AX), SI         \ // codes
	MOVQ   16(AX), R12       \ // scale
	MOVQ   24(AX), BX        \ // ids
	MOVQ   32(AX), DX        \ // query
	MOVQ   40(AX), R8        \ // rows left
	MOVQ   48(AX), R9        \ // stride
	VMOVSS 60(AX), X10         // scale of the query

// ROW points R10 at the row, R13 at the one to ask for, and puts the scale of
// the product into X8.
#define ROW \
	MOVL   (BX), R10           \
	VMULSS (R12)(R10*4), X10, X8 \
	IMULQ  R9, R10             \
	ADDQ   SI, R10             \
	MOVQ   R10, R13            \
	CMPQ   R8, $AHEAD          \
	JLE    sum                 \
	MOVL   (4*AHEAD)(BX), R13  \
	IMULQ  R9, R13             \
	ADDQ   SI, R13

// FOLD adds the eight sums of Y0 up in X0.
#define FOLD \
	VEXTRACTI128 $1, Y0, X1    \
	VPADDD       X1, X0, X0    \
	VPSHUFD      $0x4E, X0, X1 \
	VPADDD       X1, X0, X0    \
	VPSHUFD      $0xB1, X0, X1 \
	VPADDD       X1, X0, X0

// STORE writes a score and goes on to the next row.
#define STORE \
	VCVTDQ2PS X0, X0       \
	VMULSS    X8, X0, X0   \
	VMOVSS    X0, (DI)     \
	ADDQ      $4, DI       \
	ADDQ      $4, BX       \
	DECQ      R8

// VPMADDUBSW multiplies unsigned bytes with signed ones and adds pairs: the
// codes lose their signs, which the query's numbers get instead. No sum of two
// is more than 16 bits, as no code is less than -127.

// func dotsAVX2(call *kernelCall)
TEXT ·dotsAVX2(SB), NOSPLIT, $0-8
	LOAD
	VPCMPEQW Y9, Y9, Y9
	VPSRLW   $15, Y9, Y9 // ones
	TESTQ    R8, R8
	JE       done

row:
	ROW

sum:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ  CX, CX

block:
	PREFETCHT0 (R13)(CX*1)
	VMOVDQU    (R10)(CX*1), Y2
	VMOVDQU    32(R10)(CX*1), Y4
	VMOVDQU    (DX)(CX*1), Y3
	VMOVDQU    32(DX)(CX*1), Y5
	VPSIGNB    Y2, Y3, Y3
	VPSIGNB    Y4, Y5, Y5
	VPABSB     Y2, Y2
	VPABSB     Y4, Y4
	VPMADDUBSW Y3, Y2, Y2
	VPMADDUBSW Y5, Y4, Y4
	VPMADDWD   Y9, Y2, Y2
	VPMADDWD   Y9, Y4, Y4
	VPADDD     Y2, Y0, Y0
	VPADDD     Y4, Y1, Y1
	ADDQ       $64, CX
	CMPQ       CX, R9
	JLT        block

	VPADDD Y1, Y0, Y0
	FOLD
	STORE
	JNE row
	VZEROUPPER

done:
	RET

// VPDPBUSD multiplies unsigned bytes with signed ones: the codes get 128 added,
// and 128 times the query's sum is taken off again.

// func dotsVNNI(call *kernelCall)
TEXT ·dotsVNNI(SB), NOSPLIT, $0-8
	LOAD
	VMOVD        56(AX), X12 // 128 times the query's sum
	MOVL         $0x80808080, AX
	VPBROADCASTD AX, Z9
	TESTQ        R8, R8
	JE           done

row:
	ROW

sum:
	VPXORD Z0, Z0, Z0
	XORQ   CX, CX

block:
	PREFETCHT0 (R13)(CX*1)
	VPXORD     (R10)(CX*1), Z9, Z2
	VPDPBUSD   (DX)(CX*1), Z2, Z0
	ADDQ       $64, CX
	CMPQ       CX, R9
	JLT        block

	VEXTRACTI64X4 $1, Z0, Y1
	VPADDD        Y1, Y0, Y0
	FOLD
	VPSUBD        X12, X0, X0
	STORE
	JNE row
	VZEROUPPER

done:
	RET
