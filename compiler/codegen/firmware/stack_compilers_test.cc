// Bounds of the stack of what real compilers make.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/assembly_calls.h"
#include "compiler/codegen/firmware/object_calls.h"
#include "compiler/codegen/firmware/stack_bound.h"
#include "gtest/gtest.h"
#include "target/firmware.h"
#include "tests/support/skip.h"

namespace edgekiln::compiler {
namespace {

namespace fs = std::filesystem;

struct Compiler {
  v1::Processor processor{};
  v1::CompilerFamily family{};
};

void PrintTo(const Compiler& compiler, std::ostream* out) {
  *out << target::FindProcessor(compiler.processor)->name << " "
       << target::CompilerFamilyName(compiler.family);
}

std::string ReadFile(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

class StackCompilersTest : public testing::TestWithParam<Compiler> {
 protected:
  StackCompilersTest()
      : folder_(fs::temp_directory_path() /
                absl::StrCat("ek_stack_compilers_test_", getpid())),
        use_(*target::FindCompiler(GetParam().processor, GetParam().family)) {
    fs::create_directories(folder_);
  }
  ~StackCompilersTest() override { fs::remove_all(folder_); }

  void SetUp() override {
    if (std::system(
            absl::StrCat("command -v ", use_.program, " > /dev/null 2>&1")
                .c_str()) != 0) {
      EK_SKIP(absl::StrCat("there is no ", use_.program));
    }
  }

  bool Compile(const std::string& options) const {
    return std::system(
               absl::StrCat("cd ", folder_.string(), " && ", use_.program, " ",
                            absl::StrJoin(target::CompileFlags(use_), " "), " ",
                            options, " it.c")
                   .c_str()) == 0;
  }

  // As the stage build_firmware finds it.
  absl::StatusOr<int64_t> Bound(const std::string& code) const {
    std::ofstream(folder_ / "it.c") << code;
    const bool is_gcc = use_.family == v1::GCC;
    if (!Compile(absl::StrCat(is_gcc ? "-fcallgraph-info=su" : "-fstack-usage",
                              " -c -o it.o"))) {
      return absl::InternalError("it does not compile");
    }
    if (is_gcc) return BoundStack({ReadFile(folder_ / "it.ci")});
    const std::string frames = ReadFile(folder_ / "it.su");
    if (GetParam().processor != v1::X86_64) {
      EK_ASSIGN_OR_RETURN(const std::string graph,
                          ObjectCallGraph(ReadFile(folder_ / "it.o"), frames));
      return BoundStack({graph});
    }
    if (!Compile("-S -o it.s")) return absl::InternalError("no assembler text");
    EK_ASSIGN_OR_RETURN(const std::string graph,
                        AssemblyCallGraph(ReadFile(folder_ / "it.s"), frames));
    return BoundStack({graph});
  }

  const fs::path folder_;
  const target::CompilerUse& use_;
};

// 112 bytes, which fit what may lie below the stack pointer of x86-64.
TEST_P(StackCompilersTest, VariablesOfAFunctionWithoutCallsCount) {
  const auto bytes = Bound(R"(
int leaf(int n) {
  volatile int a[28];
  int i;
  for (i = 0; i < 28; ++i) a[i] = n + i;
  return a[n & 7];
}
)");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_GE(*bytes, 112);
  EXPECT_LT(*bytes, 200);
}

TEST_P(StackCompilersTest, ManyConditionsLeaveABound) {
  const auto bytes = Bound(R"(
volatile int at;
int choose(int n) {
  volatile int own[4];
  own[n & 3] = n;
  if (n == 0) at += 3;
  if (n == 1) at -= 8;
  if (n == 2) at *= 5;
  if (n == 3) at = 1;
  if (n == 4) at ^= 9;
  if (n == 5) at |= 6;
  return own[n & 1];
}
)");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_GE(*bytes, 16);
}

// Jumps by a table stay in their function.
TEST_P(StackCompilersTest, JumpsByATableLeaveABound) {
  const auto bytes = Bound(R"(
volatile int at;
int choose(int n) {
  volatile int own[4];
  own[n & 3] = n;
  switch (n) {
    case 0: at = 3; at = 4; break;
    case 1: at = 8; at = n; at = 7; break;
    case 2: at = at + 5; at = 4; break;
    case 3: at = at * 17; break;
    case 4: at = at / 7; at = 1; break;
    case 5: at = at ^ 99; break;
    case 6: at = at * at + 1; break;
    case 7: at = 1234567; at = 2; break;
    case 8: at = at - 8; break;
    case 9: at = ~at; at = 9; at = 5; break;
  }
  return own[n & 1];
}
)");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_GE(*bytes, 16);
}

INSTANTIATE_TEST_SUITE_P(
    All, StackCompilersTest,
    testing::Values(Compiler{v1::X86_64, v1::GCC},
                    Compiler{v1::X86_64, v1::CLANG},
                    Compiler{v1::RV32IMC, v1::CLANG},
                    Compiler{v1::CORTEX_M4, v1::CLANG},
                    Compiler{v1::CORTEX_M7, v1::CLANG},
                    Compiler{v1::CORTEX_M55, v1::CLANG}),
    [](const auto& info) {
      std::string name =
          absl::StrCat(target::FindProcessor(info.param.processor)->name, "_",
                       target::CompilerFamilyName(info.param.family));
      for (char& c : name) {
        if (c == '-') c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace edgekiln::compiler
