#include "vgpu/cold_call.h"

namespace kernelsmith::vgpu {

// Saves all that a function may change: integer registers on the stack, vector and mask registers
// by xsave (components 1, 2, 5, 6 and 7: SSE, AVX and the three of AVX-512; those that the machine
// does not have are left out by it). The stack may be aligned in any way.
asm(R"(
  .text
  .p2align 4
  .globl kernelsmith_cold_call
  .hidden kernelsmith_cold_call
  .type kernelsmith_cold_call, @function
kernelsmith_cold_call:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rbx
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  subq $4096, %rsp
  andq $-64, %rsp
  xorl %eax, %eax
  movq %rax, 512(%rsp)
  movq %rax, 520(%rsp)
  movq %rax, 528(%rsp)
  movq %rax, 536(%rsp)
  movq %rax, 544(%rsp)
  movq %rax, 552(%rsp)
  movq %rax, 560(%rsp)
  movq %rax, 568(%rsp)
  movq %rdx, %r10
  xorl %edx, %edx
  movl $0xe6, %eax
  xsave (%rsp)
  movq %r10, %rdx
  vzeroupper
  callq *kernelsmith_cold_function(%rip)
  movl %eax, %ebx
  xorl %edx, %edx
  movl $0xe6, %eax
  xrstor (%rsp)
  movl %ebx, %eax
  leaq -72(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rbx
  popq %rbp
  retq
  .size kernelsmith_cold_call, . - kernelsmith_cold_call
)");

}  // namespace kernelsmith::vgpu
