#include "compiler/codegen/firmware/assembly_calls.h"

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/firmware/stack_bound.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kFrames[] =
    "net.c:1:a\t16\tstatic\nnet.c:5:b\t32\tstatic\nnet.c:9:c\t64\tdynamic\n";

std::string Function(const std::string& name, const std::string& code,
                     bool is_static = false) {
  return absl::StrCat(
      is_static ? "" : absl::StrCat("\t.globl\t", name, "  # -- Begin\n"),
      "\t.type\t", name, ",@function\n", name, ":  # @", name, "\n# %bb.0:\n",
      code, "\tretq\n.Lfunc_end:\n");
}

struct Case {
  std::string name;
  std::string text;
  int64_t bytes = 0;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class AssemblyCallsTest : public testing::TestWithParam<Case> {};

TEST_P(AssemblyCallsTest, StackIsBounded) {
  const auto graph = AssemblyCallGraph(GetParam().text, kFrames);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto bytes = BoundStack({*graph});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, GetParam().bytes) << *graph;
}

// With 8 bytes for each return address.
INSTANTIATE_TEST_SUITE_P(
    All, AssemblyCallsTest,
    testing::Values(
        Case{"NoCalls", Function("a", "") + Function("b", ""), 40},
        Case{"ACall", Function("a", "\tcallq\tb\n") + Function("b", ""), 64},
        Case{"OfAStaticFunction",
             Function("b", "", true) + Function("a", "\tcallq\tb\n"), 64},
        Case{"ByAJump",
             Function("a", "\tjmp\tb  # TAILCALL\n") + Function("b", ""), 64},
        Case{"OnACondition",
             Function("a", "\tjne\tb  # TAILCALL\n") + Function("b", ""), 64},
        Case{"WithinTheFunction", Function("a", ".LBB0_1:\n\tjne\t.LBB0_1\n"),
             24},
        Case{"ByPointer",
             Function("a", "\tcallq\t*es(%rcx)\n") + Function("b", "")},
        Case{"ByAJumpToAPointer", Function("a", "\tjmpq\t*%rax\n")},
        Case{"Recursion",
             Function("a", "\tcallq\tb\n") + Function("b", "\tcallq\ta\n")},
        Case{"OfAnother", Function("a", "\tcallq\telsewhere@PLT\n")},
        Case{"DynamicFrame", Function("c", "")},
        Case{"NoFrame", Function("d", "")}),
    [](const auto& info) { return info.param.name; });

TEST(AssemblyCallGraphTest, CalleesOfPointersAreThoseThatSourcesTell) {
  const auto graph = AssemblyCallGraph(
      Function("a", "\tcallq\t*%rax\n") + Function("b", "", true), kFrames);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(*BoundStack({*graph}, {}, {{"a", "b"}}), 64);
  EXPECT_EQ(*BoundStack({*graph}, {}, {{"b", "a"}}), 0);
}

TEST(AssemblyCallGraphTest, OtherTextsAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      AssemblyCallGraph("\tcallq\ta\n", kFrames).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      AssemblyCallGraph(Function("a", "\tcallq\n"), kFrames).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      AssemblyCallGraph(Function("a", ""), "a\t16\tstatic\n").status()));
}

}  // namespace
}  // namespace edgekiln::compiler
