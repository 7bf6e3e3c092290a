#include "compiler/codegen/firmware/startup.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace edgekiln::compiler {
namespace {

// x1 to x4 are free before anything is called. The linker must not use gp.
constexpr char kRiscv[] = R"(/* Made by edgekiln. */
    .option norelax
    .section .init, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    la sp, ek_stack_top
#ifdef __riscv_flen
    li a0, 0x2000 /* mstatus.FS: floats on */
    csrs mstatus, a0
#endif
    la a0, ek_data_load
    la a1, ek_data_start
    la a2, ek_data_end
1:  bgeu a1, a2, 2f
    lw a3, 0(a0)
    sw a3, 0(a1)
    addi a0, a0, 4
    addi a1, a1, 4
    j 1b
2:  la a1, ek_bss_start
    la a2, ek_bss_end
3:  bgeu a1, a2, 4f
    sw zero, 0(a1)
    addi a1, a1, 4
    j 3b
4:  call $_reset
    li a0, 0
    j ek_exit
    .size _start, . - _start

/* One inference. */
    .globl ek_run
    .type ek_run, @function
ek_run:
    la sp, ek_stack_top
    call $_invoke
    j ek_exit
    .size ek_run, . - ek_run

/* Tells the exit device how it went: a0 is 0, or what went wrong. */
    .type ek_exit, @function
ek_exit:
    li a1, 0x100000
    li a2, 0x5555
    beqz a0, 5f
    slli a0, a0, 16
    li a2, 0x3333
    or a2, a2, a0
5:  sw a2, 0(a1)
6:  j 6b
    .size ek_exit, . - ek_exit
)";

constexpr char kArm[] = R"(/* Made by edgekiln. */
    .syntax unified
    .thumb
    .section .init, "ax", %progbits
    .word ek_stack_top
    .word _start
    .word ek_halt /* NMI */
    .word ek_halt /* HardFault */
    .thumb_func
    .globl _start
_start:
#if defined(__ARM_FP)
    ldr r0, =0xe000ed88 /* CPACR: floats on */
    ldr r1, =0x00f00000
    str r1, [r0]
    dsb
    isb
#endif
    ldr r0, =ek_data_load
    ldr r1, =ek_data_start
    ldr r2, =ek_data_end
    b 2f
1:  ldr r3, [r0]
    str r3, [r1]
    adds r0, #4
    adds r1, #4
2:  cmp r1, r2
    bcc 1b
    ldr r1, =ek_bss_start
    ldr r2, =ek_bss_end
    movs r3, #0
    b 4f
3:  str r3, [r1]
    adds r1, #4
4:  cmp r1, r2
    bcc 3b
    bl $_reset
    .thumb_func
    .globl ek_run
ek_run:
    bl $_invoke
    .thumb_func
ek_halt:
    b ek_halt
    .ltorg
)";

constexpr char kX86[] = R"(/* Made by edgekiln. */
    .section .init, "ax", @progbits
    .globl _start
_start:
    call $_reset
    .globl ek_run
ek_run:
    call $_invoke
    mov %eax, %edi
    mov $60, %eax /* Linux: exit() */
    syscall
)";

}  // namespace

std::string StartText(v1::Processor processor, absl::string_view prefix) {
  absl::string_view text = kArm;
  switch (processor) {
    case v1::RV32IM:
    case v1::RV32IMC:
    case v1::RV32IMF:
      text = kRiscv;
      break;
    case v1::X86_64:
      text = kX86;
      break;
    default:
      break;
  }
  return absl::StrReplaceAll(text, {{"$_", absl::StrCat(prefix, "_")}});
}

std::string LinkerScript(const v1::ResolvedMemory& flash,
                         const v1::ResolvedMemory& ram,
                         absl::string_view prefix) {
  return absl::StrFormat(
      R"(/* Made by edgekiln. */
ENTRY(_start)
MEMORY {
  FLASH (rx) : ORIGIN = 0x%x,
    LENGTH = DEFINED(ek_flash_bytes) ? ek_flash_bytes : %d
  RAM (rw) : ORIGIN = 0x%x,
    LENGTH = DEFINED(ek_ram_bytes) ? ek_ram_bytes : %d
}
SECTIONS {
  .text : {
    KEEP(*(.init)) *(.text .text.*)
    . = ALIGN(4);
  } > FLASH
  .rodata : { *(.rodata .rodata.* .srodata .srodata.*) } > FLASH
  /* First, so that its address is known. */
  .arena (NOLOAD) : { *(.bss.%s_arena) } > RAM
  .data : ALIGN(8) {
    ek_data_start = .;
    *(.data .data.* .sdata .sdata.*)
    . = ALIGN(4);
    ek_data_end = .;
  } > RAM AT > FLASH
  ek_data_load = LOADADDR(.data);
  .bss (NOLOAD) : ALIGN(8) {
    ek_bss_start = .;
    *(.bss .bss.* .sbss .sbss.* COMMON)
    . = ALIGN(4);
    ek_bss_end = .;
  } > RAM
  ek_stack_top = (ORIGIN(RAM) + LENGTH(RAM)) & ~15;
  /DISCARD/ : { *(.comment .note .note.* .eh_frame .eh_frame.* .ARM.exidx*) }
}
)",
      flash.base_address(), flash.capacity_bytes(), ram.base_address(),
      ram.capacity_bytes(), prefix);
}

}  // namespace edgekiln::compiler
