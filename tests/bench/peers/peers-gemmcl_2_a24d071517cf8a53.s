	.att_syntax
	.file	"2"
	.section	.lrodata.cst32,"aMl",@progbits,32
	.p2align	5, 0x0
.LCPI0_0:
	.quad	4
	.quad	5
	.quad	6
	.quad	7
.LCPI0_1:
	.quad	0
	.quad	1
	.quad	2
	.quad	3
	.section	.lrodata.cst8,"aMl",@progbits,8
	.p2align	3, 0x0
.LCPI0_2:
	.quad	8
	.section	.ltext,"axl",@progbits
	.globl	pack
	.prefalign	4, .Lfunc_end0, nop
	.type	pack,@function
pack:
	endbr64
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	andq	$-8, %rsp
	subq	$152, %rsp
	movq	(%rdi), %rax
	movq	%rax, 72(%rsp)
	movq	8(%rdi), %rax
	movq	%rax, 80(%rsp)
	movslq	48(%rdi), %rcx
	movq	224(%rdi), %rax
	movq	232(%rdi), %rdx
	movq	240(%rdi), %r10
	movq	(%rsi), %r8
	imulq	%rax, %r8
	addq	64(%rdi), %r8
	movq	8(%rsi), %r9
	imulq	%rdx, %r9
	addq	72(%rdi), %r9
	movq	%r9, 64(%rsp)
	movq	16(%rsi), %rsi
	imulq	%r10, %rsi
	addq	80(%rdi), %rsi
	movq	16(%rdi), %r9
	movq	%r9, 48(%rsp)
	movq	24(%rdi), %r9
	movq	%r9, 8(%rsp)
	movq	%rdi, 56(%rsp)
	vmovdqu	32(%rdi), %xmm0
	movq	%r8, 24(%rsp)
	addq	%r8, %rax
	movq	%rax, 104(%rsp)
	movq	%rsi, 16(%rsp)
	addq	%rsi, %r10
	movq	%r10, 88(%rsp)
	movq	%rdx, %rax
	andq	$-8, %rax
	movq	%rax, 96(%rsp)
	vpextrq	$1, %xmm0, %r14
	movq	%rdx, 40(%rsp)
	cmpq	$8, %rdx
	jae	.LBB0_1
.LBB0_12:
	testb	$7, 40(%rsp)
	movq	72(%rsp), %r9
	je	.LBB0_21
	movq	64(%rsp), %rsi
	movq	96(%rsp), %rbx
	addq	%rbx, %rsi
	vmovq	%xmm0, %rax
	movq	56(%rsp), %rdx
	movq	208(%rdx), %rdi
	movq	200(%rdx), %r12
	imulq	%rdi, %r12
	movq	%r12, %rdx
	movq	16(%rsp), %r8
	imulq	%r8, %rdx
	movq	80(%rsp), %r10
	leaq	(%r10,%rdx,4), %r10
	movq	%rax, %rdx
	movq	%rsi, %r15
	imulq	%rsi, %rdx
	movq	%r14, %rsi
	imulq	24(%rsp), %rsi
	shlq	$2, %rsi
	leaq	(%rsi,%rdx,4), %rdx
	movq	8(%rsp), %r11
	movq	%r11, %rsi
	imulq	%r8, %rsi
	leaq	(%rdx,%rsi,4), %rdx
	movq	48(%rsp), %rsi
	leaq	(%rdx,%rsi,4), %rdx
	addq	%rdx, %r9
	subq	%rbx, 40(%rsp)
	shlq	$2, %r12
	movq	%r12, 32(%rsp)
	shlq	$2, %r11
	movq	%r11, 8(%rsp)
	shlq	$2, %r14
	shlq	$2, %rax
	jmp	.LBB0_14
	.p2align	4
.LBB0_20:
	movq	16(%rsp), %rdx
	incq	%rdx
	addq	32(%rsp), %r10
	movq	%r11, %r9
	addq	8(%rsp), %r9
	movq	%rdx, 16(%rsp)
	cmpq	88(%rsp), %rdx
	je	.LBB0_21
.LBB0_14:
	movq	%r9, %r11
	movq	24(%rsp), %rbx
	jmp	.LBB0_15
	.p2align	4
.LBB0_19:
	incq	%rbx
	addq	%r14, %r9
	cmpq	104(%rsp), %rbx
	je	.LBB0_20
.LBB0_15:
	leaq	15(%rbx), %rdx
	testq	%rbx, %rbx
	cmovnsq	%rbx, %rdx
	movq	%rdx, %rsi
	movabsq	$4611686018427387888, %r8
	andq	%r8, %rsi
	movq	%rbx, %r8
	subq	%rsi, %r8
	shrq	$4, %rdx
	imulq	%rdi, %rdx
	addq	%r15, %rdx
	shlq	$6, %rdx
	leaq	(%rdx,%r8,4), %r12
	addq	%r10, %r12
	movq	40(%rsp), %r13
	movq	%r9, %r8
	jmp	.LBB0_16
	.p2align	4
.LBB0_18:
	vmovd	%xmm0, (%r12)
	addq	$64, %r12
	addq	%rax, %r8
	decq	%r13
	je	.LBB0_19
.LBB0_16:
	vpxor	%xmm0, %xmm0, %xmm0
	cmpq	%rcx, %rbx
	jge	.LBB0_18
	vmovd	(%r8), %xmm0
	jmp	.LBB0_18
.LBB0_21:
	leaq	-40(%rbp), %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.LBB0_1:
	vmovq	64(%rsp), %xmm1
	vpbroadcastq	%xmm1, %ymm3
	movabsq	$.LCPI0_0, %rax
	vpaddq	(%rax), %ymm3, %ymm1
	vpbroadcastq	%xmm0, %ymm2
	movabsq	$.LCPI0_1, %rax
	vpaddq	(%rax), %ymm3, %ymm3
	movq	72(%rsp), %rax
	movq	48(%rsp), %rdx
	leaq	(%rax,%rdx,4), %rax
	movq	%rax, 120(%rsp)
	movq	56(%rsp), %rax
	movq	208(%rax), %rdx
	movq	200(%rax), %rax
	movq	%rdx, 136(%rsp)
	imulq	%rdx, %rax
	movq	%rax, 112(%rsp)
	vpsrlq	$32, %ymm2, %ymm4
	vpxor	%xmm5, %xmm5, %xmm5
	movabsq	$.LCPI0_2, %rax
	vpbroadcastq	(%rax), %ymm6
	movq	16(%rsp), %rsi
	jmp	.LBB0_2
	.p2align	4
.LBB0_11:
	movq	128(%rsp), %rsi
	incq	%rsi
	cmpq	88(%rsp), %rsi
	je	.LBB0_12
.LBB0_2:
	movq	%rsi, %rax
	imulq	8(%rsp), %rax
	movq	120(%rsp), %rdx
	leaq	(%rdx,%rax,4), %rax
	movq	%rax, 32(%rsp)
	movq	112(%rsp), %rax
	movq	%rsi, 128(%rsp)
	imulq	%rsi, %rax
	movq	80(%rsp), %rdx
	leaq	(%rdx,%rax,4), %rax
	movq	%rax, 144(%rsp)
	movq	24(%rsp), %r10
	jmp	.LBB0_3
	.p2align	4
.LBB0_10:
	incq	%r10
	cmpq	104(%rsp), %r10
	je	.LBB0_11
.LBB0_3:
	movq	%r10, %rax
	imulq	%r14, %rax
	leaq	15(%r10), %rdi
	testq	%r10, %r10
	cmovnsq	%r10, %rdi
	movq	32(%rsp), %rdx
	leaq	(%rdx,%rax,4), %rax
	movq	%rdi, %r13
	movabsq	$4611686018427387888, %rdx
	andq	%rdx, %r13
	movq	%r10, %rsi
	subq	%r13, %rsi
	sarq	$4, %rdi
	imulq	136(%rsp), %rdi
	vmovq	%rdi, %xmm7
	vpbroadcastq	%xmm7, %ymm7
	movq	144(%rsp), %rdx
	leaq	(%rdx,%rsi,4), %rdi
	movq	96(%rsp), %r13
	vmovdqa	%ymm3, %ymm8
	vmovdqa	%ymm1, %ymm9
	jmp	.LBB0_4
	.p2align	4
.LBB0_7:
	vpextrq	$1, %xmm10, %rdx
	vmovq	%xmm10, %rsi
	vextracti128	$1, %ymm10, %xmm10
	vpextrq	$1, %xmm10, %r8
	vmovq	%xmm11, %r9
	vpextrq	$1, %xmm11, %r11
	vextracti128	$1, %ymm11, %xmm11
	vmovq	%xmm11, %rbx
	vpextrq	$1, %xmm11, %r15
	vmovss	(%rax,%r9,4), %xmm11
	vinsertps	$16, (%rax,%r11,4), %xmm11, %xmm11
	vinsertps	$32, (%rax,%rbx,4), %xmm11, %xmm11
	vmovq	%xmm10, %r9
	vinsertps	$48, (%rax,%r15,4), %xmm11, %xmm10
	vmovss	(%rax,%rsi,4), %xmm11
	vinsertps	$16, (%rax,%rdx,4), %xmm11, %xmm11
	vinsertps	$32, (%rax,%r9,4), %xmm11, %xmm11
	vinsertps	$48, (%rax,%r8,4), %xmm11, %xmm11
.LBB0_8:
	vinsertf128	$1, %xmm10, %ymm11, %ymm10
.LBB0_9:
	vpaddq	%ymm7, %ymm8, %ymm11
	vmovq	%rdi, %xmm12
	vpbroadcastq	%xmm12, %ymm12
	vpsllq	$6, %ymm11, %ymm11
	vpaddq	%ymm11, %ymm12, %ymm11
	vmovq	%xmm11, %rdx
	vmovss	%xmm10, (%rdx)
	vpextrq	$1, %xmm11, %rdx
	vextractps	$1, %xmm10, (%rdx)
	vextracti128	$1, %ymm11, %xmm11
	vmovq	%xmm11, %rdx
	vextractps	$2, %xmm10, (%rdx)
	vpextrq	$1, %xmm11, %rdx
	vpaddq	%ymm7, %ymm9, %ymm11
	vextractps	$3, %xmm10, (%rdx)
	vpsllq	$6, %ymm11, %ymm11
	vpaddq	%ymm11, %ymm12, %ymm11
	vextractf128	$1, %ymm10, %xmm10
	vmovq	%xmm11, %rdx
	vmovss	%xmm10, (%rdx)
	vpextrq	$1, %xmm11, %rdx
	vextractps	$1, %xmm10, (%rdx)
	vextracti128	$1, %ymm11, %xmm11
	vmovq	%xmm11, %rdx
	vextractps	$2, %xmm10, (%rdx)
	vpextrq	$1, %xmm11, %rdx
	vextractps	$3, %xmm10, (%rdx)
	vpaddq	%ymm6, %ymm9, %ymm9
	vpaddq	%ymm6, %ymm8, %ymm8
	addq	$-8, %r13
	je	.LBB0_10
.LBB0_4:
	vxorps	%xmm10, %xmm10, %xmm10
	cmpq	%rcx, %r10
	jge	.LBB0_9
	vpsrlq	$32, %ymm8, %ymm10
	vpmuludq	%ymm2, %ymm10, %ymm10
	vpmuludq	%ymm4, %ymm8, %ymm11
	vpaddq	%ymm10, %ymm11, %ymm10
	vpsllq	$32, %ymm10, %ymm10
	vpmuludq	%ymm2, %ymm8, %ymm11
	vpaddq	%ymm10, %ymm11, %ymm10
	vpsrlq	$32, %ymm9, %ymm11
	vpmuludq	%ymm2, %ymm11, %ymm11
	vpmuludq	%ymm4, %ymm9, %ymm12
	vpaddq	%ymm11, %ymm12, %ymm11
	vpsllq	$32, %ymm11, %ymm11
	vpmuludq	%ymm2, %ymm9, %ymm12
	vpaddq	%ymm11, %ymm12, %ymm11
	vpblendd	$170, %ymm5, %ymm11, %ymm12
	vpblendd	$170, %ymm5, %ymm10, %ymm13
	vpxor	%ymm10, %ymm13, %ymm13
	vpxor	%ymm11, %ymm12, %ymm12
	vpor	%ymm12, %ymm13, %ymm12
	vptest	%ymm12, %ymm12
	jne	.LBB0_7
	vshufps	$136, %ymm11, %ymm10, %ymm10
	vpermpd	$216, %ymm10, %ymm10
	vmovq	%xmm10, %rsi
	movslq	%esi, %r15
	sarq	$32, %rsi
	vpextrq	$1, %xmm10, %r11
	movslq	%r11d, %r8
	vextracti128	$1, %ymm10, %xmm10
	vmovq	%xmm10, %r12
	movslq	%r12d, %r9
	sarq	$32, %r12
	vpextrq	$1, %xmm10, %rbx
	movslq	%ebx, %rdx
	vmovss	(%rax,%r9,4), %xmm10
	vinsertps	$16, (%rax,%r12,4), %xmm10, %xmm10
	vinsertps	$32, (%rax,%rdx,4), %xmm10, %xmm10
	sarq	$32, %rbx
	vinsertps	$48, (%rax,%rbx,4), %xmm10, %xmm10
	vmovss	(%rax,%r15,4), %xmm11
	vinsertps	$16, (%rax,%rsi,4), %xmm11, %xmm11
	vinsertps	$32, (%rax,%r8,4), %xmm11, %xmm11
	sarq	$32, %r11
	vinsertps	$48, (%rax,%r11,4), %xmm11, %xmm11
	jmp	.LBB0_8
.Lfunc_end0:
	.size	pack, .Lfunc_end0-pack

	.ident	"Intel(R) oneAPI DPC++/C++ Compiler 2026.2.0 (2026.2.0.20261001)"
	.section	".note.GNU-stack","",@progbits
