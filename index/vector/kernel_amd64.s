#include "textflag.h"

// The processor waits for memory more than it multiplies: each row's lines are
// asked for AHEAD rows before they are needed.
#define AHEAD 8

// func dotBytesAVX2(dst *int32, codes *int8, ids *uint32, q *int16, n, stride int)
TEXT ·dotBytesAVX2(SB), NOSPLIT, $0-48
	MOVQ  dst+0(FP), DI
	MOVQ  codes+8(FP), SI
	MOVQ  ids+16(FP), BX
	MOVQ  q+24(FP), DX
	MOVQ  n+32(FP), R8
	MOVQ  stride+40(FP), R9
	TESTQ R8, R8
	JE    done

row:
	MOVL  (BX), R10
	IMULQ R9, R10
	ADDQ  SI, R10
	MOVQ  R10, R13
	CMPQ  R8, $AHEAD
	JLE   sum
	MOVL  (4*AHEAD)(BX), R13
	IMULQ R9, R13
	ADDQ  SI, R13

sum:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ  CX, CX

block:
	PREFETCHT0 (R13)(CX*1)
	VPMOVSXBW (R10)(CX*1), Y2
	VPMOVSXBW 16(R10)(CX*1), Y3
	VPMADDWD  (DX)(CX*2), Y2, Y2
	VPMADDWD  32(DX)(CX*2), Y3, Y3
	VPADDD    Y2, Y0, Y0
	VPADDD    Y3, Y1, Y1
	ADDQ      $32, CX
	CMPQ      CX, R9
	JLT       block

	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (DI)
	ADDQ         $4, DI
	ADDQ         $4, BX
	DECQ         R8
	JNE          row
	VZEROUPPER

done:
	RET

// func dotBytesVNNI(dst *int32, codes *int8, ids *uint32, q *int8, n, stride int, lift int32)
TEXT ·dotBytesVNNI(SB), NOSPLIT, $0-52
	MOVQ         dst+0(FP), DI
	MOVQ         codes+8(FP), SI
	MOVQ         ids+16(FP), BX
	MOVQ         q+24(FP), DX
	MOVQ         n+32(FP), R8
	MOVQ         stride+40(FP), R9
	MOVL         lift+48(FP), R12
	LEAQ         (DX)(R9*1), R11
	MOVL         $0x80808080, AX
	VPBROADCASTD AX, Z9
	TESTQ        R8, R8
	JE           done

row:
	MOVL  (BX), R10
	IMULQ R9, R10
	ADDQ  SI, R10
	MOVQ  R10, R13
	CMPQ  R8, $AHEAD
	JLE   sum
	MOVL  (4*AHEAD)(BX), R13
	IMULQ R9, R13
	ADDQ  SI, R13

sum:
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	XORQ  CX, CX

block:
	PREFETCHT0 (R13)(CX*1)
	VPXORD   (R10)(CX*1), Z9, Z2
	VPDPBUSD (DX)(CX*1), Z2, Z0
	VPDPBUSD (R11)(CX*1), Z2, Z1
	ADDQ     $64, CX
	CMPQ     CX, R9
	JLT      block

	VPSLLD        $8, Z0, Z0
	VPADDD        Z1, Z0, Z0
	VEXTRACTI64X4 $1, Z0, Y1
	VPADDD        Y1, Y0, Y0
	VEXTRACTI128  $1, Y0, X1
	VPADDD        X1, X0, X0
	VPSHUFD       $0x4E, X0, X1
	VPADDD        X1, X0, X0
	VPSHUFD       $0xB1, X0, X1
	VPADDD        X1, X0, X0
	VMOVD         X0, AX
	SUBL          R12, AX
	MOVL          AX, (DI)
	ADDQ          $4, DI
	ADDQ          $4, BX
	DECQ          R8
	JNE           row
	VZEROUPPER

done:
	RET
