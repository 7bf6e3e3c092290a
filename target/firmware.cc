#include "target/firmware.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace edgekiln::target {
namespace {

// A jump by a table looks like a call by a pointer in what clang makes, and
// leaves the stack without a bound.
constexpr char kNoJumpTables[] = "-fno-jump-tables";

CompilerUse Gcc(std::string program, std::string package,
                std::vector<std::string> flags) {
  return {.family = v1::GCC,
          .program = std::move(program),
          .linker = "",
          .package = std::move(package),
          .flags = std::move(flags)};
}

CompilerUse Clang(std::vector<std::string> flags) {
  return {.family = v1::CLANG,
          .program = "clang",
          .linker = "ld.lld",
          .package = "clang lld",
          .flags = std::move(flags)};
}

ProcessorInfo Riscv(v1::Processor processor, const std::string& march,
                    const std::string& mabi) {
  const std::vector<std::string> flags = {"-march=" + march, "-mabi=" + mabi};
  std::vector<std::string> gcc = flags;
  // Csr instructions belong to "i" there, which later specifications split.
  gcc.emplace_back("-misa-spec=2.2");
  std::vector<std::string> clang = {"--target=riscv32-unknown-elf"};
  clang.insert(clang.end(), flags.begin(), flags.end());
  clang.emplace_back(kNoJumpTables);
  return {.processor = processor,
          .name = march,
          .is_simulated = true,
          .compilers = {Gcc("riscv64-unknown-elf-gcc",
                            "gcc-riscv64-unknown-elf", std::move(gcc)),
                        Clang(std::move(clang))}};
}

// `architecture`: of clang's name of the target.
ProcessorInfo Arm(v1::Processor processor, std::string name,
                  const std::string& architecture,
                  const std::vector<std::string>& flags) {
  std::vector<std::string> gcc = {"-mthumb"};
  gcc.insert(gcc.end(), flags.begin(), flags.end());
  std::vector<std::string> clang = {"--target=" + architecture + "-none-eabi"};
  clang.insert(clang.end(), flags.begin(), flags.end());
  return {.processor = processor,
          .name = std::move(name),
          .is_simulated = false,
          .compilers = {
              Gcc("arm-none-eabi-gcc", "gcc-arm-none-eabi", std::move(gcc)),
              Clang(std::move(clang))}};
}

std::vector<ProcessorInfo> MakeProcessors() {
  return {
      Riscv(v1::RV32IM, "rv32im", "ilp32"),
      Riscv(v1::RV32IMC, "rv32imc", "ilp32"),
      Riscv(v1::RV32IMF, "rv32imf", "ilp32f"),
      // Gcc's jumps by tables go through functions of its library there.
      Arm(v1::CORTEX_M0PLUS, "cortex-m0plus", "thumbv6m",
          {"-mcpu=cortex-m0plus", "-mfloat-abi=soft", "-fno-jump-tables"}),
      Arm(v1::CORTEX_M4, "cortex-m4", "thumbv7em",
          {"-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"}),
      Arm(v1::CORTEX_M7, "cortex-m7", "thumbv7em",
          {"-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard"}),
      Arm(v1::CORTEX_M55, "cortex-m55", "thumbv8.1m.main",
          {"-mcpu=cortex-m55+nomve", "-mfloat-abi=hard"}),
      {.processor = v1::X86_64,
       .name = "x86-64",
       .is_simulated = false,
       // No compiler counts a red zone as a part of the stack.
       .compilers = {Gcc("gcc", "gcc", {"-march=x86-64", "-mno-red-zone"}),
                     Clang({"--target=x86_64-unknown-linux-gnu",
                            "-march=x86-64", "-mno-red-zone", kNoJumpTables})}},
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
       // The linker script places the arena by its section, and drops the
       // functions that nothing calls.
       "-fdata-sections", "-ffunction-sections",
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

const std::string& LinkProgram(const CompilerUse& use) {
  return use.linker.empty() ? use.program : use.linker;
}

std::vector<std::string> LinkFlags(const CompilerUse& use) {
  if (!use.linker.empty()) {
    return {
        "-static",     "--threads=1", "--gc-sections", "--build-id=none", "-z",
        "noexecstack", "-T",          "firmware.ld"};
  }
  std::vector<std::string> flags = use.flags;
  for (const char* flag :
       {"-nostdlib", "-nostartfiles", "-static", "-no-pie", "-Wl,--gc-sections",
        "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-T,firmware.ld"}) {
    flags.emplace_back(flag);
  }
  return flags;
}

std::vector<std::string> LengthFlags(const CompilerUse& use,
                                     int64_t flash_bytes, int64_t ram_bytes) {
  std::vector<std::string> flags = {
      absl::StrCat("--defsym=ek_flash_bytes=", flash_bytes),
      absl::StrCat("--defsym=ek_ram_bytes=", ram_bytes), "--no-check-sections"};
  if (!use.linker.empty()) return flags;
  for (std::string& flag : flags) flag = absl::StrCat("-Wl,", flag);
  return flags;
}

}  // namespace edgekiln::target
