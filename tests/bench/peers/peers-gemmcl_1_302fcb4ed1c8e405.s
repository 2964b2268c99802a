	.att_syntax
	.file	"1"
	.section	.lrodata.cst4,"aMl",@progbits,4
	.p2align	2, 0x0
.LCPI0_0:
	.long	1
	.section	.ltext,"axl",@progbits
	.globl	gemm
	.prefalign	4, .Lfunc_end0, nop
	.type	gemm,@function
gemm:
	endbr64
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	andq	$-32, %rsp
	subq	$480, %rsp
	movq	(%rdi), %rax
	movq	%rax, 56(%rsp)
	movq	8(%rdi), %rax
	movq	%rax, 80(%rsp)
	movq	16(%rdi), %rdx
	movq	24(%rdi), %r9
	movq	32(%rdi), %rax
	movq	%rax, 120(%rsp)
	movq	40(%rdi), %rax
	movq	%rax, 168(%rsp)
	movq	48(%rdi), %rax
	movq	%rax, 48(%rsp)
	movq	56(%rdi), %r12
	movq	72(%rdi), %rax
	movq	%rax, 64(%rsp)
	movq	80(%rdi), %rax
	movq	%rax, 72(%rsp)
	movq	104(%rdi), %rbx
	vmovups	180(%rdi), %xmm1
	vmovss	184(%rdi), %xmm0
	movq	112(%rdi), %rax
	movq	%rax, 112(%rsp)
	movq	120(%rdi), %rax
	movq	%rax, 184(%rsp)
	movq	128(%rdi), %rax
	movq	%rax, 88(%rsp)
	movq	136(%rdi), %rax
	movq	%rax, 104(%rsp)
	movq	144(%rdi), %rax
	movq	%rax, 96(%rsp)
	movq	152(%rdi), %rax
	movq	%rax, 176(%rsp)
	movq	160(%rdi), %r10
	movl	168(%rdi), %r15d
	movslq	172(%rdi), %rax
	movslq	176(%rdi), %r14
	movq	416(%rdi), %r11
	movq	424(%rdi), %r13
	movq	8(%rsi), %rcx
	imulq	%r11, %rcx
	addq	(%rsi), %rcx
	cmpl	$2, %r14d
	movl	$1, %edi
	cmovgel	%r14d, %edi
	shlq	$4, %rdi
	cmpq	$65536, %rdi
	movq	%rax, 128(%rsp)
	movq	%rdx, 144(%rsp)
	ja	.LBB0_2
	movl	$65536, %eax
	xorl	%edx, %edx
	divl	%edi
	movl	%eax, %r8d
	jmp	.LBB0_3
.LBB0_2:
	xorl	%r8d, %r8d
.LBB0_3:
	cmpq	%r13, %r8
	cmovaeq	%r13, %r8
	cmpq	$1, %r8
	adcq	$0, %r8
	movq	%r8, %rdi
	imulq	%r11, %rdi
	cmpq	$1, %rdi
	adcq	$0, %rdi
	movq	%rcx, %rax
	orq	%rdi, %rax
	shrq	$32, %rax
	movq	%rbx, 136(%rsp)
	je	.LBB0_5
	movq	%rcx, %rax
	xorl	%edx, %edx
	divq	%rdi
	movq	%rax, %rdi
	jmp	.LBB0_6
.LBB0_5:
	movl	%ecx, %eax
	xorl	%edx, %edx
	divl	%edi
	movl	%eax, %edi
.LBB0_6:
	imulq	%r8, %rdi
	movq	%r13, %rbx
	subq	%rdi, %rbx
	cmpq	%rbx, %r8
	cmovbq	%r8, %rbx
	cmpq	%rdi, %r13
	movl	$1, %r8d
	cmovneq	%rbx, %r8
	imulq	%rdi, %r11
	subq	%r11, %rcx
	movq	%rcx, %rax
	shrq	$32, %rax
	movq	%r10, 40(%rsp)
	je	.LBB0_8
	movq	%rcx, %rax
	xorl	%edx, %edx
	divq	%r8
	jmp	.LBB0_9
.LBB0_8:
	movl	%ecx, %eax
	xorl	%edx, %edx
	divl	%r8d
.LBB0_9:
	leal	(,%rax,4), %r8d
	movq	16(%rsi), %rdx
	movq	%r15, 152(%rsp)
	leal	-1(%r15), %esi
	cmpl	%esi, %r8d
	movl	%esi, %r10d
	cmovll	%r8d, %r10d
	leal	1(,%rax,4), %r11d
	cmpl	%esi, %r11d
	cmovgel	%esi, %r11d
	leal	2(,%rax,4), %r13d
	cmpl	%esi, %r13d
	cmovgel	%esi, %r13d
	leal	3(,%rax,4), %r15d
	cmpl	%esi, %r15d
	cmovll	%r15d, %esi
	addl	%edi, %ecx
	imull	%eax, %ebx
	subl	%ebx, %ecx
	shll	$4, %ecx
	movslq	%ecx, %rbx
	testl	%r14d, %r14d
	movq	%rbx, 160(%rsp)
	jle	.LBB0_12
	movq	56(%rsp), %rax
	movq	168(%rsp), %rcx
	leaq	(%rax,%rcx,4), %rax
	movq	48(%rsp), %rcx
	imulq	%rdx, %rcx
	leaq	(%rax,%rcx,4), %rdi
	movslq	%r10d, %rax
	imulq	%r12, %rax
	movslq	%r11d, %rcx
	imulq	%r12, %rcx
	movslq	%r13d, %r10
	imulq	%r12, %r10
	movslq	%esi, %r11
	imulq	%r12, %r11
	leaq	(%rdi,%rax,4), %rax
	leaq	(%rdi,%rcx,4), %rcx
	leaq	(%rdi,%r10,4), %rsi
	leaq	(%rdi,%r11,4), %rdi
	movq	80(%rsp), %r10
	movq	64(%rsp), %r11
	leaq	(%r10,%r11,4), %r10
	movq	72(%rsp), %r11
	imulq	%rdx, %r11
	leaq	(%r10,%r11,4), %r10
	movq	%rbx, %r11
	imulq	%r14, %r11
	leaq	(%r10,%r11,4), %r10
	vxorps	%xmm2, %xmm2, %xmm2
	xorl	%r11d, %r11d
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm4, %xmm4, %xmm4
	vxorps	%xmm7, %xmm7, %xmm7
	vxorps	%xmm8, %xmm8, %xmm8
	vxorps	%xmm9, %xmm9, %xmm9
	vxorps	%xmm5, %xmm5, %xmm5
	vxorps	%xmm6, %xmm6, %xmm6
	movq	40(%rsp), %r15
	.p2align	4
.LBB0_11:
	movq	%r11, %rbx
	shlq	$6, %rbx
	vmovups	(%r10,%rbx), %ymm10
	vmovups	32(%r10,%rbx), %ymm11
	vbroadcastss	(%rax,%r11,4), %ymm12
	vfmadd231ps	%ymm10, %ymm12, %ymm9
	vfmadd231ps	%ymm12, %ymm11, %ymm8
	vbroadcastss	(%rcx,%r11,4), %ymm12
	vfmadd231ps	%ymm10, %ymm12, %ymm7
	vfmadd231ps	%ymm12, %ymm11, %ymm4
	vbroadcastss	(%rsi,%r11,4), %ymm12
	vfmadd231ps	%ymm10, %ymm12, %ymm3
	vfmadd231ps	%ymm12, %ymm11, %ymm2
	vbroadcastss	(%rdi,%r11,4), %ymm12
	vfmadd231ps	%ymm10, %ymm12, %ymm5
	vfmadd231ps	%ymm11, %ymm12, %ymm6
	incq	%r11
	decq	%r14
	jne	.LBB0_11
	jmp	.LBB0_13
.LBB0_12:
	vxorps	%xmm2, %xmm2, %xmm2
	vxorps	%xmm3, %xmm3, %xmm3
	vxorps	%xmm4, %xmm4, %xmm4
	vxorps	%xmm7, %xmm7, %xmm7
	vxorps	%xmm8, %xmm8, %xmm8
	vxorps	%xmm9, %xmm9, %xmm9
	vxorps	%xmm5, %xmm5, %xmm5
	vxorps	%xmm6, %xmm6, %xmm6
	movq	40(%rsp), %r15
.LBB0_13:
	vbroadcastss	%xmm1, %ymm10
	vmulps	%ymm9, %ymm10, %ymm9
	vmovups	%ymm9, 192(%rsp)
	vmulps	%ymm8, %ymm10, %ymm8
	vmovups	%ymm8, 224(%rsp)
	vmulps	%ymm7, %ymm10, %ymm7
	vmovups	%ymm7, 256(%rsp)
	vmulps	%ymm4, %ymm10, %ymm4
	vmovups	%ymm4, 288(%rsp)
	vmulps	%ymm3, %ymm10, %ymm3
	vmovups	%ymm3, 320(%rsp)
	vmulps	%ymm2, %ymm10, %ymm2
	vmovups	%ymm2, 352(%rsp)
	vmulps	%ymm5, %ymm10, %ymm2
	vmovups	%ymm2, 384(%rsp)
	vmulps	%ymm6, %ymm10, %ymm2
	vmovups	%ymm2, 416(%rsp)
	movq	152(%rsp), %rcx
	subl	%r8d, %ecx
	movq	96(%rsp), %rdi
	imulq	%rdx, %rdi
	movq	120(%rsp), %rax
	movq	104(%rsp), %rsi
	leaq	(%rax,%rsi,4), %rax
	leaq	(%rax,%rdi,4), %rax
	movq	%rax, 152(%rsp)
	movabsq	$.LCPI0_0, %rax
	vbroadcastss	(%rax), %ymm2
	vpermps	%ymm1, %ymm2, %ymm1
	movq	112(%rsp), %rsi
	imulq	%rdx, %rsi
	movq	144(%rsp), %rax
	movq	136(%rsp), %rdx
	leaq	(%rax,%rdx,4), %rax
	leaq	(%rax,%rsi,4), %rax
	movq	%rax, 144(%rsp)
	movq	88(%rsp), %r11
	cmpq	$1, %r11
	sete	%al
	leaq	(,%r11,8), %rdx
	subq	%r11, %rdx
	movq	%rdx, 48(%rsp)
	movslq	%r8d, %rdx
	movq	%rdx, 136(%rsp)
	movq	128(%rsp), %rdx
	movq	%rdx, %r8
	movq	160(%rsp), %rdi
	subq	%rdi, %r8
	movq	%r11, %rsi
	imulq	%rdi, %rsi
	movq	%rsi, 120(%rsp)
	cmpq	$8, %r8
	setge	%sil
	andb	%al, %sil
	movb	%sil, 112(%rsp)
	movq	%r15, %r14
	imulq	%rdi, %r14
	leaq	8(%rdi), %rsi
	subq	%rsi, %rdx
	movq	%rsi, %r10
	imulq	%r11, %r10
	movq	%r10, 104(%rsp)
	cmpq	$8, %rdx
	setge	%r10b
	andb	%al, %r10b
	movb	%r10b, 96(%rsp)
	movq	%rsi, 128(%rsp)
	imulq	%rsi, %r15
	cmpl	$4, %ecx
	movl	$4, %eax
	cmovll	%ecx, %eax
	cmpl	$8, %r8d
	movl	$8, %ecx
	movl	$8, %esi
	cmovll	%r8d, %esi
	cmpl	$8, %edx
	cmovll	%edx, %ecx
	movslq	%eax, %r10
	movslq	%esi, %r12
	movslq	%ecx, %rsi
	vxorps	%xmm2, %xmm2, %xmm2
	leaq	(%r11,%r11), %rax
	leaq	(%r11,%r11,2), %rcx
	movq	%rcx, 80(%rsp)
	leaq	(,%r11,4), %rcx
	movq	%rcx, 72(%rsp)
	leaq	(%r11,%r11,4), %rcx
	movq	%rcx, 64(%rsp)
	movq	%rax, 40(%rsp)
	leaq	(%rax,%rax,2), %rax
	movq	%rax, 56(%rsp)
	xorl	%eax, %eax
	cmpq	%r10, %rax
	jl	.LBB0_16
	jmp	.LBB0_14
	.p2align	4
.LBB0_62:
	vmovups	%ymm3, (%rcx)
	incq	%rax
	cmpq	%r10, %rax
	jge	.LBB0_14
.LBB0_16:
	movq	136(%rsp), %rcx
	leaq	(%rax,%rcx), %r11
	movq	%r11, %rcx
	imulq	184(%rsp), %rcx
	vucomiss	%xmm2, %xmm0
	movq	144(%rsp), %rbx
	leaq	(%rbx,%rcx,4), %rbx
	jne	.LBB0_17
	jnp	.LBB0_19
.LBB0_17:
	movq	120(%rsp), %rcx
	leaq	(%rbx,%rcx,4), %r13
	cmpb	$0, 112(%rsp)
	je	.LBB0_20
	vmovups	(%r13), %ymm3
	jmp	.LBB0_33
	.p2align	4
.LBB0_19:
	vxorps	%xmm3, %xmm3, %xmm3
	jmp	.LBB0_34
	.p2align	4
.LBB0_20:
	testq	%r8, %r8
	jle	.LBB0_23
	vmovss	(%r13), %xmm3
	vmovss	%xmm3, 8(%rsp)
	cmpq	$1, %r8
	je	.LBB0_22
	movq	88(%rsp), %rcx
	vmovss	(%r13,%rcx,4), %xmm3
	vmovss	%xmm3, 12(%rsp)
	cmpq	$2, %r8
	jbe	.LBB0_27
	movq	40(%rsp), %rcx
	vmovss	(%r13,%rcx,4), %xmm3
	vmovss	%xmm3, 16(%rsp)
	cmpq	$3, %r8
	je	.LBB0_28
	movq	80(%rsp), %rcx
	vmovss	(%r13,%rcx,4), %xmm3
	vmovss	%xmm3, 20(%rsp)
	cmpq	$4, %r8
	jbe	.LBB0_29
	movq	72(%rsp), %rcx
	vmovss	(%r13,%rcx,4), %xmm3
	vmovss	%xmm3, 24(%rsp)
	cmpq	$5, %r8
	je	.LBB0_30
	movq	64(%rsp), %rcx
	vmovss	(%r13,%rcx,4), %xmm3
	vmovss	%xmm3, 28(%rsp)
	cmpq	$6, %r8
	jbe	.LBB0_31
	movq	56(%rsp), %rcx
	vmovss	(%r13,%rcx,4), %xmm3
	vmovss	%xmm3, 32(%rsp)
	vxorps	%xmm3, %xmm3, %xmm3
	cmpq	$7, %r8
	je	.LBB0_32
	movq	48(%rsp), %rcx
	vmovss	(%r13,%rcx,4), %xmm3
	jmp	.LBB0_32
.LBB0_23:
	movl	$0, 8(%rsp)
.LBB0_22:
	movl	$0, 12(%rsp)
.LBB0_27:
	movl	$0, 16(%rsp)
.LBB0_28:
	movl	$0, 20(%rsp)
.LBB0_29:
	movl	$0, 24(%rsp)
.LBB0_30:
	movl	$0, 28(%rsp)
.LBB0_31:
	movl	$0, 32(%rsp)
	vxorps	%xmm3, %xmm3, %xmm3
.LBB0_32:
	vmovss	%xmm3, 36(%rsp)
	vmovups	8(%rsp), %ymm3
.LBB0_33:
	vmulps	%ymm3, %ymm1, %ymm3
.LBB0_34:
	imulq	176(%rsp), %r11
	movq	152(%rsp), %rcx
	leaq	(%rcx,%r11,4), %r11
	movq	%rax, %r13
	shlq	$6, %r13
	vaddps	192(%rsp,%r13), %ymm3, %ymm3
	leaq	(%r11,%r14,4), %rcx
	vaddps	(%r9,%rdi,4), %ymm3, %ymm3
	cmpq	$8, %r8
	jl	.LBB0_36
	vmovups	%ymm3, (%rcx)
	jmp	.LBB0_39
	.p2align	4
.LBB0_36:
	movq	%r9, %rdi
	movq	%rdx, %r9
	movq	%r15, %rdx
	vmovups	%ymm3, 8(%rsp)
	xorl	%r15d, %r15d
	cmpq	%r12, %r15
	jge	.LBB0_38
	.p2align	4
.LBB0_37:
	vmovss	8(%rsp,%r15,4), %xmm3
	vmovss	%xmm3, (%rcx,%r15,4)
	incq	%r15
	cmpq	%r12, %r15
	jl	.LBB0_37
.LBB0_38:
	movq	%rdx, %r15
	movq	%r9, %rdx
	movq	%rdi, %r9
	movq	160(%rsp), %rdi
.LBB0_39:
	vucomiss	%xmm2, %xmm0
	jne	.LBB0_40
	jnp	.LBB0_42
.LBB0_40:
	movq	104(%rsp), %rcx
	leaq	(%rbx,%rcx,4), %rbx
	cmpb	$0, 96(%rsp)
	je	.LBB0_43
	vmovups	(%rbx), %ymm3
	jmp	.LBB0_60
	.p2align	4
.LBB0_42:
	vxorps	%xmm3, %xmm3, %xmm3
	jmp	.LBB0_61
	.p2align	4
.LBB0_43:
	testq	%rdx, %rdx
	jle	.LBB0_52
	vmovss	(%rbx), %xmm3
	vmovss	%xmm3, 8(%rsp)
	cmpq	$1, %rdx
	je	.LBB0_53
	movq	88(%rsp), %rcx
	vmovss	(%rbx,%rcx,4), %xmm3
	vmovss	%xmm3, 12(%rsp)
	cmpq	$3, %rdx
	jb	.LBB0_54
	movq	40(%rsp), %rcx
	vmovss	(%rbx,%rcx,4), %xmm3
	vmovss	%xmm3, 16(%rsp)
	je	.LBB0_55
	movq	80(%rsp), %rcx
	vmovss	(%rbx,%rcx,4), %xmm3
	vmovss	%xmm3, 20(%rsp)
	cmpq	$5, %rdx
	jb	.LBB0_56
	movq	72(%rsp), %rcx
	vmovss	(%rbx,%rcx,4), %xmm3
	vmovss	%xmm3, 24(%rsp)
	je	.LBB0_57
	movq	64(%rsp), %rcx
	vmovss	(%rbx,%rcx,4), %xmm3
	vmovss	%xmm3, 28(%rsp)
	cmpq	$7, %rdx
	jb	.LBB0_58
	movq	56(%rsp), %rcx
	vmovss	(%rbx,%rcx,4), %xmm3
	vmovss	%xmm3, 32(%rsp)
	vxorps	%xmm3, %xmm3, %xmm3
	je	.LBB0_59
	movq	48(%rsp), %rcx
	vmovss	(%rbx,%rcx,4), %xmm3
	jmp	.LBB0_59
.LBB0_52:
	movl	$0, 8(%rsp)
.LBB0_53:
	movl	$0, 12(%rsp)
.LBB0_54:
	movl	$0, 16(%rsp)
.LBB0_55:
	movl	$0, 20(%rsp)
.LBB0_56:
	movl	$0, 24(%rsp)
.LBB0_57:
	movl	$0, 28(%rsp)
.LBB0_58:
	movl	$0, 32(%rsp)
	vxorps	%xmm3, %xmm3, %xmm3
.LBB0_59:
	vmovss	%xmm3, 36(%rsp)
	vmovups	8(%rsp), %ymm3
.LBB0_60:
	vmulps	%ymm3, %ymm1, %ymm3
.LBB0_61:
	vaddps	224(%rsp,%r13), %ymm3, %ymm3
	leaq	(%r11,%r15,4), %rcx
	movq	128(%rsp), %r11
	vaddps	(%r9,%r11,4), %ymm3, %ymm3
	cmpq	$7, %rdx
	jg	.LBB0_62
	vmovups	%ymm3, 8(%rsp)
	xorl	%r11d, %r11d
	cmpq	%rsi, %r11
	jge	.LBB0_15
	.p2align	4
.LBB0_64:
	vmovss	8(%rsp,%r11,4), %xmm3
	vmovss	%xmm3, (%rcx,%r11,4)
	incq	%r11
	cmpq	%rsi, %r11
	jl	.LBB0_64
.LBB0_15:
	incq	%rax
	cmpq	%r10, %rax
	jl	.LBB0_16
.LBB0_14:
	leaq	-40(%rbp), %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end0:
	.size	gemm, .Lfunc_end0-gemm

	.ident	"Intel(R) oneAPI DPC++/C++ Compiler 2026.2.0 (2026.2.0.20261001)"
	.section	".note.GNU-stack","",@progbits
