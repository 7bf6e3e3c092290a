// Networks as Arm firmware, on QEMU's boards: start-up, linker script and code
// compute the recorded outputs.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/c/testing/op_cases.h"
#include "compiler/codegen/firmware/check_files.h"
#include "gtest/gtest.h"
#include "target/firmware.h"
#include "tests/c_targets/firmware_build.h"
#include "tests/c_targets/runtime_check.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {
namespace {

namespace fs = std::filesystem;

constexpr char kQemu[] = "/usr/bin/qemu-system-arm";

struct Board {
  const char* target;
  const char* machine;  // QEMU's name.
  int64_t flash_bytes;  // At 0.
  int64_t ram_bytes;    // At 0x20000000.
};

void PrintTo(const Board& board, std::ostream* out) { *out << board.target; }

constexpr Board kBoards[] = {
    {"cortex-m0plus", "microbit", 256 << 10, 16 << 10},
    {"cortex-m4", "mps2-an386", 4 << 20, 4 << 20},
    {"cortex-m7", "mps2-an500", 4 << 20, 4 << 20},
    {"cortex-m55", "mps3-an547", 512 << 10, 512 << 10},
};

// The target with the board's memories.
v1::Machine MachineFor(const Board& board) {
  const auto machine = MachineOf(board.target);
  EXPECT_TRUE(machine.ok()) << machine.status();
  v1::Machine changed = machine.value_or(v1::Machine());
  for (v1::ResolvedMemory& memory : *changed.mutable_memories()) {
    const bool flash = memory.name() == "flash";
    memory.set_base_address(flash ? 0 : 0x20000000);
    memory.set_capacity_bytes(flash ? board.flash_bytes : board.ram_bytes);
  }
  return changed;
}

// Ends QEMU by semihosting; exit code 0 or 1.
constexpr char kEnd[] = R"(
static void end(int wrong) {
  register int operation __asm__("r0") = 0x18; /* SYS_EXIT */
  register int reason __asm__("r1") = wrong ? 0x20024 : 0x20026;
  __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
}
)";

// What runs in place of the network: check.c of the bundle without a library.
constexpr char kCheck[] = R"(
#include <stddef.h>
static void *memcpy(void *to, const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    ((volatile char *)to)[i] = ((const char *)from)[i];
  }
  return to;
}
static int memcmp(const void *a, const void *b, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (((const volatile char *)a)[i] != ((const char *)b)[i]) return 1;
  }
  return 0;
}
#define printf(...) ((void)0)
#define main ek_check_main
)";

// Sorts the files, and has ek_check() called in place of the network.
void StartWithCheck(const std::string& prefix, v1::CSourceTree& tree) {
  std::sort(tree.mutable_files()->begin(), tree.mutable_files()->end(),
            [](const auto& a, const auto& b) { return a.path() < b.path(); });
  for (v1::CSourceTree::File& file : *tree.mutable_files()) {
    if (file.path() != "start.S") continue;
    file.set_text(absl::StrReplaceAll(
        file.text(), {{absl::StrCat(prefix, "_invoke"), "ek_check"}}));
  }
}

void AddCheck(const compiler::Graph& graph, v1::Processor processor,
              v1::CSourceTree& tree) {
  const std::string prefix = compiler::CPrefix(graph.name);
  const auto files = compiler::CheckFiles(graph, processor);
  ASSERT_TRUE(files.ok()) << files.status();
  for (const compiler::CFile& file : *files) {
    if (file.path == "Makefile") continue;
    v1::CSourceTree::File& added = *tree.add_files();
    added.set_path(file.path);
    added.set_text(file.text);
    if (file.path != "check.c") continue;
    added.set_text(absl::StrCat(
        kEnd, kCheck,
        absl::StrReplaceAll(file.text, {{"#include <stdio.h>\n", ""},
                                        {"#include <string.h>\n", ""}}),
        "int ek_check(void);\nint ek_check(void) {\n  end(main());\n"
        "  return 0;\n}\n"));
  }
  StartWithCheck(prefix, tree);
}

// The same with a check of the arithmetic.
void AddRuntimeCheck(const std::string& text, const std::string& prefix,
                     v1::CSourceTree& tree) {
  v1::CSourceTree::File& added = *tree.add_files();
  added.set_path("check.c");
  added.set_text(absl::StrCat(kEnd, text,
                              "int ek_check(void);\nint ek_check(void) {\n"
                              "  end(ek_runtime_check());\n  return 0;\n}\n"));
  StartWithCheck(prefix, tree);
}

// The exit code of QEMU.
int RunOnBoard(const Board& board, const std::string& elf) {
  const fs::path file =
      fs::temp_directory_path() /
      absl::StrCat("ek_arm_", board.target, "_", getpid(), ".elf");
  std::ofstream(file, std::ios::binary) << elf;
  const int status = std::system(
      absl::StrCat("timeout 60 ", kQemu, " -M ", board.machine,
                   " -nographic -monitor none -serial null "
                   "-semihosting-config enable=on,target=native -kernel ",
                   file.string(), " > /dev/null 2>&1")
          .c_str());
  fs::remove(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ArmFirmwareTest
    : public testing::TestWithParam<std::tuple<Board, v1::CompilerFamily>> {
 protected:
  void SetUp() override {
    if (!fs::exists(kQemu)) EK_SKIP(absl::StrCat("no ", kQemu));
    const std::string missing = MissingCompiler(v1::CORTEX_M4, Family());
    if (!missing.empty()) EK_SKIP(absl::StrCat("no ", missing));
  }

  static const Board& TheBoard() { return std::get<0>(GetParam()); }
  static v1::CompilerFamily Family() { return std::get<1>(GetParam()); }

  static absl::StatusOr<BuiltFirmware> Build(const compiler::Graph& graph,
                                             bool wrong = false) {
    const v1::Machine machine = MachineFor(TheBoard());
    return BuildFirmware(
        graph, machine, v1::CRecipe::KERNELS_UNSPECIFIED,
        [&](v1::CSourceTree& tree) {
          AddCheck(graph, machine.firmware().processor(), tree);
          if (!wrong) return;
          for (v1::CSourceTree::File& file : *tree.mutable_files()) {
            if (file.path() == "check_data.h") {
              file.set_text(absl::StrReplaceAll(
                  file.text(), {{"output_1_0", "output_1_0_"}}));
              absl::StrAppend(file.mutable_text(),
                              "static const unsigned char output_1_0[64];\n");
            }
          }
        },
        Family());
  }

  // Int8 kernels and floats, as far as the smallest board has room.
  static compiler::Graph Network() {
    compiler::OpCases cases(7);
    for (const char* kind : {"conv2d", "depthwise_conv2d", "fully_connected",
                             "add", "softmax", "average_pool2d"}) {
      for (const v1::ElementType type : {v1::INT8, v1::FLOAT32}) {
        bool added = false;
        for (int i = 0; i < 1000 && !added; ++i) added = cases.Add(kind, type);
        EXPECT_TRUE(added) << kind;
      }
    }
    return cases.Take();
  }
};

TEST_P(ArmFirmwareTest, ComputesTheRecordedOutputs) {
  const auto built = Build(Network());
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(RunOnBoard(TheBoard(), built->elf), 0);
}

TEST_P(ArmFirmwareTest, AWrongOutputIsNoticed) {
  const auto built = Build(Network(), /*wrong=*/true);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(RunOnBoard(TheBoard(), built->elf), 1);
}

TEST_P(ArmFirmwareTest, ItsArithmeticIsThatOfThisMachine) {
  const auto check = RuntimeCheckText();
  ASSERT_TRUE(check.ok()) << check.status();
  const auto run = [&](const std::string& text) {
    const auto built = BuildFirmware(
        Network(), MachineFor(TheBoard()), v1::CRecipe::KERNELS_UNSPECIFIED,
        [&](v1::CSourceTree& tree) {
          AddRuntimeCheck(text, compiler::CPrefix(Network().name), tree);
        },
        Family());
    EXPECT_TRUE(built.ok()) << built.status();
    return built.ok() ? RunOnBoard(TheBoard(), built->elf) : -1;
  };
  EXPECT_EQ(run(*check), 0);
  EXPECT_EQ(run(absl::StrReplaceAll(*check, {{"u,\n};", "u ^ 1u,\n};"}})), 1);
}

INSTANTIATE_TEST_SUITE_P(Boards, ArmFirmwareTest,
                         testing::Combine(testing::ValuesIn(kBoards),
                                          testing::Values(v1::GCC, v1::CLANG)),
                         [](const auto& info) {
                           return absl::StrReplaceAll(
                               absl::StrCat(std::get<0>(info.param).target, "_",
                                            target::CompilerFamilyName(
                                                std::get<1>(info.param))),
                               {{"-", "_"}});
                         });

}  // namespace
}  // namespace edgekiln::tests
