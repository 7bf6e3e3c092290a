#include "tests/bench/diana/sizes.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace edgekiln::bench {
namespace {

constexpr char kGcc[] = "riscv64-unknown-elf-gcc";

// What the C of a bundle wants of the chip. The mover has five registers.
constexpr char kDriver[] = R"(#include "edgekiln_driver.h"
#define REG(engine, offset) \
  (*(volatile uint32_t *)(uintptr_t)(0x1a10c000u + 0x1000u * (engine) + (offset)))
void *edgekiln_at(int32_t memory, uint64_t address) {
  (void)memory;
  return (void *)(uintptr_t)address;
}
void edgekiln_write(int32_t engine, uint32_t offset, uint32_t value) {
  REG((uint32_t)engine, offset) = value;
}
uint32_t edgekiln_read(int32_t engine, uint32_t offset) {
  return REG((uint32_t)engine, offset);
}
void edgekiln_transfer(const struct edgekiln_move *move) {
  REG(0, 0xa0) = move->from_memory == 0 ? 2 : 1;
  REG(0, 0xa4) = (uint32_t)(move->from_memory == 0 ? move->from : move->to);
  REG(0, 0xa8) = (uint32_t)move->shape;
  REG(0, 0xac) = (uint32_t)(move->from_memory == 0 ? move->to : move->from);
  REG(0, 0) = 1;
  while (REG(0, 0x0c) != 0) {
  }
}
void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes) {
  char *t = to;
  const char *f = from;
  while (bytes--) *t++ = *f++;
  return to;
}
void *memset(void *to, int value, __SIZE_TYPE__ bytes) {
  char *t = to;
  while (bytes--) *t++ = (char)value;
  return to;
}
)";

// The one NAME.c of the bundle; its header is NAME.h.
absl::StatusOr<std::string> NameIn(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() == ".c" && name != "check") return name;
  }
  return absl::NotFoundError(absl::StrCat("no C in ", folder));
}

// text + data + bss of the host's part.
absl::StatusOr<int64_t> CodeBytes(const std::string& bundle) {
  const std::string folder = absl::StrCat(bundle, "/c");
  EK_ASSIGN_OR_RETURN(const std::string name, NameIn(folder));
  std::ofstream(absl::StrCat(folder, "/driver_stub.c")) << kDriver;
  std::ofstream(absl::StrCat(folder, "/start.c"))
      << "#include \"" << name << ".h\"\nvoid _start(void) { " << name
      << "_invoke(); for (;;) {} }\n";
  const std::string sizes = absl::StrCat(folder, "/sizes.txt");
  const std::string command = absl::StrCat(
      "cd ", folder, " && ", kGcc,
      " -march=rv32imc -mabi=ilp32 -std=c99 -Os -ffreestanding "
      "-ffp-contract=off "
      "-fno-tree-loop-distribute-patterns -ffunction-sections -fdata-sections "
      "-nostdlib -Wl,--gc-sections -o host.elf ",
      name,
      ".c driver_stub.c start.c -lgcc && riscv64-unknown-elf-size "
      "host.elf | tail -1 > sizes.txt");
  EK_RETURN_IF_ERROR(RunProgram({"/bin/sh", "-c", command}).status());
  int64_t text = 0;
  int64_t data = 0;
  int64_t bss = 0;
  std::ifstream(sizes) >> text >> data >> bss;
  return text + data + bss;
}

std::string KiloBytes(const absl::StatusOr<int64_t>& bytes) {
  return bytes.ok() ? absl::StrFormat("%.1f", static_cast<double>(*bytes) / 1e3)
                    : "not built";
}

absl::Status PrintCut(const DianaCompiler& compiler, int64_t encoded,
                      const absl::StatusOr<int64_t>& code) {
  const Published& resnet = kPublished[0];
  EK_ASSIGN_OR_RETURN(
      const std::string bundle,
      compiler.Compile(resnet, kDigital, "diana-cpu", "default"));
  const absl::StatusOr<int64_t> cpu_code = CodeBytes(bundle);
  if (!cpu_code.ok() || !code.ok()) {
    std::cout << "no cut of the binary: " << cpu_code.status() << "\n";
    return absl::OkStatus();
  }
  const auto constants = static_cast<int64_t>(
      std::filesystem::file_size(absl::StrCat(bundle, "/constants.bin")));
  const auto cpu = static_cast<double>(constants + *cpu_code);
  const double cut = 100 * (1 - static_cast<double>(encoded + *code) / cpu);
  std::cout << absl::StreamFormat(
      "%s: %.1f kB for the host alone (%.1f of it code), %.1f with the array: "
      "%.1f %% less, published %.0f %%\n",
      resnet.name, cpu / 1e3, static_cast<double>(*cpu_code) / 1e3,
      static_cast<double>(encoded + *code) / 1e3, cut, kBinaryCut);
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintSizes(const DianaCompiler& compiler) {
  EK_ASSIGN_OR_RETURN(const std::string unpadded, compiler.UnpaddedTarget());
  std::cout << absl::StreamFormat(
      "\nkB of 1000 bytes\n%-10s %9s %9s %6s | %10s %10s %10s\n", "network",
      "weights", "HTVM", "", "code", "+ runtime", "HTVM");
  for (const Published& network : kPublished) {
    EK_ASSIGN_OR_RETURN(
        const ProgramFigures figures,
        compiler.Figures(network, kDigital, unpadded, "htvm-fixed"));
    EK_ASSIGN_OR_RETURN(
        const std::string bundle,
        compiler.Compile(network, kDigital, kDigital.target, "default"));
    const absl::StatusOr<int64_t> code = CodeBytes(bundle);
    const double encoded = static_cast<double>(figures.encoded_bytes) / 1e3;
    const bool equal = std::round(encoded * 10) == network.encoded_kb * 10;
    std::cout << absl::StreamFormat("%-10s %9.1f %9.1f %6s | %21s %10.1f\n",
                                    network.name, encoded, network.encoded_kb,
                                    equal ? "equal" : "OTHER", KiloBytes(code),
                                    network.code_kb);
    if (&network == &kPublished[0]) {
      EK_RETURN_IF_ERROR(PrintCut(compiler, figures.encoded_bytes, code));
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::bench
