// Every kind of op that QuantizeGraph() leaves in int8, and float ops between
// them: exported, imported and simplified they are the same.

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rng.h"
#include "compiler/export/onnx_export.h"
#include "compiler/export/testing/onnx_checker.h"
#include "compiler/export/testing/round_trip.h"
#include "compiler/ir/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct OpCase {
  const char* name;
  const char* x;  // Shape of the operand, %q.
  const char* y;  // Shape of the result, %i.
  // Lines that make %i of %q.
  const char* body;
  // Lines of IntegerDifferences().
  const char* differences = "";
  // By which results may differ, where the op comes back as a float one.
  int steps = 0;
};

void PrintTo(const OpCase& row, std::ostream* out) { *out << row.name; }

// Float ports around the lines.
std::string Text(const OpCase& row) {
  return absl::StrCat("graph \"g\"\n%x : float32[", row.x,
                      "] = input\n%q : int8[", row.x,
                      "] scale 0.013 zero 3 = quantize(%x) id quantize_x\n",
                      row.body, "\n%y : float32[", row.y,
                      "] = dequantize(%i) id dequantize_y\nreturn %y\n");
}

std::vector<std::string> RandomSample(const Graph& graph, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::string> sample;
  for (const TensorId id : graph.inputs) {
    std::string& bytes = sample.emplace_back();
    for (int64_t i = 0; i < graph.tensors[id].num_elements(); ++i) {
      const float value = 4 * static_cast<float>(rng.Next() >> 40) * 0x1p-24f;
      const float shifted = value - 2;
      bytes.append(reinterpret_cast<const char*>(&shifted), sizeof(shifted));
    }
  }
  return sample;
}

std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class OnnxExportOpsTest : public testing::TestWithParam<OpCase> {};

TEST_P(OnnxExportOpsTest, ComesBack) {
  const auto graph = ParseGraph(Text(GetParam()));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto bytes = ExportQdqOnnx(*graph);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::Status checked = CheckedByOnnx(*bytes);
  EXPECT_TRUE(checked.ok()) << checked;
  const auto again = ExportedAndImported(*graph);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(absl::StrJoin(IntegerDifferences(*graph, *again), "\n"),
            GetParam().differences)
      << PrintGraph(*again);
  const Graph same_rounding = WithRoundingsOf(*graph, *again);
  const float step =
      graph->tensors[graph->ops.back().inputs[0]].quantization->scale[0];
  for (const uint64_t seed : {1, 2, 3}) {
    const std::vector<std::string> sample = RandomSample(*graph, seed);
    const auto expected = OutputsOf(*graph, sample);
    const auto actual = OutputsOf(same_rounding, sample);
    ASSERT_TRUE(expected.ok() && actual.ok())
        << expected.status() << actual.status();
    ASSERT_EQ(actual->size(), expected->size());
    EXPECT_THAT(FloatsOf(*actual),
                testing::Pointwise(
                    testing::FloatNear(step * (1e-3f + GetParam().steps)),
                    FloatsOf(*expected)));
  }
}

const OpCase kCases[] = {
    {"conv2d", "1,4,5,3", "1,5,3,2",
     "%w : int8[2,2,2,3] axis 0 scale [0.01, 0.02] zero [0, 0] = constant "
     "0x0102037f8105060708ff0a0b0c0d0e0f1011121314151617\n"
     "%b : int32[2] axis 0 scale [0.00013, 0.00026] zero [0, 0] = constant "
     "[1000, -77]\n"
     "%i : int8[1,5,3,2] scale 0.03 zero -5 = conv2d(%q, %w, %b) {window "
     "{stride_h 1 stride_w 2 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom "
     "1 pad_left 1 pad_right 1} clamp {min -0.5 max 1.5}} id b.c name "
     "\"a/b/c\""},
    {"conv2d_one_scale_and_relu", "1,4,4,3", "1,3,3,2",
     "%w : int8[2,2,2,3] scale 0.015 zero 0 = constant "
     "0x0102037f8105060708ff0a0b0c0d0e0f1011121314151617\n"
     "%b : int32[2] scale 0.000195 zero 0 = constant [900, -7]\n"
     "%i : int8[1,3,3,2] scale 0.02 zero -128 = conv2d(%q, %w, %b) {window "
     "{stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0}} id "
     "conv"},
    {"conv2d_bias_without_scale", "1,4,4,3", "1,3,3,2",
     "%w : int8[2,2,2,3] axis 0 scale [0.01, 0.02] zero [0, 0] = constant "
     "0x0102037f8105060708ff0a0b0c0d0e0f1011121314151617\n"
     "%b : int32[2] = constant [900, -70]\n"
     "%i : int8[1,3,3,2] scale 0.02 zero 0 = conv2d(%q, %w, %b) {window "
     "{stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id conv"},
    {"conv2d_relu6", "1,4,4,3", "1,3,3,2",
     "%w : int8[2,2,2,3] axis 0 scale [0.01, 0.02] zero [0, 0] = constant "
     "0x0102037f8105060708ff0a0b0c0d0e0f1011121314151617\n"
     "%i : int8[1,3,3,2] scale 0.0235294122 zero -128 = conv2d(%q, %w) "
     "{window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min "
     "0 max 6}} id conv"},
    {"conv2d_groups", "1,3,3,4", "1,3,3,2",
     "%w : int8[2,1,1,2] axis 0 scale [0.01, 0.02] zero [0, 0] = constant "
     "[1, -2, 3, 127]\n"
     "%i : int8[1,3,3,2] scale 0.02 zero 0 = conv2d(%q, %w) {window "
     "{stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} groups 2} id conv"},
    {"depthwise_conv2d", "1,4,4,3", "1,4,4,6",
     "%w : int8[1,2,2,6] axis 3 scale [0.01, 0.02, 0.03, 0.01, 0.02, 0.03] "
     "zero [0, 0, 0, 0, 0, 0] = constant "
     "0x0102037f8105060708ff0a0b0c0d0e0f1011121314151617\n"
     "%b : int32[6] axis 0 scale [0.00013, 0.00026, 0.00039, 0.00013, "
     "0.00026, 0.00039] zero [0, 0, 0, 0, 0, 0] = constant [1, -2, 3, -400, "
     "500, 6]\n"
     "%i : int8[1,4,4,6] scale 0.03 zero 7 = depthwise_conv2d(%q, %w, %b) "
     "{window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1 pad_bottom 1 "
     "pad_right 1} depth_multiplier 2 clamp {min 0}} id dw"},
    {"depthwise_conv2d_of_one_channel", "1,3,3,1", "1,2,2,2",
     "%w : int8[1,2,2,2] axis 3 scale [0.01, 0.02] zero [0, 0] = constant "
     "[1, -2, 3, -4, 5, -6, 7, -8]\n"
     "%i : int8[1,2,2,2] scale 0.02 zero 0 = depthwise_conv2d(%q, %w) "
     "{window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} "
     "depth_multiplier 2} id dw",
     "dw: kind depthwise_conv2d -> conv2d"},
    {"fully_connected", "2,6", "2,2",
     "%w : int8[2,6] axis 0 scale [0.01, 0.02] zero [0, 0] = constant [1, "
     "-2, 3, -4, 5, -6, 7, -8, 9, 100, 11, -127]\n"
     "%b : int32[2] axis 0 scale [0.00013, 0.00026] zero [0, 0] = constant "
     "[1000, -77]\n"
     "%i : int8[2,2] scale 0.03 zero 9 = fully_connected(%q, %w, %b) {clamp "
     "{min 0}} id fc name \"fc\""},
    {"fully_connected_without_bias", "2,6", "2,2",
     "%w : int8[2,6] axis 0 scale [0.01, 0.02] zero [0, 0] = constant [1, "
     "-2, 3, -4, 5, -6, 7, -8, 9, 100, 11, -127]\n"
     "%i : int8[2,2] scale 0.03 zero 9 = fully_connected(%q, %w) id fc"},
    {"fully_connected_of_rows", "1,3,6", "1,3,2",
     "%w : int8[2,6] axis 0 scale [0.01, 0.02] zero [0, 0] = constant [1, "
     "-2, 3, -4, 5, -6, 7, -8, 9, 100, 11, -127]\n"
     "%b : int32[2] axis 0 scale [0.00013, 0.00026] zero [0, 0] = constant "
     "[1000, -77]\n"
     "%i : int8[1,3,2] scale 0.03 zero 9 = fully_connected(%q, %w, %b) id fc"},
    {"fully_connected_of_a_vector", "6", "2",
     "%w : int8[2,6] axis 0 scale [0.01, 0.02] zero [0, 0] = constant [1, -2, "
     "3, -4, 5, -6, 7, -8, 9, 100, 11, -127]\n"
     "%b : int32[2] axis 0 scale [0.00013, 0.00026] zero [0, 0] = constant "
     "[1000, -77]\n"
     "%i : int8[2] scale 0.03 zero 9 = fully_connected(%q, %w, %b) {clamp {min "
     "0}} id fc",
     "fc: shape of operand 0\nfc.rows: new reshape\nfc.vector: new reshape"},
    {"fully_connected_of_pixels", "1,1,2,3", "1,2",
     "%w : int8[2,6] axis 0 scale [0.01, 0.02] zero [0, 0] = constant [1, "
     "-2, 3, -4, 5, -6, 7, -8, 9, 100, 11, -127]\n"
     "%b : int32[2] axis 0 scale [0.00013, 0.00026] zero [0, 0] = constant "
     "[1000, -77]\n"
     "%i : int8[1,2] scale 0.03 zero 9 = fully_connected(%q, %w, %b) id fc",
     "fc: shape of operand 0\nfc.rows: new reshape"},
    {"mat_mul", "1,2,3", "1,2,2",
     "%t : int8[1,3,2] scale 0.013 zero 3 = transpose(%q) {permutation [0, "
     "2, 1]} id t\n"
     "%i : int8[1,2,2] scale 0.01 zero -4 = mat_mul(%q, %t) id mm"},
    {"add", "1,2,2,3", "1,2,2,3",
     "%p : int8[1,2,2,3] scale 0.02 zero -3 = unary(%q) {function ABS} id "
     "p\n"
     "%i : int8[1,2,2,3] scale 0.04 zero 1 = add(%q, %p) {clamp {max 1}} id "
     "sum"},
    {"add_constant", "1,2,2,3", "1,2,2,3",
     "%c : int8[3] scale 0.01 zero 5 = constant [1, -2, 127]\n"
     "%i : int8[1,2,2,3] scale 0.04 zero 1 = add(%q, %c) id sum"},
    {"mul", "2,3", "2,3",
     "%p : int8[2,3] scale 0.02 zero -3 = unary(%q) {function SIGMOID} id "
     "p\n"
     "%i : int8[2,3] scale 0.04 zero 1 = mul(%q, %p) {clamp {min 0}} id "
     "product"},
    {"average_pool2d_odd", "1,3,3,2", "1,1,1,2",
     "%i : int8[1,1,1,2] scale 0.013 zero 3 = average_pool2d(%q) {kernel_h "
     "3 kernel_w 3 window {stride_h 1 stride_w 1 dilation_h 1 dilation_w "
     "1}} id pool"},
    {"average_pool2d_even", "1,4,4,2", "1,2,2,2",
     "%i : int8[1,2,2,2] scale 0.013 zero 3 = average_pool2d(%q) {kernel_h "
     "2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w "
     "1}} id pool",
     "pool: no average_pool2d any more\npool.quantize: new quantize", 1},
    {"max_pool2d", "1,4,4,2", "1,2,2,2",
     "%i : int8[1,2,2,2] scale 0.013 zero 3 = max_pool2d(%q) {kernel_h 3 "
     "kernel_w 3 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1 "
     "pad_bottom 1 pad_right 1}} id pool"},
    {"max_pool2d_clamp", "1,4,4,2", "1,2,2,2",
     "%i : int8[1,2,2,2] scale 0.013 zero 3 = max_pool2d(%q) {kernel_h 2 "
     "kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1} "
     "clamp {min 0}} id pool"},
    {"softmax", "2,3", "2,3",
     "%i : int8[2,3] scale 0.00390625 zero -128 = softmax(%q) {beta 1 axis "
     "1} id softmax"},
    {"softmax_over_rows", "1,4,3", "1,4,3",
     "%i : int8[1,4,3] scale 0.00390625 zero -128 = softmax(%q) {beta 1 "
     "axis 1} id softmax"},
    {"log_softmax", "2,3", "2,3",
     "%i : int8[2,3] scale 0.05 zero 100 = log_softmax(%q) {axis 1} id ls"},
    {"reshape", "1,2,2,3", "1,12",
     "%i : int8[1,12] scale 0.013 zero 3 = reshape(%q) id flat name \"flat\""},
    {"transpose", "1,2,5,3", "3,10",
     "%t : int8[1,3,2,5] scale 0.013 zero 3 = transpose(%q) {permutation "
     "[0, 3, 1, 2]} id t\n"
     "%i : int8[3,10] scale 0.013 zero 3 = reshape(%t) id flat"},
    {"transpose_of_rows", "2,3,4", "4,6",
     "%t : int8[4,2,3] scale 0.013 zero 3 = transpose(%q) {permutation [2, "
     "0, 1]} id t\n"
     "%i : int8[4,6] scale 0.013 zero 3 = reshape(%t) id flat"},
    {"clip", "2,3", "2,3",
     "%i : int8[2,3] scale 0.01 zero 1 = clip(%q) {clamp {min -0.3 max "
     "0.4}} id clip"},
    {"clip_of_one_scale", "2,3", "2,3",
     "%i : int8[2,3] scale 0.013 zero 3 = clip(%q) {clamp {min 0}} id relu"},
    {"pad", "1,2,2,3", "1,4,3,3",
     "%i : int8[1,4,3,3] scale 0.013 zero 3 = pad(%q) {before [0, 1, 0, 0] "
     "after [0, 1, 1, 0]} id pad"},
    {"pad_with_value", "2,3", "2,5",
     "%i : int8[2,5] scale 0.013 zero 3 = pad(%q) {before [0, 2] after [0, "
     "0] value 0.5} id pad"},
    {"pad_edge", "2,3", "2,5",
     "%i : int8[2,5] scale 0.013 zero 3 = pad(%q) {before [0, 1] after [0, "
     "1] mode EDGE} id pad"},
    {"concat", "1,2,2,3", "1,2,2,6",
     "%p : int8[1,2,2,3] scale 0.013 zero 3 = unary(%q) {function ABS} id "
     "p\n"
     "%i : int8[1,2,2,6] scale 0.013 zero 3 = concat(%q, %p) {axis 3} id cat"},
    {"concat_of_two_scales", "2,3", "2,6",
     "%p : int8[2,3] scale 0.02 zero -3 = unary(%q) {function ABS} id p\n"
     "%i : int8[2,6] scale 0.02 zero 0 = concat(%q, %p) {axis 1} id cat"},
    {"reduce_mean", "1,3,5", "1,5",
     "%i : int8[1,5] scale 0.01 zero 4 = reduce_mean(%q) {axes [1]} id mean"},
    {"reduce_mean_keeps", "1,3,5", "1,3,1",
     "%i : int8[1,3,1] scale 0.01 zero 4 = reduce_mean(%q) {axes [2] "
     "keep_dims true} id mean"},
    {"reduce_sum", "2,3", "2",
     "%i : int8[2] scale 0.04 zero 4 = reduce(%q) {function SUM axes [1]} "
     "id sum"},
    {"reduce_max", "2,3", "2,1",
     "%i : int8[2,1] scale 0.013 zero 3 = reduce(%q) {function MAX axes [1] "
     "keep_dims true} id max"},
    {"unary_abs", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function ABS} id f"},
    {"unary_neg", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function NEG} id f"},
    {"unary_tanh", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function TANH} id f"},
    {"unary_sigmoid", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SIGMOID} id f"},
    {"unary_exp", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function EXP} id f"},
    {"unary_erf", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function ERF} id f"},
    {"unary_elu", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function ELU alpha 1} "
     "id f"},
    {"unary_selu", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SELU alpha "
     "1.6732632 beta 1.050701} id f"},
    {"unary_leaky_relu", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function LEAKY_RELU "
     "alpha 0.1} id f"},
    {"unary_hard_sigmoid", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function HARD_SIGMOID "
     "alpha 0.2 beta 0.5} id f"},
    {"unary_hard_swish", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function HARD_SWISH} "
     "id f"},
    {"unary_gelu", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function GELU} id f"},
    {"unary_softplus", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SOFTPLUS} id f"},
    {"unary_softsign", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SOFTSIGN} id f"},
    {"unary_sin", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SIN} id f"},
    {"unary_celu", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function CELU alpha "
     "1.5} id f"},
    {"unary_sign", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SIGN} id f"},
    {"unary_floor", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function FLOOR} id f"},
    {"unary_ceil", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function CEIL} id f"},
    {"unary_round", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function ROUND} id f"},
    {"unary_sqrt", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SQRT} id f"},
    {"unary_reciprocal", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function RECIPROCAL} id "
     "f"},
    {"unary_log", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function LOG} id f"},
    {"unary_cos", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function COS} id f"},
    {"unary_tan", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function TAN} id f"},
    {"unary_asin", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function ASIN} id f"},
    {"unary_atan", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function ATAN} id f"},
    {"unary_sinh", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SINH} id f"},
    {"unary_asinh", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function ASINH} id f"},
    {"pool_of_rank_5", "1,2,2,2,3", "1,1,1,1,3",
     "%i : int8[1,1,1,1,3] scale 0.013 zero 3 = pool(%q) {function MAXIMUM "
     "kernel [2, 2, 2] window {stride [1, 1, 1] dilation [1, 1, 1] pad_before "
     "[0, 0, 0] pad_after [0, 0, 0]}} id pool"},
    {"reverse_sequence", "3,2,2", "3,2,2",
     "%n : int64[2] = constant [2, 3]\n"
     "%i : int8[3,2,2] scale 0.013 zero 3 = reverse_sequence(%q, %n) "
     "{batch_axis 1} id rs"},
    {"reduce_min", "2,3", "2",
     "%i : int8[2] scale 0.013 zero 3 = reduce(%q) {function MIN axes [1]} id "
     "min"},
    {"unary_square", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%q) {function SQUARE} id f",
     "f: kind unary -> mul"},
    {"unary_rsqrt", "2,3", "2,3",
     "%p : int8[2,3] scale 0.02 zero -128 = unary(%q) {function EXP} id p\n"
     "%i : int8[2,3] scale 0.02 zero -7 = unary(%p) {function RSQRT} id f",
     "f: no unary any more\nf.quantize: new quantize"},
    {"binary_sub", "2,3", "2,3",
     "%p : int8[2,3] scale 0.02 zero -3 = unary(%q) {function ABS} id p\n"
     "%i : int8[2,3] scale 0.03 zero 2 = binary(%q, %p) {function SUB} id f"},
    {"binary_minimum", "2,3", "2,3",
     "%p : int8[2,3] scale 0.02 zero -3 = unary(%q) {function ABS} id p\n"
     "%i : int8[2,3] scale 0.03 zero 2 = binary(%q, %p) {function MINIMUM} "
     "id f"},
    {"binary_maximum", "2,3", "2,3",
     "%p : int8[2,3] scale 0.02 zero -3 = unary(%q) {function ABS} id p\n"
     "%i : int8[2,3] scale 0.03 zero 2 = binary(%q, %p) {function MAXIMUM} "
     "id f"},
    {"binary_squared_difference", "2,3", "2,3",
     "%p : int8[2,3] scale 0.02 zero -3 = unary(%q) {function ABS} id p\n"
     "%i : int8[2,3] scale 0.03 zero 2 = binary(%q, %p) {function "
     "SQUARED_DIFFERENCE} id f",
     "f: no binary any more\nf.quantize: new quantize", 1},
    {"binary_div", "2,3", "2,3",
     "%c : int8[3] scale 0.02 zero 0 = constant [50, -60, 70]\n"
     "%i : int8[2,3] scale 0.03 zero 2 = binary(%q, %c) {function DIV} id f"},
    {"binary_prelu", "1,2,2,3", "1,2,2,3",
     "%c : int8[3] scale 0.002 zero 0 = constant [50, -60, 70]\n"
     "%i : int8[1,2,2,3] scale 0.013 zero 3 = binary(%q, %c) {function "
     "PRELU} id f"},
    {"slice", "1,5,4,3", "1,2,4,3",
     "%i : int8[1,2,4,3] scale 0.013 zero 3 = slice(%q) {begin [0, 4, 0, 0] "
     "extent [1, 2, 4, 3] stride [1, -4, 1, 1]} id slice"},
    {"gather", "2,5", "2,3",
     "%n : int64[3] = constant [4, 0, 2]\n"
     "%i : int8[2,3] scale 0.013 zero 3 = gather(%q, %n) {axis 1} id gather"},
    {"gather_elements", "2,3", "2,2",
     "%n : int64[2,2] = constant [2, 0, 1, 1]\n"
     "%i : int8[2,2] scale 0.013 zero 3 = gather_elements(%q, %n) {axis 1} "
     "id gather"},
    {"gather_nd", "2,3", "2,3",
     "%n : int64[2,1] = constant [1, 0]\n"
     "%i : int8[2,3] scale 0.013 zero 3 = gather_nd(%q, %n) id gather"},
    {"broadcast_to", "1,3", "2,3",
     "%i : int8[2,3] scale 0.013 zero 3 = broadcast_to(%q) {shape [2, 3]} "
     "id expand"},
    {"tile", "1,3", "2,6",
     "%i : int8[2,6] scale 0.013 zero 3 = tile(%q) {multiples [2, 2]} id "
     "tile"},
    {"resize_nearest", "1,2,2,3", "1,4,4,3",
     "%i : int8[1,4,4,3] scale 0.013 zero 3 = resize(%q) {mode NEAREST "
     "coordinates ASYMMETRIC nearest_rounding FLOOR shape [1, 4, 4, 3] "
     "scale [1, 2, 2, 1]} id resize"},
    {"resize_linear", "1,2,2,3", "1,4,4,3",
     "%i : int8[1,4,4,3] scale 0.013 zero 3 = resize(%q) {mode LINEAR shape "
     "[1, 4, 4, 3] scale [1, 2, 2, 1]} id resize"},
    {"resize_sizes", "1,3,3,2", "1,5,5,2",
     "%i : int8[1,5,5,2] scale 0.013 zero 3 = resize(%q) {mode NEAREST "
     "nearest_rounding FLOOR shape [1, 5, 5, 2] scale [1, 1.6666666, "
     "1.6666666, 1]} id resize"},
    {"requantize", "2,3", "2,3",
     "%i : int8[2,3] scale 0.02 zero -3 = quantize(%q) {rounding HALF_EVEN} "
     "id change"},
    {"l2_normalization", "2,3", "2,3",
     "%i : int8[2,3] scale 0.0078125 zero 0 = l2_normalization(%q) {axis 1 "
     "epsilon 1e-30} id norm"},
    {"conv3d", "1,2,2,2,2", "1,2,2,2,1",
     "%w : int8[1,1,1,1,2] scale 0.01 zero 0 = constant [100, -50]\n"
     "%i : int8[1,2,2,2,1] scale 0.03 zero 2 = conv3d(%q, %w) {window "
     "{stride [1, 1, 1] dilation [1, 1, 1] pad_before [0, 0, 0] pad_after "
     "[0, 0, 0]}} id conv"},
    {"transposed_conv", "1,2,2,2", "1,4,4,3",
     "%w : int8[3,2,2,2] scale 0.01 zero 0 = constant "
     "0x0102037f8105060708ff0a0b0c0d0e0f1011121314151617\n"
     "%i : int8[1,4,4,3] scale 0.03 zero 2 = transposed_conv(%q, %w) "
     "{window {stride [2, 2] dilation [1, 1] pad_before [0, 0] pad_after "
     "[0, 0]} output_pad [0, 0]} id conv"},
    {"convolutions_in_a_row", "1,4,4,3", "1,3,3,2",
     "%w : int8[2,2,2,3] axis 0 scale [0.01, 0.02] zero [0, 0] = constant "
     "0x0102037f8105060708ff0a0b0c0d0e0f1011121314151617\n"
     "%b : int32[2] axis 0 scale [0.00013, 0.00026] zero [0, 0] = constant "
     "[1000, -77]\n"
     "%c : int8[1,3,3,2] scale 0.03 zero -5 = conv2d(%q, %w, %b) {window "
     "{stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id first\n"
     "%d : int8[2] scale 0.01 zero 0 = constant [3, -4]\n"
     "%s : int8[1,3,3,2] scale 0.05 zero 1 = add(%c, %d) id sum\n"
     "%i : int8[1,3,3,2] scale 0.00390625 zero -128 = softmax(%s) {beta 1 "
     "axis 3} id softmax"},
    {"layers_that_share_weights", "1,4,4,3", "1,3,3,4",
     "%w : int8[2,2,2,3] axis 0 scale [0.01, 0.02] zero [0, 0] = constant "
     "0x0102037f8105060708ff0a0b0c0d0e0f1011121314151617\n"
     "%b : int32[2] axis 0 scale [0.00013, 0.00026] zero [0, 0] = constant "
     "[1000, -77]\n"
     "%p : int8[1,4,4,3] scale 0.02 zero -3 = unary(%q) {function ABS} id "
     "p\n"
     "%e : int8[1,3,3,2] scale 0.03 zero -5 = conv2d(%q, %w, %b) {window "
     "{stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id first\n"
     "%b2 : int32[2] axis 0 scale [0.0002, 0.0004] zero [0, 0] = constant "
     "[500, 6]\n"
     "%f : int8[1,3,3,2] scale 0.03 zero -5 = conv2d(%p, %w, %b2) {window "
     "{stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id second\n"
     "%i : int8[1,3,3,4] scale 0.03 zero -5 = concat(%e, %f) {axis 3} id cat"},
    {"float_between", "1,2,2,3", "1,2,2,3",
     "%r : float32[1,2,2,3] = dequantize(%q) id dequantize_q\n"
     "%s : float32[3] = constant [1, 2, 3]\n"
     "%t : float32[3] = constant [0.5, 0, -1]\n"
     "%n : float32[1,2,2,3] = layer_normalization(%r, %s, %t) {axis 3 "
     "epsilon 1e-05} id norm\n"
     "%i : int8[1,2,2,3] scale 0.02 zero 0 = quantize(%n) id quantize_n"},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxExportOpsTest, testing::ValuesIn(kCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
