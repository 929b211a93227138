#include "textflag.h"

// The row's address depends on nothing computed for the row before, so the
// processor fetches several rows at once while it multiplies one.

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
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ  CX, CX

block:
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

// func dotWordsAVX2(dst *int32, codes *int16, ids *uint32, q *int16, n, stride int)
TEXT ·dotWordsAVX2(SB), NOSPLIT, $0-48
	MOVQ  dst+0(FP), DI
	MOVQ  codes+8(FP), SI
	MOVQ  ids+16(FP), BX
	MOVQ  q+24(FP), DX
	MOVQ  n+32(FP), R8
	MOVQ  stride+40(FP), R9
	ADDQ  R9, R9
	TESTQ R8, R8
	JE    done

row:
	MOVL  (BX), R10
	IMULQ R9, R10
	ADDQ  SI, R10
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ  CX, CX

block:
	VMOVDQU  (R10)(CX*1), Y2
	VMOVDQU  32(R10)(CX*1), Y3
	VPMADDWD (DX)(CX*1), Y2, Y2
	VPMADDWD 32(DX)(CX*1), Y3, Y3
	VPADDD   Y2, Y0, Y0
	VPADDD   Y3, Y1, Y1
	ADDQ     $64, CX
	CMPQ     CX, R9
	JLT      block

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
