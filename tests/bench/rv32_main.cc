// How fast firmware runs on the instruction-set simulator, beside QEMU with
// -icount in the same run, in CPU time.
//
//   bench_rv32 [--shared DIR] [--rounds N] [--gcc FILE] [--qemu FILE]
//
// Needs the packages of `tools/install_packages firmware oracle`.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "simfarm/simulators/rv32/devices.h"
#include "simfarm/simulators/rv32/machine.h"
#include "tests/bench/measure.h"
#include "tests/bench/rv32_tools.h"

namespace edgekiln::bench {
namespace {

namespace fs = std::filesystem;
namespace rv32 = simfarm::rv32;

struct Tools {
  std::string gcc = "riscv64-unknown-elf-gcc";
  std::string qemu = "qemu-system-riscv32";
  std::string shared = EK_SHARED_DIR;
  int rounds = 5;
};

struct Kernel {
  const char* name;
  std::vector<std::string> sources;  // With options of their own.
};

// One object file per source, since options differ.
std::string Build(const Tools& tools, const Kernel& kernel,
                  const fs::path& folder) {
  const std::string compile = absl::StrCat(
      tools.gcc,
      " -march=rv32imc -misa-spec=2.2 -mabi=ilp32 -O2 -ffreestanding"
      " -nostdlib -nostartfiles ");
  std::vector<std::string> objects;
  for (const std::string& source : kernel.sources) {
    objects.push_back(
        absl::StrCat((folder / kernel.name).string(), objects.size(), ".o"));
    RunCommand(absl::StrCat(compile, "-c ", source, " -o ", objects.back()));
  }
  const std::string elf = absl::StrCat((folder / kernel.name).string(), ".elf");
  RunCommand(absl::StrCat(compile, "-Wl,--no-warn-rwx-segments -T ",
                          EK_RV32_BENCH_DIR, "/link.ld ",
                          absl::StrJoin(objects, " "), " -lgcc -o ", elf));
  return elf;
}

struct Variant {
  const char* name;
  bool costs;
  bool checked;
};

constexpr Variant kVariants[] = {{"CPI 1", false, false},
                                 {"cost table", true, false},
                                 {"checked", false, true}};

// CPU seconds of a run.
double RunOurs(const std::string& elf, const Variant& variant,
               int64_t* instructions) {
  rv32::Console console(4096);
  rv32::ExitDevice exit;
  rv32::MachineConfig config = Rv32Config(exit);
  config.devices.push_back(
      {.name = "console", .base = 0x10000000, .device = &console});
  if (variant.costs) {
    config.costs = rv32::CycleCosts{
        .load = 2, .branch_taken = 3, .divide = 35, .load_use_stall = 1};
  }
  config.checked = variant.checked;
  const double begin = ProcessCpuSeconds();
  const auto executable = OrDie(rv32::ReadElf(elf), "the ELF file");
  const auto machine = OrDie(rv32::NewMachine(config), "the machine");
  const absl::Status loaded = machine->Load(executable);
  if (!loaded.ok()) Die(loaded.ToString());
  *instructions = RunToEnd(*machine).totals.instructions;
  return ProcessCpuSeconds() - begin;
}

double RunQemu(const Tools& tools, const std::string& elf) {
  const double begin = ChildCpuSeconds();
  RunCommand(
      absl::StrCat(tools.qemu,
                   " -machine virt -cpu rv32 -icount shift=0 -display"
                   " none -monitor none -serial null -bios none -kernel ",
                   elf));
  return ChildCpuSeconds() - begin;
}

void Measure(const Tools& tools, const Kernel& kernel, const fs::path& folder) {
  const std::string path = Build(tools, kernel, folder);
  const std::string elf = ReadFile(path);
  int64_t instructions = 0;
  std::vector<double> qemu;
  std::vector<std::vector<double>> ours(std::size(kVariants));
  for (int round = 0; round < tools.rounds; ++round) {
    qemu.push_back(RunQemu(tools, path));
    for (size_t i = 0; i < std::size(kVariants); ++i) {
      ours[i].push_back(RunOurs(elf, kVariants[i], &instructions));
    }
  }
  const double qemu_seconds = Summarise(qemu).median;
  const auto mips = [&](double seconds) {
    return static_cast<double>(instructions) / seconds / 1e6;
  };
  std::cout << absl::StrFormat("%-6s %d instructions\n", kernel.name,
                               instructions)
            << absl::StrFormat("  %-12s %7.3f s %7.0f MIPS\n", "qemu -icount",
                               qemu_seconds, mips(qemu_seconds));
  for (size_t i = 0; i < std::size(kVariants); ++i) {
    const double seconds = Summarise(ours[i]).median;
    std::cout << absl::StrFormat("  %-12s %7.3f s %7.0f MIPS  %.2fx of QEMU\n",
                                 kVariants[i].name, seconds, mips(seconds),
                                 qemu_seconds / seconds);
  }
}

int Main(int argc, char** argv) {
  Tools tools;
  CLI::App app("Speed of the RV32 simulator, beside QEMU -icount");
  app.add_option("--shared", tools.shared, "Folder with examples/rv32");
  app.add_option("--rounds", tools.rounds, "Runs of each; the median counts");
  app.add_option("--gcc", tools.gcc, "The compiler");
  app.add_option("--qemu", tools.qemu, "The simulator to compare with");
  CLI11_PARSE(app, argc, argv);
  const std::string own = EK_RV32_BENCH_DIR;
  const std::vector<Kernel> kernels = {
      {"conv",
       {own + "/start.S", own + "/conv_repeated.c",
        absl::StrCat("-Dmain=conv_main ", tools.shared,
                     "/examples/rv32/conv.c")}},
      {"sort", {own + "/start.S", own + "/sort.c"}},
  };
  const fs::path folder =
      fs::temp_directory_path() / absl::StrCat("bench_rv32_", getpid());
  fs::create_directories(folder);
  for (const Kernel& kernel : kernels) Measure(tools, kernel, folder);
  fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
