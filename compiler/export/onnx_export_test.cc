// What the exported model looks like, float ops, and what is refused.

#include "compiler/export/onnx_export.h"

#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/export/testing/onnx_checker.h"
#include "compiler/export/testing/round_trip.h"
#include "compiler/ir/text.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler {
namespace {

using testing::HasSubstr;

// Convolution, max pool and average of an NCHW input, as the importer leaves
// them.
constexpr char kNetwork[] = R"(
graph "net"
%x : float32[1,3,6,6] = input
%x.int8 : int8[1,3,6,6] scale 0.01 zero 3 = quantize(%x) id quantize_x
%t : int8[1,6,6,3] scale 0.01 zero 3 = transpose(%x.int8) {permutation [0, 2, 3, 1]} id conv1.to-nhwc
%w : int8[2,1,1,3] axis 0 scale [0.01, 0.02] zero [0, 0] = constant [1, -2, 3, 4, 5, -6]
%b : int32[2] axis 0 scale [1, 1] zero [0, 0] = constant [7, -8]
%c : int8[1,6,6,2] scale 0.02 zero -128 = conv2d(%t, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0}} id conv1 name "net/Conv1"
%p : int8[1,3,3,2] scale 0.02 zero -128 = max_pool2d(%c) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id pool
%a : int8[1,1,1,2] scale 0.02 zero -128 = average_pool2d(%p) {kernel_h 3 kernel_w 3 window {stride_h 3 stride_w 3 dilation_h 1 dilation_w 1}} id average
%f : int8[1,2] scale 0.02 zero -128 = reshape(%a) id flat
%y : float32[1,2] = dequantize(%f) id dequantize_y
return %y
)";

onnx::ModelProto Parsed(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

std::string Exported(absl::string_view text) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto bytes = ExportQdqOnnx(*graph);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}

absl::Status RefusedStatus(absl::string_view text) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return ExportQdqOnnx(*graph).status();
}

TEST(OnnxExport, ConvolutionsAndPoolsAreNchwWithoutTransposes) {
  const onnx::ModelProto model = Parsed(Exported(kNetwork));
  std::vector<std::string> nodes;
  for (const onnx::NodeProto& node : model.graph().node()) {
    nodes.push_back(absl::StrCat(node.op_type(), " ", node.name()));
  }
  EXPECT_EQ(absl::StrJoin(nodes, "\n"),
            "QuantizeLinear quantize_x\n"
            "DequantizeLinear x.int8.dequantize\n"
            "DequantizeLinear w.dequantize\n"
            "DequantizeLinear b.dequantize\n"
            "Conv conv1\n"
            "Relu conv1.relu\n"
            "QuantizeLinear conv1.quantize\n"
            "DequantizeLinear c.dequantize\n"
            "MaxPool pool\n"
            "QuantizeLinear pool.quantize\n"
            "DequantizeLinear p.dequantize\n"
            "AveragePool average\n"
            "QuantizeLinear average.quantize\n"
            "DequantizeLinear a.dequantize\n"
            "Reshape flat\n"
            "QuantizeLinear flat.quantize\n"
            "DequantizeLinear dequantize_y");
}

TEST(OnnxExport, WeightsAndBiasesKeepBytesScalesAndAxes) {
  const onnx::ModelProto model = Parsed(Exported(kNetwork));
  const auto initializer = [&model](absl::string_view name) {
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
      if (tensor.name() == name) return tensor;
    }
    ADD_FAILURE() << "no initializer " << name;
    return onnx::TensorProto();
  };
  const onnx::TensorProto weights = initializer("w");
  EXPECT_EQ(weights.data_type(), onnx::TensorProto::INT8);
  EXPECT_THAT(weights.dims(), testing::ElementsAre(2, 3, 1, 1));
  EXPECT_EQ(weights.raw_data(), std::string("\x01\xfe\x03\x04\x05\xfa", 6));
  EXPECT_THAT(initializer("w.scale").dims(), testing::ElementsAre(2));
  EXPECT_EQ(initializer("w.zero_point").data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(initializer("b").data_type(), onnx::TensorProto::INT32);
  EXPECT_EQ(initializer("b").raw_data(),
            std::string("\x07\0\0\0\xf8\xff\xff\xff", 8));
  // What the bias counts in, rather than what its tensor says.
  const float products[] = {static_cast<float>(double{0.01f} * double{0.01f}),
                            static_cast<float>(double{0.01f} * double{0.02f})};
  EXPECT_EQ(
      initializer("b.scale").raw_data(),
      std::string(reinterpret_cast<const char*>(products), sizeof(products)));
  EXPECT_EQ(initializer("c.zero_point").raw_data(), "\x80");
  EXPECT_THAT(initializer("c.scale").dims(), testing::IsEmpty());
}

TEST(OnnxExport, TheSameGraphGivesTheSameBytes) {
  EXPECT_EQ(Exported(kNetwork), Exported(kNetwork));
}

TEST(OnnxExport, PortsKeepNameShapeAndOrder) {
  const onnx::ModelProto model = Parsed(Exported(R"(
graph "g"
%a : float32[2,3] = input
%b : float32[1,2,2,4] = input
%u : float32[2,3] = unary(%a) {function ABS} id u
%v : float32[1,4,2,2] = transpose(%b) {permutation [0, 3, 1, 2]} id v
%w : float32[2,3] = reshape(%a) id w
return %v, %w, %u
)"));
  EXPECT_EQ(model.graph().input(0).name(), "a");
  EXPECT_EQ(model.graph().input(1).name(), "b");
  ASSERT_EQ(model.graph().output_size(), 3);
  EXPECT_EQ(model.graph().output(0).name(), "v");
  EXPECT_EQ(
      model.graph().output(0).type().tensor_type().shape().dim(1).dim_value(),
      4);
  EXPECT_EQ(model.graph().output(1).name(), "w");
  EXPECT_EQ(model.graph().output(2).name(), "u");
}

// Two outputs of one value, one of which is an output of the model's input.
TEST(OnnxExport, OutputsThatShareAValueAreCopied) {
  const std::string bytes = Exported(R"(
graph "g"
%a : float32[2,3] = input
%q : int8[2,3] scale 0.1 zero 0 = quantize(%a) id q
%u : float32[2,3] = dequantize(%q) id u
%v : float32[2,3] = dequantize(%q) id v
return %u, %v
)");
  const absl::Status checked = CheckedByOnnx(bytes);
  EXPECT_TRUE(checked.ok()) << checked;
  EXPECT_EQ(Parsed(bytes).graph().node(2).op_type(), "Identity");
}

TEST(OnnxExport, RefusesAnOpThatOnnxLacksByLayerAndFix) {
  const absl::Status refused = RefusedStatus(R"(
graph "g"
%x : float32[2,3] = input
%y : float32[2,5] = pad(%x) {before [0, 1] after [0, 1] mode SYMMETRIC} id mirror name "net/mirror"
return %y
)");
  EXPECT_TRUE(absl::IsUnimplemented(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("SYMMETRIC"));
  EXPECT_THAT(refused.message(), HasSubstr("layer mirror (pad, net/mirror)"));
  EXPECT_THAT(refused.message(), HasSubstr("fix: "));
}

TEST(OnnxExport, RefusesIntegersThatOpSet17DoesNotQuantizeTo) {
  const absl::Status refused = RefusedStatus(R"(
graph "g"
%x : float32[2,3] = input
%q : int16[2,3] scale 0.1 zero 0 = quantize(%x) id wide
%y : float32[2,3] = dequantize(%q) id y
return %y
)");
  EXPECT_TRUE(absl::IsUnimplemented(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("INT16"));
  EXPECT_THAT(refused.message(), HasSubstr("op set 21"));
  EXPECT_THAT(refused.message(), HasSubstr("layer wide"));
}

TEST(OnnxExport, RefusesStatesAndConvertedPorts) {
  const absl::Status states = RefusedStatus(R"(
graph "g"
%h : float32[2] = input
%n : float32[2] = unary(%h) {function ABS} id n
return %n states %h = %n
)");
  EXPECT_TRUE(absl::IsUnimplemented(states)) << states;
  const absl::Status ports = RefusedStatus(R"(
graph "g"
%x : int8[2] scale 0.1 zero 0 = input converted float32 HALF_EVEN
%y : float32[2] = dequantize(%x) id y
return %y
)");
  EXPECT_TRUE(absl::IsInvalidArgument(ports)) << ports;
}

struct FloatCase {
  const char* name;
  const char* text;
};

void PrintTo(const FloatCase& row, std::ostream* out) { *out << row.name; }

class OnnxExportFloatTest : public testing::TestWithParam<FloatCase> {};

TEST_P(OnnxExportFloatTest, ComputesTheSame) {
  const auto graph = ParseGraph(absl::StrCat("graph \"g\"\n", GetParam().text));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto bytes = ExportQdqOnnx(*graph);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::Status checked = CheckedByOnnx(*bytes);
  EXPECT_TRUE(checked.ok()) << checked;
  const auto again = ExportedAndImported(*graph);
  ASSERT_TRUE(again.ok()) << again.status();
  ExpectSameOutputs(*graph, *again, 1);
}

const FloatCase kFloat[] = {
    {"floor",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function FLOOR} id f\n"
     "return %y\n"},
    {"ceil",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function CEIL} id f\n"
     "return %y\n"},
    {"round",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function ROUND} id f\n"
     "return %y\n"},
    {"sign",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function SIGN} id f\n"
     "return %y\n"},
    {"reciprocal",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function RECIPROCAL} id f\n"
     "return %y\n"},
    {"square",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function SQUARE} id f\n"
     "return %y\n"},
    {"gelu_tanh",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function GELU_TANH} id f\n"
     "return %y\n"},
    {"affine",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function AFFINE alpha 2 beta 0.5} id "
     "f\n"
     "return %y\n"},
    {"scaled_tanh",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function SCALED_TANH alpha 1.5 beta "
     "0.7} id f\n"
     "return %y\n"},
    {"shrink",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function SHRINK alpha 0.3 beta 0.1} id "
     "f\n"
     "return %y\n"},
    {"atan",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function ATAN} id f\n"
     "return %y\n"},
    {"sinh",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function SINH} id f\n"
     "return %y\n"},
    {"cosh",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function COSH} id f\n"
     "return %y\n"},
    {"asinh",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function ASINH} id f\n"
     "return %y\n"},
    {"cos",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function COS} id f\n"
     "return %y\n"},
    {"tan",
     "%x : float32[2,3] = input\n"
     "%y : float32[2,3] = unary(%x) {function TAN} id f\n"
     "return %y\n"},
    {"is_inf_and_select",
     "%x : float32[2,3] = input\n"
     "%c : bool[2,3] = unary(%x) {function IS_INF alpha 1} id inf\n"
     "%z : float32[] = constant [5]\n"
     "%y : float32[2,3] = select(%c, %z, %x) id y\n"
     "return %y\n"},
    {"div_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : float32[2,3] = binary(%x, %z) {function DIV} id f\n"
     "return %y\n"},
    {"greater_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : bool[2,3] = binary(%x, %z) {function GREATER} id f\n"
     "return %y\n"},
    {"greater_or_equal_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : bool[2,3] = binary(%x, %z) {function GREATER_OR_EQUAL} id f\n"
     "return %y\n"},
    {"less_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : bool[2,3] = binary(%x, %z) {function LESS} id f\n"
     "return %y\n"},
    {"less_or_equal_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : bool[2,3] = binary(%x, %z) {function LESS_OR_EQUAL} id f\n"
     "return %y\n"},
    {"not_equal_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : bool[2,3] = binary(%x, %z) {function NOT_EQUAL} id f\n"
     "return %y\n"},
    {"trunc_mod_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : float32[2,3] = binary(%x, %z) {function TRUNC_MOD} id f\n"
     "return %y\n"},
    {"squared_difference_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : float32[2,3] = binary(%x, %z) {function SQUARED_DIFFERENCE} id "
     "f\n"
     "return %y\n"},
    {"minimum_float32",
     "%x : float32[2,3] = input\n"
     "%z : float32[3] = input\n"
     "%y : float32[2,3] = binary(%x, %z) {function MINIMUM} id f\n"
     "return %y\n"},
    {"equal_int32",
     "%x : int32[2,3] = input\n"
     "%z : int32[3] = input\n"
     "%y : bool[2,3] = binary(%x, %z) {function EQUAL} id f\n"
     "return %y\n"},
    {"floor_mod_int32",
     "%x : int32[2,3] = input\n"
     "%z : int32[3] = input\n"
     "%y : int32[2,3] = binary(%x, %z) {function FLOOR_MOD} id f\n"
     "return %y\n"},
    {"shift",
     "%x : uint32[2,3] = input\n"
     "%n : uint32[3] = constant [1, 2, 3]\n"
     "%y : uint32[2,3] = binary(%x, %n) {function SHIFT_RIGHT} id f\n"
     "return %y\n"},
    {"float16_ports",
     "%x : float16[2,3] = input\n"
     "%q : int8[2,3] scale 0.013 zero 3 = quantize(%x) {rounding HALF_EVEN} "
     "id q\n"
     "%r : int8[2,3] scale 0.013 zero 3 = unary(%q) {function ABS rounding "
     "HALF_EVEN} id r\n"
     "%y : float16[2,3] = dequantize(%r) id y\n"
     "return %y\n"},
    {"uint8",
     "%x : float32[2,3] = input\n"
     "%q : uint8[2,3] scale 0.013 zero 131 = quantize(%x) {rounding HALF_EVEN} "
     "id q\n"
     "%r : uint8[2,3] scale 0.013 zero 131 = unary(%q) {function ABS rounding "
     "HALF_EVEN} id r\n"
     "%y : float32[2,3] = dequantize(%r) id y\n"
     "return %y\n"},
    {"float16_clip",
     "%x : float16[2,3] = input\n"
     "%y : float16[2,3] = clip(%x) {clamp {min -0.5 max 0.25}} id y\n"
     "return %y\n"},
    {"float16_resize",
     "%x : float16[1,2,2,1] = input\n"
     "%y : float16[1,4,4,1] = resize(%x) {mode NEAREST coordinates ASYMMETRIC "
     "nearest_rounding FLOOR shape [1, 4, 4, 1]} id y\n"
     "return %y\n"},
    {"batch_normalization_last",
     "%x : float32[1,2,3,2] = input\n"
     "%s : float32[2] = constant [1, 2]\n"
     "%b : float32[2] = constant [0.5, -1]\n"
     "%m : float32[2] = constant [0.1, 0.2]\n"
     "%v : float32[2] = constant [1, 4]\n"
     "%y : float32[1,2,3,2] = batch_normalization(%x, %s, %b, %m, %v) "
     "{epsilon 0.001 axis 3} id bn\n"
     "return %y\n"},
    {"batch_normalization_first",
     "%x : float32[1,2,3,2] = input\n"
     "%s : float32[2] = constant [1, 2]\n"
     "%b : float32[2] = constant [0.5, -1]\n"
     "%m : float32[2] = constant [0.1, 0.2]\n"
     "%v : float32[2] = constant [1, 4]\n"
     "%y : float32[1,2,3,2] = batch_normalization(%x, %s, %b, %m, %v) "
     "{epsilon 0.001 axis 1} id bn\n"
     "return %y\n"},
    {"layer_normalization_without_scale",
     "%x : float32[2,4] = input\n"
     "%y : float32[2,4] = layer_normalization(%x, _, _) {axis 1 epsilon "
     "1e-05} id ln\n"
     "return %y\n"},
    {"l2_normalization",
     "%x : float32[2,4] = input\n"
     "%y : float32[2,4] = l2_normalization(%x) {axis 1 epsilon 0.5} id n\n"
     "return %y\n"},
    {"local_response_normalization",
     "%x : float32[1,2,2,5] = input\n"
     "%y : float32[1,2,2,5] = local_response_normalization(%x) {size 3 "
     "alpha 0.1 beta 0.75 bias 1 axis 3} id n\n"
     "return %y\n"},
    {"softmax_with_beta",
     "%x : float32[2,4] = input\n"
     "%y : float32[2,4] = softmax(%x) {beta 2.5 axis 1} id s\n"
     "return %y\n"},
    {"arg_max_int32",
     "%x : float32[2,4] = input\n"
     "%y : int32[2] = arg_reduce(%x) {function MAX axis 1} id a\n"
     "return %y\n"},
    {"arg_min_last",
     "%x : float32[2,4] = input\n"
     "%y : int64[2,1] = arg_reduce(%x) {function MIN axis 1 keep_dims true "
     "select_last true} id a\n"
     "return %y\n"},
    {"top_k",
     "%x : float32[2,4] = input\n"
     "%y : float32[2,2], %i : int64[2,2] = top_k(%x) {k 2 axis 1} id t\n"
     "return %y, %i\n"},
    {"cum_sum",
     "%x : float32[2,4] = input\n"
     "%y : float32[2,4] = cum_sum(%x) {axis 1 exclusive true reverse true} "
     "id c\n"
     "return %y\n"},
    {"reduce_product",
     "%x : float32[2,4] = input\n"
     "%y : float32[4] = reduce(%x) {function PRODUCT axes [0]} id r\n"
     "return %y\n"},
    {"reduce_l1",
     "%x : float32[2,4] = input\n"
     "%y : float32[2,1] = reduce(%x) {function L1 axes [1] keep_dims true} "
     "id r\n"
     "return %y\n"},
    {"cast",
     "%x : float32[2,4] = input\n"
     "%i : int32[2,4] = cast(%x) id i\n"
     "%y : float32[2,4] = cast(%i) id y\n"
     "return %y\n"},
    {"scatter_elements",
     "%x : float32[2,3] = input\n"
     "%n : int64[1,2] = constant [1, 0]\n"
     "%u : float32[1,2] = input\n"
     "%y : float32[2,3] = scatter_elements(%x, %n, %u) {axis 1 reduction "
     "SCATTER_ADD} id s\n"
     "return %y\n"},
    {"scatter_nd_int32",
     "%x : float32[2,3] = input\n"
     "%n : int32[1,1] = constant [1]\n"
     "%u : float32[1,3] = input\n"
     "%y : float32[2,3] = scatter_nd(%x, %n, %u) id s\n"
     "return %y\n"},
    {"reverse_sequence",
     "%x : float32[3,2,2] = input\n"
     "%n : int64[2] = constant [2, 3]\n"
     "%y : float32[3,2,2] = reverse_sequence(%x, %n) {batch_axis 1} id s\n"
     "return %y\n"},
    {"grid_sample",
     "%x : float32[1,3,3,2] = input\n"
     "%g : float32[1,2,2,2] = input\n"
     "%y : float32[1,2,2,2] = grid_sample(%x, %g) {padding BORDER "
     "align_corners true} id s\n"
     "return %y\n"},
    {"pool_with_indices",
     "%x : float32[1,4,4,2] = input\n"
     "%y : float32[1,2,2,2], %i : int64[1,2,2,2] = pool(%x) {function MAXIMUM "
     "kernel [2, 2] window {stride [2, "
     "2] dilation [1, 1] pad_before [0, 0] pad_after [0, 0]}} id p\n"
     "return %y, %i\n"},
    {"lp_pool",
     "%x : float32[1,4,4,2] = input\n"
     "%y : float32[1,2,2,2] = pool(%x) {function LP_NORM kernel [2, 2] "
     "window {stride [2, 2] dilation [1, 1] pad_before [0, 0] pad_after [0, "
     "0]} p 2} id p\n"
     "return %y\n"},
    {"average_pool_3d",
     "%x : float32[1,2,4,4,2] = input\n"
     "%y : float32[1,1,2,2,2] = pool(%x) {function AVERAGE kernel [2, 2, 2] "
     "window {stride [2, 2, 2] dilation [1, 1, 1] pad_before [0, 0, 0] "
     "pad_after [0, 0, 0]}} id p\n"
     "return %y\n"},
    {"conv2d_with_computed_weights",
     "%x : float32[1,4,4,2] = input\n"
     "%w : float32[3,2,2,2] = input\n"
     "%y : float32[1,3,3,3] = conv2d(%x, %w) {window {stride_h 1 stride_w 1 "
     "dilation_h 1 dilation_w 1} clamp {min -1 max 1}} id c\n"
     "return %y\n"},
    {"dilated_conv2d",
     "%x : float32[1,5,5,1] = input\n"
     "%w : float32[1,2,2,1] = constant [1, 2, 3, 4]\n"
     "%b : float32[1] = constant [0.5]\n"
     "%y : float32[1,3,3,1] = conv2d(%x, %w, %b) {window {stride_h 1 "
     "stride_w 1 dilation_h 2 dilation_w 2}} id c\n"
     "return %y\n"},
    {"transposed_conv_of_groups",
     "%x : float32[1,2,2,4] = input\n"
     "%w : float32[2,1,1,2] = constant [1, 2, 3, 4]\n"
     "%b : float32[2] = constant [0.5, -1]\n"
     "%y : float32[1,3,3,2] = transposed_conv(%x, %w, %b) {window {stride "
     "[2, 2] dilation [1, 1] pad_before [0, 0] pad_after [0, 0]} output_pad "
     "[0, 0] groups 2} id c\n"
     "return %y\n"},
    {"resize_cubic",
     "%x : float32[1,4,4,2] = input\n"
     "%y : float32[1,6,6,2] = resize(%x) {mode CUBIC coordinates "
     "ALIGN_CORNERS shape [1, 6, 6, 2] cubic_coeff_a -0.75} id r\n"
     "return %y\n"},
    {"reduce_mean_of_nchw",
     "%x : float32[1,4,4,2] = input\n"
     "%p : float32[1,2,2,2] = max_pool2d(%x) {kernel_h 2 kernel_w 2 window "
     "{stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p\n"
     "%y : float32[1,2] = reduce_mean(%p) {axes [1, 2]} id m\n"
     "return %y\n"},
    {"slice_backwards_of_nchw",
     "%x : float32[1,4,4,2] = input\n"
     "%p : float32[1,2,2,2] = max_pool2d(%x) {kernel_h 2 kernel_w 2 window "
     "{stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p\n"
     "%y : float32[1,2,2,2] = slice(%p) {begin [0, 1, 0, 0] extent [1, 2, "
     "2, 2] stride [1, -1, 1, 1]} id s\n"
     "return %y\n"},
    {"sum_of_nchw_and_nhwc",
     "%x : float32[1,4,4,2] = input\n"
     "%z : float32[1,2,2,2] = input\n"
     "%p : float32[1,2,2,2] = max_pool2d(%x) {kernel_h 2 kernel_w 2 window "
     "{stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p\n"
     "%y : float32[1,2,2,2] = add(%z, %p) id s\n"
     "return %y\n"},
    {"sum_of_nchw_and_fewer_dimensions",
     "%x : float32[1,4,4,2] = input\n"
     "%z : float32[2] = input\n"
     "%p : float32[1,2,2,2] = max_pool2d(%x) {kernel_h 2 kernel_w 2 window "
     "{stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id p\n"
     "%y : float32[1,2,2,2] = add(%p, %z) {clamp {max 0.5}} id s\n"
     "return %y\n"},
    {"an_input_is_output",
     "%x : float32[1,2,2,3] = input\n"
     "%y : float32[1,3,2,2] = transpose(%x) {permutation [0, 3, 1, 2]} id "
     "t\n"
     "%z : float32[1,2,2,3] = transpose(%y) {permutation [0, 2, 3, 1]} id "
     "u\n"
     "return %y, %z\n"},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxExportFloatTest, testing::ValuesIn(kFloat),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace edgekiln::compiler
