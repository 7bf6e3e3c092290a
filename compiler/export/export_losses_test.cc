#include "compiler/export/export_losses.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::string PoolOf(int size, const std::string& scale) {
  const std::string type = absl::StrCat("scale ", scale, " zero 3");
  return absl::StrCat("%q : int8[1,4,4,2] ", type, " = input\n%i : int8[1,",
                      size == 2 ? "2,2" : "1,1", ",2] ", type,
                      " = average_pool2d(%q) {kernel_h ", size, " kernel_w ",
                      size, " window {stride_h ", size, " stride_w ", size,
                      " dilation_h 1 dilation_w 1}} id pool\nreturn %i\n");
}

std::vector<std::string> LossesOf(const std::string& text) {
  const absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  return graph.ok() ? ExportLosses(*graph) : std::vector<std::string>();
}

TEST(ExportLossesTest, AveragePoolsOfEvenWindowsUnlessFloatsAreExact) {
  const auto losses = LossesOf(PoolOf(2, "0.013"));
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(
      losses[0].find("in the ONNX model, layer pool: averages of an even"), 0u)
      << losses[0];
  EXPECT_EQ(LossesOf(PoolOf(3, "0.013")), std::vector<std::string>());
  EXPECT_EQ(LossesOf(PoolOf(2, "0.25")), std::vector<std::string>());
}

TEST(ExportLossesTest, LayersThatRoundDown) {
  std::string text =
      "%x0 : int8[1,2] scale 0.5 zero 0 = input\n"
      "%c : int8[1,2] scale 0.5 zero 0 = constant [1, 2]\n";
  for (int i = 1; i <= 6; ++i) {
    absl::StrAppend(&text, "%x", i, " : int8[1,2] scale 0.5 zero 0 = add(%x",
                    i - 1, ", %c) ", i == 2 ? "" : "{rounding FLOOR} ", "id a",
                    i, "\n");
  }
  const auto losses = LossesOf(absl::StrCat(text, "return %x6\n"));
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].find("in the ONNX model, layers a1, a3, a4, a5 and 1 "
                           "more: results are rounded down"),
            0u)
      << losses[0];
}

}  // namespace
}  // namespace edgekiln::compiler
