#include "compiler/codegen/firmware/large_check.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/firmware/check_files.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph GraphOf(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// A network as C, and its check, in a folder.
class LargeCheckTest : public testing::Test {
 protected:
  ~LargeCheckTest() override { std::filesystem::remove_all(folder_); }

  void Write(const Graph& graph) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const auto sources = EmitC(graph, {});
    ASSERT_TRUE(sources.ok()) << sources.status();
    const auto checks = CheckFiles(graph, v1::RV32IMC);
    ASSERT_TRUE(checks.ok()) << checks.status();
    for (const auto& files : {sources->files, *checks}) {
      for (const CFile& file : files) {
        if (file.path == "check.c") check_ = file.text;
        WriteFile(file.path, file.text);
      }
    }
  }
  void WriteFile(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  bool Passes() const {
    const std::string command =
        "make -C " + folder_ + " check > " + folder_ + "/log 2>&1";
    return std::system(command.c_str()) == 0;
  }

  const std::string folder_ = testing::TempDir() + "/large_check_test";
  std::string check_;
};

// Ports of every width, 20 MiB of them; square roots of negative values are NaN
// with a sign that depends on the machine.
TEST_F(LargeCheckTest, ComparesDigestsOfOutputs) {
  Write(GraphOf(R"(graph "net"
%x : float32[1048576] = input
%d : float64[65536] = input
%h : float16[1024] = input
%i : int32[1024] = input
%b : bool[1024] = input
%s : int8[64] scale 1 zero 0 = input
%y : float32[1048576] = unary(%x) {function SQRT} id y
%z : float32[1048576] = unary(%x) {function ABS} id z
%w : float32[1048576] = unary(%x) {function NEG} id w
%v : float32[1048576] = unary(%x) {function FLOOR} id v
%d2 : float64[65536] = unary(%d) {function ABS} id d2
%h2 : float32[1024] = cast(%h) id h2
%i2 : int32[1024] = unary(%i) {function ABS} id i2
%b2 : int32[1024] = cast(%b) id b2
%s2 : int8[64] scale 1 zero 0 = unary(%s) {function ABS} id s2
return %y, %z, %w, %v, %d2, %h2, %i2, %b2, %s2
)"));
  ASSERT_FALSE(absl::StrContains(check_, "check_data.h"));
  EXPECT_TRUE(Passes());
  for (const int output : {0, 4, 8}) {
    const std::string before = absl::Substitute("compare($0, digest(", output);
    ASSERT_TRUE(absl::StrContains(check_, before));
    WriteFile(
        "check.c",
        absl::StrReplaceAll(
            check_,
            {{before, absl::Substitute("compare($0, 1 ^ digest(", output)}}));
    EXPECT_FALSE(Passes()) << output;
  }
}

// Random values are not indices, 0 is one.
TEST_F(LargeCheckTest, IndicesAreZeros) {
  Write(GraphOf(R"(graph "net"
%x : float32[4, 1048576] = input
%i : int32[1] = input
%y : float32[1, 1048576] = gather(%x, %i) {axis 0} id y
return %y
)"));
  EXPECT_TRUE(absl::StrContains(check_, "'0'"));
  EXPECT_TRUE(Passes());
}

std::string CheckOf(const Graph& graph) {
  const auto files = CheckFiles(graph, v1::RV32IMC);
  EXPECT_TRUE(files.ok()) << files.status();
  if (!files.ok()) return "";
  for (const CFile& file : *files) {
    if (file.path == "check.c") return file.text;
  }
  return "";
}

// 258 MiB of inputs and outputs.
TEST(NoCheckTest, NothingIsRecordedOfVeryLargeValues) {
  EXPECT_TRUE(absl::StrContains(CheckOf(GraphOf(R"(graph "net"
%x : int8[129, 1048576] scale 1 zero 0 = input
%y : int8[129, 1048576] scale 1 zero 0 = unary(%x) {function ABS} id y
return %y
)")),
                                "nothing was recorded: the network is too "
                                "large"));
}

// Three layers of 1.7e9 multiply-accumulates each, of small values and of large
// ones.
TEST(NoCheckTest, NothingIsRecordedOfVeryManyOperations) {
  for (const int rows : {1024, 20480}) {
    const int64_t columns = 1700000000 / 1024 / rows;
    const std::string text = CheckOf(GraphOf(absl::Substitute(
        R"(graph "net"
%x : int8[$0, 1024] scale 1 zero 0 = input
%w : float32[1024, $1] = input
%f : float32[$0, 1024] = dequantize(%x) id f
%a : float32[$0, $1] = mat_mul(%f, %w) id a
%b : float32[$0, $1] = mat_mul(%f, %w) id b
%c : float32[$0, $1] = mat_mul(%f, %w) id c
%m : float32[1, 1] = reduce(%a) {function MAX axes [0, 1] keep_dims true} id m
return %m
)",
        rows, columns)));
    EXPECT_TRUE(absl::StrContains(
        text, "nothing was recorded: the network is too large"))
        << rows;
  }
}

// 2 GiB between two layers, of large values and of small ones.
TEST(NoCheckTest, NothingIsRecordedForLackOfMemory) {
  for (const int columns : {33554432, 1048576}) {
    EXPECT_TRUE(absl::StrContains(
        CheckOf(
            GraphOf(absl::Substitute(R"(graph "net"
%x : int8[1, $0] scale 1 zero 0 = input
%w : int8[$1, $0] scale 1 zero 0 = broadcast_to(%x) {shape [$1, $0]} id w
%y : int8[$0] scale 1 zero 0 = reduce(%w) {function MAX axes [0]} id y
return %y
)",
                                     columns, (int64_t{1} << 31) / columns))),
        "nothing was recorded: the network is too large"))
        << columns;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
