#include "compiler/passes/integer_rounding.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/ir/text.h"
#include "compiler/passes/pass.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

std::string RandomBytes(const Graph& graph, Rng& rng) {
  std::string bytes(graph.tensors[graph.inputs[0]].num_elements(), '\0');
  for (char& value : bytes) value = static_cast<char>(rng.InRange(-128, 127));
  return bytes;
}

struct Outcome {
  bool changed = false;  // The pass moved something.
  int64_t values = 0;
  int64_t off = 0;      // By one step.
  int64_t far_off = 0;  // By more.
};

// What the pass changes in the values of a graph of one int8 input.
Outcome MoveAndCompare(const std::string& text) {
  Outcome outcome;
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  if (!graph.ok()) return outcome;
  Rng rng(9);
  const std::string input = RandomBytes(*graph, rng);
  const auto before = Evaluate(*graph, {input});
  const auto changed = NewMoveIntoIntegersPass()->Run({}, *graph);
  EXPECT_TRUE(changed.ok()) << changed.status();
  const auto after = Evaluate(*graph, {input});
  EXPECT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
  if (!changed.ok() || !before.ok() || !after.ok()) return outcome;
  outcome.changed = *changed == Changed::kYes;
  for (size_t i = 0; i < (*before)[0].size(); ++i) {
    const int difference = (*before)[0][i] - (*after)[0][i];
    ++outcome.values;
    outcome.off += difference == 1 || difference == -1;
    outcome.far_off += difference < -1 || difference > 1;
  }
  return outcome;
}

struct AverageCase {
  int kernel_h, kernel_w;
  float scale, output_scale;
  bool moves;
};

TEST(AverageFormTest, AtMostOneValueInTwoHundredDiffers) {
  const AverageCase cases[] = {
      // Odd: no ties.
      {3, 3, 0.3f, 0.3f, true},
      {5, 5, 0.0123f, 0.0123f, true},
      {7, 7, 0.3f, 0.31f, true},
      // Even: of floats that are exact, or of many.
      {1, 2, 0.0625f, 0.0625f, true},
      {2, 2, 0.75f, 0.75f, true},
      {2, 3, 0.0625f, 0.0625f, true},
      {2, 2, 0.3f, 0.3f, false},
      {2, 3, 0.0123f, 0.0123f, false},
      {8, 8, 0.3f, 0.3f, false},
      {10, 10, 0.3f, 0.3f, true},
      {12, 10, 0.0123f, 0.0123f, true},
      // To another scale.
      {2, 2, 0.3f, 0.31f, true},
      {4, 6, 0.0123f, 0.01f, true},
      {4, 4, 0.0625f, 0.03125f, true},
      {8, 8, 0.0625f, 0.125f, true},
      {2, 2, 0.3f, 0.15f, false},
      {2, 3, 0.0625f, 0.03125f, true},
      {2, 3, 0.0625f, 0.125f, false},
      {12, 10, 0.3f, 0.15f, false},
      {12, 10, 0.3f, 0.6f, true},
      {5, 5, 0.3f, 0.15f, true},
      {3, 3, 0.0625f, 0.125f, false},
  };
  for (const AverageCase& c : cases) {
    const std::string pool = absl::StrCat(
        "{kernel_h ", c.kernel_h, " kernel_w ", c.kernel_w,
        " window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}}");
    const std::string input =
        absl::StrCat("[150,", c.kernel_h, ",", c.kernel_w, ",64]");
    const Outcome outcome = MoveAndCompare(absl::StrCat(
        "%x : int8", input, " scale ", c.scale, " zero 3 = input\n",
        "%xr : float32", input, " = dequantize(%x) id xr\n",
        "%c : float32[150,1,1,64] = average_pool2d(%xr) ", pool, " id c\n",
        "%y : int8[150,1,1,64] scale ", c.output_scale, " zero ",
        c.scale == c.output_scale ? 3 : -2,
        " = quantize(%c) {rounding HALF_EVEN} id y\nreturn %y\n"));
    SCOPED_TRACE(testing::Message() << c.kernel_h << " x " << c.kernel_w << ", "
                                    << c.scale << " to " << c.output_scale);
    EXPECT_EQ(outcome.changed, c.moves);
    EXPECT_EQ(outcome.far_off, 0);
    EXPECT_LE(outcome.off * 200, outcome.values) << outcome.off;
  }
}

struct OpCase {
  const char* op;
  const char* second;  // The other operand, if the op has one.
  const char* output;  // Type and scale.
};

// Scales that are powers of two make every float exact, and many ties.
TEST(IntegerRoundingTest, OpsBetweenPowersOfTwoChangeNothing) {
  const OpCase cases[] = {
      {"add(%r, %s)", "%w : int8[8,16] scale 0.125 zero 5", "scale 1 zero 7"},
      {"binary(%r, %s) {function SUB}", "%w : int8[8,16] scale 0.125 zero 5",
       "scale 1 zero 7"},
      {"mul(%r, %s)", "%w : int8[8,16] scale 0.125 zero 5", "scale 16 zero 7"},
      {"fully_connected(%r, %s)", "%w : int8[16,16] scale 0.125 zero 0",
       "scale 64 zero 7"},
      {"mat_mul(%r, %s)", "%w : int8[16,16] scale 0.125 zero 0",
       "scale 64 zero 7"},
      {"clip(%r) {clamp {min -3.5 max 9.5}}", nullptr, "scale 1 zero 7"},
      {"unary(%r) {function LEAKY_RELU alpha 0.25}", nullptr,
       "scale 0.5 zero 7"},
      {"unary(%r) {function SIGMOID}", nullptr, "scale 0.00390625 zero -128"},
      {"softmax(%r) {beta 1 axis 1}", nullptr, "scale 0.00390625 zero -128"},
      {"binary(%r, %s) {function MAXIMUM}",
       "%w : int8[8,16] scale 0.125 zero 5", "scale 1 zero 7"},
  };
  Rng rng(4);
  for (const OpCase& c : cases) {
    std::string text =
        "%x : int8[8,16] scale 0.25 zero 3 = input\n"
        "%r : float32[8,16] = dequantize(%x) id r\n";
    if (c.second != nullptr) {
      const std::string second = c.second;
      const bool square = second.find("[16,16]") != std::string::npos;
      std::string values;
      for (int i = 0; i < (square ? 256 : 128); ++i) {
        absl::StrAppend(&values, i == 0 ? "" : ", ", rng.InRange(-127, 127));
      }
      absl::StrAppend(&text, second, " = constant [", values, "]\n%s : float32",
                      square ? "[16,16]" : "[8,16]",
                      " = dequantize(%w) id s\n");
    }
    absl::StrAppend(&text, "%c : float32[8,16] = ", c.op, " id c\n",
                    "%y : int8[8,16] ", c.output,
                    " = quantize(%c) {rounding HALF_EVEN} id y\nreturn %y\n");
    const Outcome outcome = MoveAndCompare(text);
    EXPECT_TRUE(outcome.changed) << c.op;
    EXPECT_EQ(outcome.off + outcome.far_off, 0) << c.op;
  }
}

// Sums of `depth` products of 8 bits and a bias, in steps of 1 / `steps`.
std::string Sums(int depth, int bias, int steps) {
  std::string weights = "1";
  for (int i = 1; i < depth; ++i) weights += ", 1";
  return absl::StrCat(
      "%x : int8[1,", depth, "] scale 1 zero 0 = input\n", "%w : int8[1,",
      depth, "] scale 1 zero 0 = constant [", weights,
      "]\n%b : int32[1] = constant [", bias, "]\n", "%y : int8[1,1] scale ",
      steps, " zero 0 = fully_connected(%x, %w, %b) id y\n", "return %y\n");
}

TEST(IntegerRoundingTest, IsHalfEvenOnlyWhereAResultMayLieInTheMiddle) {
  const struct {
    const char* name;
    std::string graph;  // Of one op.
    v1::Rounding rounding;
  } cases[] = {
      // Two products reach 2 * 255 * 255 = 130050, three reach 195075.
      {"too few products", Sums(2, 0, 1 << 18), v1::HALF_UP},
      {"enough products", Sums(3, 0, 1 << 18), v1::HALF_EVEN},
      {"too small a bias", Sums(2, 1000, 1 << 18), v1::HALF_UP},
      {"enough bias", Sums(2, -(1 << 17), 1 << 18), v1::HALF_EVEN},
      {"bounds on steps",
       "%x : int8[2] scale 1 zero 0 = input\n"
       "%y : int8[2] scale 1 zero 0 = clip(%x) {clamp {min -4 max 6}} id y\n"
       "return %y\n",
       v1::HALF_UP},
      {"a bound between steps",
       "%x : int8[2] scale 1 zero 0 = input\n"
       "%y : int8[2] scale 1 zero 0 = clip(%x) {clamp {min -4 max 6.5}} id y\n"
       "return %y\n",
       v1::HALF_EVEN},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<Graph> graph = ParseGraph(c.graph);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const Op& op = graph->ops[0];
    EXPECT_EQ(IntegerRounding(op.attributes, ViewsOf(*graph, op.inputs),
                              ViewOf(graph->tensors[op.outputs[0]])),
              c.rounding)
        << c.name;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
