// HALF_EVEN is what ONNX computes: the float op between Dequantize and
// Quantize. With scales that are powers of two every float here is exact, so
// that both must agree in every value, ties included.

#include "ops/rounding.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/shape_inference.h"
#include "ops/testing/test_tensor.h"

namespace edgekiln::ops {
namespace {

constexpr CpuPath kPaths[] = {CpuPath::kScalar, CpuPath::kAvx2,
                              CpuPath::kAvx512};

constexpr float kUnit = 1.0f / 256;

struct Operand {
  std::vector<int64_t> shape;
  float scale;
  int64_t largest;  // Size of its values.
};

struct OpCase {
  std::string name;
  std::function<void(v1::OpAttributes&)> set;
  std::vector<Operand> inputs;
  Operand output;
  bool has_bias = false;
  // Ties make a difference to HALF_UP.
  bool differs = true;
};

void PrintTo(const OpCase& row, std::ostream* out) { *out << row.name; }

template <typename Window>
void SetSteps(Window& window) {
  window.set_stride_h(1);
  window.set_stride_w(1);
  window.set_dilation_h(1);
  window.set_dilation_w(1);
}

void SetPool(v1::AveragePool2d& pool, bool counts_padding) {
  SetSteps(*pool.mutable_window());
  pool.set_kernel_h(2);
  pool.set_kernel_w(3);
  pool.mutable_window()->set_pad_top(1);
  pool.mutable_window()->set_pad_right(2);
  pool.set_count_include_pad(counts_padding);
}

OpCase UnaryCase(std::string name, v1::Unary::Function function,
                 float output_scale, bool differs) {
  return {std::move(name),
          [function](v1::OpAttributes& op) {
            op.mutable_unary()->set_function(function);
            op.mutable_unary()->set_alpha(0.5f);
          },
          {{{3, 100}, 0.0625f, 127}},
          {{3, 100}, output_scale, 0},
          false,
          differs};
}

OpCase BinaryCase(std::string name, v1::Binary::Function function,
                  float output_scale, bool differs = true) {
  return {std::move(name),
          [function](v1::OpAttributes& op) {
            op.mutable_binary()->set_function(function);
          },
          {{{30, 20}, 0.25f, 127}, {{30, 20}, 0.125f, 127}},
          {{30, 20}, output_scale, 0},
          false,
          differs};
}

std::vector<OpCase> Dots() {
  return {
      {"Conv2d",
       [](auto& op) { SetSteps(*op.mutable_conv2d()->mutable_window()); },
       {{{1, 5, 6, 33}, 0.0625f, 127}, {{19, 3, 3, 33}, 0.125f, 2}},
       {{1, 3, 4, 19}, 0.25f, 0},
       true},
      {"DepthwiseConv2d",
       [](auto& op) {
         SetSteps(*op.mutable_depthwise_conv2d()->mutable_window());
         op.mutable_depthwise_conv2d()->set_depth_multiplier(1);
       },
       {{{1, 5, 6, 19}, 0.0625f, 127}, {{1, 3, 3, 19}, 0.125f, 9}},
       {{1, 3, 4, 19}, 0.125f, 0},
       true},
      {"Conv3d",
       [](auto& op) {
         for (int i = 0; i < 3; ++i) {
           op.mutable_conv3d()->mutable_window()->add_stride(1);
           op.mutable_conv3d()->mutable_window()->add_dilation(1);
           op.mutable_conv3d()->mutable_window()->add_pad_before(0);
           op.mutable_conv3d()->mutable_window()->add_pad_after(0);
         }
       },
       {{{1, 3, 4, 5, 3}, 0.0625f, 127}, {{5, 2, 2, 2, 3}, 0.125f, 5}},
       {{1, 2, 3, 4, 5}, 0.125f, 0}},
      {"TransposedConv",
       [](auto& op) {
         for (int i = 0; i < 2; ++i) {
           op.mutable_transposed_conv()->mutable_window()->add_stride(2);
           op.mutable_transposed_conv()->mutable_window()->add_dilation(1);
           op.mutable_transposed_conv()->mutable_window()->add_pad_before(0);
           op.mutable_transposed_conv()->mutable_window()->add_pad_after(0);
         }
       },
       {{{1, 3, 4, 7}, 0.0625f, 127}, {{9, 2, 2, 7}, 0.125f, 9}},
       {{1, 6, 8, 9}, 0.125f, 0},
       true},
      {"FullyConnected",
       [](auto& op) { op.mutable_fully_connected(); },
       {{{6, 40}, 0.0625f, 127}, {{21, 40}, 0.125f, 5}},
       {{6, 21}, 0.25f, 0},
       true},
      {"MatMul",
       [](auto& op) { op.mutable_mat_mul(); },
       {{{2, 6, 40}, 0.0625f, 127}, {{2, 40, 13}, 0.125f, 5}},
       {{2, 6, 13}, 0.25f, 0}},
  };
}

std::vector<OpCase> Others() {
  const auto axis = [](auto& op) { op.mutable_softmax()->set_beta(1); };
  return {
      {"Add",
       [](auto& op) { op.mutable_add()->mutable_clamp()->set_max(20); },
       {{{30, 20}, 0.25f, 127}, {{30, 20}, 0.125f, 127}},
       {{30, 20}, 0.5f, 0}},
      {"Mul",
       [](auto& op) { op.mutable_mul(); },
       {{{30, 20}, 0.25f, 127}, {{30, 20}, 0.125f, 12}},
       {{30, 20}, 0.25f, 0}},
      {"BoundsOfClamps",
       [](auto& op) {
         op.mutable_clip()->mutable_clamp()->set_min(-1.25f);
         op.mutable_clip()->mutable_clamp()->set_max(6.25f);
       },
       {{{300}, 0.25f, 127}},
       {{300}, 0.5f, 0}},
      {"Concat",
       [](auto& op) { op.mutable_concat()->set_axis(1); },
       {{{20, 7}, 0.25f, 127}, {{20, 3}, 0.5f, 127}},
       {{20, 10}, 0.5f, 0}},
      {"Requantize",
       [](auto& op) { op.mutable_quantize(); },
       {{{300}, 0.25f, 127}},
       {{300}, 1.0f, 0}},
      {"AveragePool",
       [](auto& op) { SetPool(*op.mutable_average_pool2d(), false); },
       {{{1, 5, 6, 7}, 0.25f, 127}},
       {{1, 5, 6, 7}, 0.25f, 0}},
      {"AveragePoolCountingPadding",
       [](auto& op) { SetPool(*op.mutable_average_pool2d(), true); },
       {{{1, 5, 6, 7}, 0.25f, 127}},
       {{1, 5, 6, 7}, 0.25f, 0}},
      {"Mean",
       [](auto& op) { op.mutable_reduce_mean()->add_axes(1); },
       {{{70, 4}, 0.25f, 127}},
       {{70}, 0.25f, 0}},
      {"Sum",
       [](auto& op) {
         op.mutable_reduce()->set_function(v1::Reduce::SUM);
         op.mutable_reduce()->add_axes(1);
       },
       {{{70, 4}, 0.25f, 127}},
       {{70}, 1.0f, 0}},
      {"Softmax",
       axis,
       {{{30, 5}, 0.25f, 127}},
       {{30, 5}, kUnit, 0},
       false,
       false},
      {"Resize",
       [](auto& op) {
         auto& resize = *op.mutable_resize();
         resize.set_mode(v1::Resize::LINEAR);
         for (const int64_t extent : {1, 6, 8, 5}) resize.add_shape(extent);
       },
       {{{1, 3, 4, 5}, 0.25f, 127}},
       {{1, 6, 8, 5}, 0.25f, 0}},
      UnaryCase("LeakyRelu", v1::Unary::LEAKY_RELU, 0.125f, true),
      UnaryCase("Abs", v1::Unary::ABS, 0.125f, true),
      UnaryCase("Neg", v1::Unary::NEG, 0.125f, true),
      UnaryCase("Sigmoid", v1::Unary::SIGMOID, kUnit, false),
      UnaryCase("HardSwish", v1::Unary::HARD_SWISH, 0.0625f, true),
      UnaryCase("Sqrt", v1::Unary::SQRT, 0.0625f, false),
      UnaryCase("Square", v1::Unary::SQUARE, 0.5f, true),
      BinaryCase("Sub", v1::Binary::SUB, 0.5f),
      BinaryCase("Div", v1::Binary::DIV, 0.0625f),
      BinaryCase("Minimum", v1::Binary::MINIMUM, 0.5f),
      BinaryCase("Maximum", v1::Binary::MAXIMUM, 0.5f),
      BinaryCase("Prelu", v1::Binary::PRELU, 0.5f),
      BinaryCase("SquaredDifference", v1::Binary::SQUARED_DIFFERENCE, 8.0f),
  };
}

// What Dequantize, the op and Quantize make of the inputs.
template <typename T>
void ComputeBetween(const v1::OpAttributes& op,
                    const std::vector<TensorView>& inputs, TestTensor<T>& y) {
  v1::OpAttributes dequantize, quantize, plain = op;
  dequantize.mutable_dequantize();
  quantize.mutable_quantize();
  quantize.set_rounding(v1::HALF_EVEN);
  plain.clear_rounding();
  std::vector<TestTensor<float>> floats;
  std::vector<TensorView> views;
  floats.reserve(inputs.size());
  for (const TensorView& input : inputs) {
    floats.push_back({{input.shape.begin(), input.shape.end()}});
    ASSERT_TRUE(Compute(dequantize, {input}, floats.back()).ok());
    views.push_back(floats.back().view());
  }
  TestTensor<float> real{y.shape};
  if (plain.has_quantize()) {
    real = floats[0];
  } else {
    const absl::Status status = Compute(plain, views, real);
    ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_TRUE(Compute(quantize, {real.view()}, y).ok());
}

class HalfEvenTest : public testing::TestWithParam<OpCase> {
 protected:
  template <typename T>
  void ExpectOnnx(int32_t zero) {
    const OpCase& c = GetParam();
    TestRandom random(17);
    std::vector<TestTensor<T>> tensors;
    std::vector<TensorView> inputs;
    const bool is_dot = c.inputs.size() == 2 && c.inputs[1].largest < 10;
    for (const Operand& operand : c.inputs) {
      const bool weights = is_dot && !tensors.empty();
      const int32_t own_zero = weights && zero < 100 ? 0 : zero;
      TestTensor<T> x{operand.shape, {}, {operand.scale}, {own_zero}};
      x.values.resize(x.elements());
      for (T& value : x.values) {
        value = static_cast<T>(std::clamp<int64_t>(
            own_zero + random.Int(-operand.largest, operand.largest),
            std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
      }
      tensors.push_back(std::move(x));
    }
    // Scales that are equal belong to ops that keep the quantization; 1/256
    // holds what lies between 0 and 1.
    int32_t y_zero = c.output.scale == c.inputs[0].scale ? zero : zero - 3;
    if (c.output.scale == kUnit) y_zero = std::numeric_limits<T>::min();
    for (const TestTensor<T>& x : tensors) inputs.push_back(x.view());
    TestTensor<int32_t> bias;
    if (c.has_bias) {
      bias = {{c.output.shape.back()},
              {},
              {c.inputs[0].scale * c.inputs[1].scale},
              {0}};
      random.Fill(bias);
      for (int32_t& value : bias.values) value /= 10;
      inputs.push_back(bias.view());
    }
    v1::OpAttributes op;
    c.set(op);
    TestTensor<T> up{c.output.shape, {}, {c.output.scale}, {y_zero}};
    TestTensor<T> want = up, got = up;
    ASSERT_NO_FATAL_FAILURE(ComputeBetween(op, inputs, want));
    for (const CpuPath path : kPaths) {
      op.set_rounding(v1::HALF_EVEN);
      const absl::Status status = Compute(op, inputs, got, path);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(got.values, want.values) << static_cast<int>(path);
      op.clear_rounding();
      ASSERT_TRUE(Compute(op, inputs, up, path).ok());
      EXPECT_TRUE(!c.differs || up.values != want.values) << "no ties";
    }
  }
};

// Zero points odd, so that even steps are not even values.
TEST_P(HalfEvenTest, Int8IsWhatOnnxComputes) { ExpectOnnx<int8_t>(7); }

TEST_P(HalfEvenTest, Uint8IsWhatOnnxComputes) { ExpectOnnx<uint8_t>(131); }

std::string NameOf(const testing::TestParamInfo<OpCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Dots, HalfEvenTest, testing::ValuesIn(Dots()), NameOf);
INSTANTIATE_TEST_SUITE_P(Others, HalfEvenTest, testing::ValuesIn(Others()),
                         NameOf);

TEST(CheckRoundingTest, RefusesWhatHasNone) {
  TestTensor<int8_t> x{{2}, {1, 2}, {0.5f}, {0}}, y{{2}, {}, {0.5f}, {0}};
  TestTensor<float> real{{2}, {1, 2}}, result{{2}};
  v1::OpAttributes op;
  op.mutable_reshape();
  op.set_rounding(v1::HALF_EVEN);
  EXPECT_FALSE(Compute(op, {x.view()}, y).ok());
  op.mutable_clip();
  EXPECT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_FALSE(Compute(op, {real.view()}, result).ok());
  op.set_rounding(static_cast<v1::Rounding>(2));
  EXPECT_FALSE(Compute(op, {x.view()}, y).ok());
}

TEST(CheckRoundingTest, RefusesFloatsThatWouldFillTheMemory) {
  const std::vector<int64_t> shape = {1 << 10, 1 << 20};
  const std::vector<float> scale = {1};
  const std::vector<int32_t> zero = {0};
  const TensorView x{v1::INT8, shape, nullptr, {scale, zero, 0}};
  v1::OpAttributes op;
  op.mutable_softmax()->set_beta(1);
  EXPECT_TRUE(CheckOp(op, {x}, {x}).ok());
  op.set_rounding(v1::HALF_EVEN);
  EXPECT_FALSE(CheckOp(op, {x}, {x}).ok());
  op.mutable_clip();
  EXPECT_TRUE(CheckOp(op, {x}, {x}).ok());
}

}  // namespace
}  // namespace edgekiln::ops
