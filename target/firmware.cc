#include "target/firmware.h"

namespace edgekiln::target {
namespace {

CompilerUse RiscvGcc(const std::string& march, const std::string& mabi) {
  return {.family = v1::GCC,
          .program = "riscv64-unknown-elf-gcc",
          .package = "gcc-riscv64-unknown-elf",
          // The libraries that Debian's compiler brings are those of the
          // specification of 2019, in which csr instructions belong to "i".
          .flags = {"-march=" + march, "-mabi=" + mabi, "-misa-spec=2.2"}};
}

CompilerUse ArmGcc(const std::vector<std::string>& flags) {
  CompilerUse use = {.family = v1::GCC,
                     .program = "arm-none-eabi-gcc",
                     .package = "gcc-arm-none-eabi",
                     .flags = {"-mthumb"}};
  use.flags.insert(use.flags.end(), flags.begin(), flags.end());
  return use;
}

std::vector<ProcessorInfo> MakeProcessors() {
  return {
      {v1::RV32IM, "rv32im", true, {RiscvGcc("rv32im", "ilp32")}},
      {v1::RV32IMC, "rv32imc", true, {RiscvGcc("rv32imc", "ilp32")}},
      {v1::RV32IMF, "rv32imf", true, {RiscvGcc("rv32imf", "ilp32f")}},
      {v1::CORTEX_M0PLUS,
       "cortex-m0plus",
       false,
       {ArmGcc({"-mcpu=cortex-m0plus", "-mfloat-abi=soft"})}},
      {v1::CORTEX_M4,
       "cortex-m4",
       false,
       {ArmGcc({"-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"})}},
      {v1::CORTEX_M7,
       "cortex-m7",
       false,
       {ArmGcc({"-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard"})}},
      {v1::CORTEX_M55,
       "cortex-m55",
       false,
       {ArmGcc({"-mcpu=cortex-m55+nomve", "-mfloat-abi=hard"})}},
      {v1::X86_64,
       "x86-64",
       false,
       {{v1::GCC, "gcc", "gcc", {"-march=x86-64"}},
        {v1::CLANG, "clang", "clang", {"-march=x86-64"}}}},
  };
}

}  // namespace

absl::Span<const ProcessorInfo> Processors() {
  static const auto* const processors =
      new std::vector<ProcessorInfo>(MakeProcessors());
  return *processors;
}

const ProcessorInfo* FindProcessor(v1::Processor processor) {
  for (const ProcessorInfo& info : Processors()) {
    if (info.processor == processor) return &info;
  }
  return nullptr;
}

const CompilerUse* FindCompiler(v1::Processor processor,
                                v1::CompilerFamily family) {
  const ProcessorInfo* const info = FindProcessor(processor);
  if (info == nullptr) return nullptr;
  for (const CompilerUse& use : info->compilers) {
    if (use.family == family) return &use;
  }
  return nullptr;
}

absl::string_view CompilerFamilyName(v1::CompilerFamily family) {
  switch (family) {
    case v1::CLANG:
      return "clang";
    case v1::NO_COMPILER:
      return "none";
    default:
      return "gcc";
  }
}

absl::Span<const InstructionClass> InstructionClasses() {
  static constexpr InstructionClass kClasses[] = {{"alu"},
                                                  {"branch_not_taken"},
                                                  {"branch_taken"},
                                                  {"csr"},
                                                  {"divide"},
                                                  {"float_add"},
                                                  {"float_convert"},
                                                  {"float_divide"},
                                                  {"float_multiply"},
                                                  {"float_multiply_add"},
                                                  {"float_simple"},
                                                  {"float_sqrt"},
                                                  {"jump"},
                                                  {"jump_register"},
                                                  {"load"},
                                                  {"load_use_stall", 0},
                                                  {"multiply"},
                                                  {"multiply_high"},
                                                  {"store"},
                                                  {"system"},
                                                  {"trap_entry", 0}};
  return kClasses;
}

std::vector<std::string> CompileFlags(const CompilerUse& use) {
  std::vector<std::string> flags = use.flags;
  const auto add = [&flags](const std::vector<std::string>& more) {
    flags.insert(flags.end(), more.begin(), more.end());
  };
  add({"-std=c99", "-O2", "-ffreestanding",
       // The linker script places the arena by its section.
       "-fdata-sections",
       // As the reference rounds: after every operation.
       "-ffp-contract=off", "-fno-tree-vectorize"});
  if (use.family == v1::GCC) {
    // Else loops become calls of memcpy() and memset(); clang's -ffreestanding
    // does the same. On processors of one issue, gcc 12 takes fewer
    // instructions without scheduling.
    add({"-fno-tree-loop-distribute-patterns", "-fno-schedule-insns"});
  }
  // Nothing of it depends on the compiler's defaults, which packages change.
  add({"-fno-pic", "-fno-pie", "-fno-stack-protector",
       "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"});
  return flags;
}

std::vector<std::string> LinkFlags(const CompilerUse& use) {
  std::vector<std::string> flags = use.flags;
  for (const char* flag :
       {"-nostdlib", "-nostartfiles", "-static", "-no-pie",
        "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-T,firmware.ld"}) {
    flags.emplace_back(flag);
  }
  return flags;
}

}  // namespace edgekiln::target
