// Results that are rounded down, and those of converters, against the formulas
// of docs/numerics.md, sections 2 and 3.20.

#include "ops/converter.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/shape_inference.h"
#include "ops/testing/test_tensor.h"

namespace edgekiln::ops {
namespace {

constexpr CpuPath kPaths[] = {CpuPath::kScalar, CpuPath::kAvx2,
                              CpuPath::kAvx512};

v1::OpAttributes Conv() {
  v1::OpAttributes op;
  v1::Window2d& window = *op.mutable_conv2d()->mutable_window();
  window.set_stride_h(1);
  window.set_stride_w(1);
  window.set_dilation_h(1);
  window.set_dilation_w(1);
  return op;
}

v1::OpAttributes Depthwise() {
  v1::OpAttributes op;
  *op.mutable_depthwise_conv2d()->mutable_window() = Conv().conv2d().window();
  op.mutable_depthwise_conv2d()->set_depth_multiplier(1);
  return op;
}

v1::OpAttributes FullyConnected() {
  v1::OpAttributes op;
  op.mutable_fully_connected();
  return op;
}

v1::OpAttributes Add() {
  v1::OpAttributes op;
  op.mutable_add();
  return op;
}

// 21 rows of 37 values, as an image or as rows.
struct Layer {
  v1::OpAttributes op;
  std::vector<int64_t> x, w, y;
};

std::vector<Layer> Layers() {
  return {{Conv(), {1, 3, 7, 37}, {19, 1, 1, 37}, {1, 3, 7, 19}},
          {Depthwise(), {1, 3, 7, 19}, {1, 1, 1, 19}, {1, 3, 7, 19}},
          {FullyConnected(), {21, 37}, {19, 37}, {21, 19}}};
}

// The sums of a layer with 1x1 windows.
std::vector<int64_t> SumsOf(const Layer& layer, const TestTensor<int8_t>& x,
                            const TestTensor<int8_t>& w,
                            const TestTensor<int32_t>& bias) {
  std::vector<int64_t> sums;
  const int64_t depth = layer.x.back();
  for (int64_t row = 0; row < 21; ++row) {
    for (int64_t o = 0; o < 19; ++o) {
      int64_t sum = bias.values[o];
      for (int64_t i = 0; i < depth; ++i) {
        if (layer.op.has_depthwise_conv2d() && i != o) continue;
        const int64_t weight = layer.op.has_depthwise_conv2d()
                                   ? w.values[o]
                                   : w.values[o * depth + i];
        sum += (x.values[row * depth + i] - x.zero_point[0]) * weight;
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

struct Tensors {
  TestTensor<int8_t> x, w, y;
  TestTensor<int32_t> bias;
  std::vector<TensorView> inputs;

  Tensors(const Layer& layer, uint32_t seed)
      : x{layer.x, {}, {0.25f}, {3}},
        w{layer.w, {}, {0.5f}, {0}},
        y{layer.y, {}, {32}, {0}},
        bias{{19}} {
    TestRandom random(seed);
    random.Fill(x);
    random.Fill(w);
    random.Fill(bias);
    inputs = {x.view(), w.view(), bias.view()};
  }
};

int64_t Limit(double value) {
  return static_cast<int64_t>(std::fmin(std::fmax(value, -128), 127));
}

// A factor of 0.25 * 0.5 / 32 = 2^-8.
TEST(FloorTest, SumsOfProductsAreShiftedDown) {
  for (Layer& layer : Layers()) {
    Tensors t(layer, 1);
    const std::vector<int64_t> sums = SumsOf(layer, t.x, t.w, t.bias);
    layer.op.set_rounding(v1::FLOOR);
    for (const CpuPath path : kPaths) {
      const absl::Status status = Compute(layer.op, t.inputs, t.y, path);
      ASSERT_TRUE(status.ok()) << status;
      for (size_t i = 0; i < sums.size(); ++i) {
        ASSERT_EQ(t.y.values[i],
                  Limit(std::floor(static_cast<double>(sums[i]) / 256)));
      }
    }
  }
}

// (a + b) / 2 of operands with one scale; a / 2 + b / 4 of others.
TEST(FloorTest, SumsOfTwoAreShiftedDown) {
  for (const float other : {1.0f, 0.5f}) {
    TestTensor<int8_t> a{{256}, {}, {1}, {0}};
    TestTensor<int8_t> b{{256}, {}, {other}, {0}};
    TestTensor<int8_t> y{{256}, {}, {2}, {0}};
    TestRandom random(2);
    random.Fill(a);
    random.Fill(b);
    v1::OpAttributes op = Add();
    op.set_rounding(v1::FLOOR);
    const absl::Status status = Compute(op, {a.view(), b.view()}, y);
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < y.values.size(); ++i) {
      ASSERT_EQ(y.values[i],
                Limit(std::floor((a.values[i] + b.values[i] * other) / 2)));
    }
  }
}

TEST(FloorTest, SumsAreRequantizedDown) {
  TestTensor<int32_t> x{{5}, {-5, -4, 0, 7, 9}, {0.5f}, {0}};
  TestTensor<int8_t> y{{5}, {}, {1}, {10}};
  v1::OpAttributes op;
  op.mutable_requantize()->add_multiplier(1 << 30);
  op.mutable_requantize()->add_shift(-1);
  op.set_rounding(v1::FLOOR);
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{8, 9, 10, 11, 12}));
}

TEST(FloorTest, OtherOpsRefuseItByName) {
  TestTensor<int8_t> x{{1, 2, 2, 1}, {1, 2, 3, 4}, {1}, {0}};
  TestTensor<int8_t> y{{1, 2, 2, 1}, {}, {2}, {0}};
  v1::OpAttributes mul;
  mul.mutable_mul();
  v1::OpAttributes clip;
  clip.mutable_clip();
  v1::OpAttributes quantize;
  quantize.mutable_quantize();
  v1::OpAttributes pool;
  pool.mutable_average_pool2d()->set_kernel_h(1);
  pool.mutable_average_pool2d()->set_kernel_w(1);
  *pool.mutable_average_pool2d()->mutable_window() = Conv().conv2d().window();
  const struct {
    v1::OpAttributes op;
    size_t inputs;
    const char* name;
  } kOps[] = {{mul, 2, "FLOOR of mul"},
              {clip, 1, "FLOOR of clip"},
              {quantize, 1, "FLOOR of quantize"},
              {pool, 1, "FLOOR of average_pool2d"}};
  for (const auto& row : kOps) {
    v1::OpAttributes op = row.op;
    op.set_rounding(v1::FLOOR);
    const std::vector<TensorView> inputs(row.inputs, x.view());
    const absl::Status status = CheckOp(op, inputs, {y.view()});
    EXPECT_TRUE(absl::StrContains(status.message(), row.name)) << status;
  }
  // Sums themselves are not rounded.
  const Layer layer = Layers()[2];
  Tensors t(layer, 3);
  TestTensor<int32_t> sums{layer.y, {}, {0.125f}, {0}};
  v1::OpAttributes op = layer.op;
  op.set_rounding(v1::FLOOR);
  const absl::Status status = CheckOp(op, t.inputs, {sums.view()});
  EXPECT_TRUE(absl::StrContains(status.message(), "FLOOR of an int32"))
      << status;
}

v1::Converter ConverterOf(int32_t gain, int32_t shift,
                          const std::vector<int32_t>& scale,
                          const std::vector<int32_t>& offset) {
  v1::Converter converter;
  converter.set_gain(gain);
  converter.set_min(-32);
  converter.set_max(31);
  converter.set_shift(shift);
  converter.mutable_scale()->Add(scale.begin(), scale.end());
  converter.mutable_offset()->Add(offset.begin(), offset.end());
  return converter;
}

// Sums -9 -8 -1 0 7 of gain 4: codes -3 -2 -1 0 1; times 5 and 3: -12 -7 -2 3
// 8; of which half, down: -6 -4 -1 1 4.
TEST(ConverterTest, RoundsDownTwice) {
  TestTensor<int32_t> x{{5, 1}, {-9, -8, -1, 0, 7}, {0.5f}, {0}};
  TestTensor<int8_t> y{{5, 1}, {}, {1}, {0}};
  v1::OpAttributes op;
  op.mutable_requantize();
  *op.mutable_converter() = ConverterOf(4, 1, {5}, {3});
  op.set_rounding(v1::FLOOR);
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, (std::vector<int8_t>{-6, -4, -1, 1, 4}));
}

// Codes are limited to -32 and 31. 31 * 1100 = 34100 is -31436 in 16 bits,
// -32 * 1100 = -35200 is 30336; of which 2^-8: -123 and 118.
TEST(ConverterTest, LimitsCodesAndWrapsIn16Bits) {
  TestTensor<int32_t> x{{4, 1}, {1000, -1000, 31, -32}, {0.5f}, {0}};
  TestTensor<int8_t> y{{4, 1}, {}, {1}, {0}};
  v1::OpAttributes op;
  op.mutable_requantize();
  *op.mutable_converter() = ConverterOf(1, 8, {1100}, {0});
  op.set_rounding(v1::FLOOR);
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{-123, 118, -123, 118}));
}

// Channels have numbers of their own; results keep to the clamp.
TEST(ConverterTest, ConvertsByChannelWithinTheClamp) {
  TestTensor<int32_t> x{{2, 2}, {20, 20, -20, -20}, {0.5f}, {0}};
  TestTensor<int8_t> y{{2, 2}, {}, {1}, {0}};
  v1::OpAttributes op;
  op.mutable_requantize()->mutable_clamp()->set_min(0);
  *op.mutable_converter() = ConverterOf(1, 0, {1, -5}, {7, 2});
  op.set_rounding(v1::FLOOR);
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{27, 0, 0, 102}));
}

TEST(ConverterTest, OfALayerIsThatOfItsSums) {
  for (const Layer& layer : Layers()) {
    Tensors t(layer, 4);
    const std::vector<int64_t> sums = SumsOf(layer, t.x, t.w, t.bias);
    TestRandom random(5);
    std::vector<int32_t> scale(19);
    std::vector<int32_t> offset(19);
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] = static_cast<int32_t>(random.Int(-2000, 2000));
      offset[c] = static_cast<int32_t>(random.Int(-9000, 9000));
    }
    v1::OpAttributes op = layer.op;
    *op.mutable_converter() = ConverterOf(777, 7, scale, offset);
    op.set_rounding(v1::FLOOR);
    for (const CpuPath path : kPaths) {
      const absl::Status status = Compute(op, t.inputs, t.y, path);
      ASSERT_TRUE(status.ok()) << status;
      for (size_t i = 0; i < sums.size(); ++i) {
        const auto code = std::fmin(
            std::fmax(std::floor(static_cast<double>(sums[i]) / 777), -32), 31);
        int64_t wide =
            static_cast<int64_t>(code) * scale[i % 19] + offset[i % 19];
        wide -=
            65536 * static_cast<int64_t>(std::floor((wide + 32768) / 65536.0));
        ASSERT_EQ(t.y.values[i],
                  Limit(std::floor(static_cast<double>(wide) / 128)));
      }
    }
  }
}

// Weights are packed once where they are constant; inputs change.
TEST(ConverterTest, APreparedLayerIsTheSameForEverySample) {
  for (const Layer& layer : Layers()) {
    Tensors first(layer, 7);
    v1::OpAttributes op = layer.op;
    *op.mutable_converter() = ConverterOf(50, 3, {90}, {-40});
    op.set_rounding(v1::FLOOR);
    const TensorView result = first.y.view();
    const auto prepared =
        Prepare(op, first.inputs, absl::MakeConstSpan(&result, 1));
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    std::vector<int8_t> other = first.x.values;
    std::reverse(other.begin(), other.end());
    for (int sample = 0; sample < 2; ++sample) {
      if (sample > 0) first.x.values = other;
      ASSERT_TRUE(Compute(op, first.inputs, first.y).ok());
      const std::vector<int8_t> expected = first.y.values;
      first.y.values.assign(expected.size(), 0);
      const MutableTensorView made = first.y.mutable_view();
      ASSERT_TRUE(
          (*prepared)
              ->Run(first.inputs, absl::MakeConstSpan(&made, 1), CpuPath::kAuto)
              .ok());
      EXPECT_EQ(first.y.values, expected);
    }
  }
}

TEST(ConverterTest, WhatIsNoneIsRefused) {
  const Layer layer = Layers()[2];
  Tensors t(layer, 6);
  const auto refusal = [&](const auto& change) {
    v1::OpAttributes op = layer.op;
    *op.mutable_converter() = ConverterOf(1, 0, {1}, {0});
    op.set_rounding(v1::FLOOR);
    change(op);
    return std::string(CheckOp(op, t.inputs, {t.y.view()}).message());
  };
  const auto converter = [&](const auto& change) {
    return refusal(
        [&](v1::OpAttributes& op) { change(*op.mutable_converter()); });
  };
  EXPECT_EQ(converter([](v1::Converter&) {}), "");
  const struct {
    std::string refused;
    const char* says;
  } kRows[] = {
      {converter([](auto& c) { c.set_gain(0); }), "of gain 0"},
      {converter([](auto& c) { c.set_min(32); }), "of codes 32 to 31"},
      {converter([](auto& c) { c.set_min(-32769); }), "of codes -32769 to 31"},
      {converter([](auto& c) { c.set_max(32768); }), "of codes -32 to 32768"},
      {converter([](auto& c) { c.set_shift(16); }), "of shift 16"},
      {converter([](auto& c) { c.set_shift(-1); }), "of shift -1"},
      {converter([](auto& c) { c.add_scale(1); }), "2 scales and 1 offsets"},
      {converter([](auto& c) { c.clear_scale(); }), "0 scales and 1 offsets"},
      {converter([](auto& c) { c.set_scale(0, 32768); }), "more than 16 bits"},
      {converter([](auto& c) { c.set_offset(0, -32769); }),
       "more than 16 bits"},
      {refusal([](auto& op) { op.clear_rounding(); }), "rounds HALF_UP"},
      {refusal([](auto& op) { op.set_rounding(v1::HALF_EVEN); }),
       "rounds HALF_EVEN"},
  };
  for (const auto& row : kRows) {
    EXPECT_TRUE(absl::StrContains(row.refused, row.says)) << row.refused;
  }
  t.y.zero_point = {1};
  EXPECT_TRUE(absl::StrContains(refusal([](auto&) {}), "with a zero point"));
  // Ops that sum no products.
  v1::OpAttributes op = Add();
  *op.mutable_converter() = ConverterOf(1, 0, {1}, {0});
  op.set_rounding(v1::FLOOR);
  TestTensor<int8_t> a{{4}, {1, 2, 3, 4}, {1}, {0}};
  const absl::Status sum = CheckOp(op, {a.view(), a.view()}, {a.view()});
  EXPECT_TRUE(absl::StrContains(sum.message(), "a converter of add")) << sum;
  // A Requantize has one or the other.
  v1::OpAttributes both;
  both.mutable_requantize()->add_multiplier(1 << 30);
  both.mutable_requantize()->add_shift(0);
  *both.mutable_converter() = ConverterOf(1, 0, {1}, {0});
  both.set_rounding(v1::FLOOR);
  TestTensor<int32_t> sums{{4}, {1, 2, 3, 4}, {1}, {0}};
  const absl::Status twice = CheckOp(both, {sums.view()}, {a.view()});
  EXPECT_TRUE(absl::StrContains(twice.message(), "beside multipliers"))
      << twice;
}

}  // namespace
}  // namespace edgekiln::ops
