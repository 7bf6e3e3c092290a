// An int32 accumulator and the Requantize behind it, against the op that does
// both.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "ops/dot_output.h"
#include "ops/evaluate.h"
#include "ops/quantized_parameters.h"
#include "ops/requantize.h"
#include "ops/shape_inference.h"
#include "ops/testing/test_tensor.h"

namespace edgekiln::ops {
namespace {

constexpr CpuPath kPaths[] = {CpuPath::kScalar, CpuPath::kAvx2,
                              CpuPath::kAvx512};

// A scale of any size, often a power of two: those make ties.
float RandomScale(TestRandom& random) {
  const int exponent = static_cast<int>(random.Int(-24, 8));
  const float significand = random.Int(0, 1) == 0 ? 1.0f : random.Float(1, 2);
  return std::ldexp(significand, exponent);
}

struct Case {
  v1::OpAttributes op;
  std::vector<int64_t> x, w, y;
  int32_t axis = 0;  // Of the weights' channels.
  bool has_bias = true;
};

Case RandomCase(TestRandom& random, bool matmul) {
  Case c;
  const int64_t in = random.Int(1, 9);
  const int64_t out = random.Int(1, 40);
  const int64_t rows = random.Int(1, 5);
  switch (random.Int(0, matmul ? 3 : 2)) {
    case 0: {
      v1::Window2d& window = *c.op.mutable_conv2d()->mutable_window();
      window.set_stride_h(1);
      window.set_stride_w(1);
      window.set_dilation_h(1);
      window.set_dilation_w(1);
      window.set_pad_left(1);
      c.x = {1, rows, 3, in};
      c.w = {out, 1, 2, in};
      c.y = {1, rows, 3, out};
      break;
    }
    case 1: {
      v1::DepthwiseConv2d& conv = *c.op.mutable_depthwise_conv2d();
      conv.mutable_window()->set_stride_h(1);
      conv.mutable_window()->set_stride_w(2);
      conv.mutable_window()->set_dilation_h(1);
      conv.mutable_window()->set_dilation_w(1);
      conv.set_depth_multiplier(2);
      c.x = {1, rows, 3, in};
      c.w = {1, 1, 3, 2 * in};
      c.y = {1, rows, 1, 2 * in};
      c.axis = 3;
      break;
    }
    case 2:
      c.op.mutable_fully_connected();
      c.x = {rows, in};
      c.w = {out, in};
      c.y = {rows, out};
      break;
    default:
      c.op.mutable_mat_mul();
      c.x = {2, rows, in};
      c.w = {in, out};
      c.y = {2, rows, out};
      c.axis = 1;
      c.has_bias = false;
  }
  return c;
}

v1::Clamp RandomClamp(TestRandom& random, float scale) {
  v1::Clamp clamp;
  if (random.Int(0, 1) == 0) clamp.set_min(-20 * scale);
  if (random.Int(0, 1) == 0) clamp.set_max(30 * scale);
  return clamp;
}

void SetClamp(const v1::Clamp& clamp, v1::OpAttributes& op) {
  if (op.has_conv2d()) *op.mutable_conv2d()->mutable_clamp() = clamp;
  if (op.has_depthwise_conv2d()) {
    *op.mutable_depthwise_conv2d()->mutable_clamp() = clamp;
  }
  if (op.has_fully_connected()) {
    *op.mutable_fully_connected()->mutable_clamp() = clamp;
  }
}

// T: activations and results; W: weights.
template <typename T, typename W>
void ExpectEqualInTwoSteps(uint32_t seed) {
  TestRandom random(seed);
  constexpr bool kWide = sizeof(T) == 2;
  constexpr int32_t kLow = std::numeric_limits<T>::min();
  constexpr int32_t kHigh = std::numeric_limits<T>::max();
  const auto zero = [&] {
    return static_cast<int32_t>(random.Int(kLow, kHigh));
  };
  const Case c = RandomCase(random, !kWide);
  const int64_t channels = c.y.back();
  TestTensor<T> x{c.x, {}, {RandomScale(random)}, {zero()}};
  TestTensor<W> w{c.w, {}, {}, {}, c.axis};
  const bool per_channel = random.Int(0, 2) != 0;
  for (int64_t i = 0; i < (per_channel ? channels : 1); ++i) {
    w.scale.push_back(RandomScale(random));
    w.zero_point.push_back(std::is_signed_v<W> ? 0 : 131);
  }
  TestTensor<T> y{c.y, {}, {RandomScale(random)}, {zero()}};
  TestTensor<int32_t> bias{{channels}};
  random.Fill(x);
  random.Fill(w);
  bias.values.resize(static_cast<size_t>(channels));
  for (int32_t& value : bias.values) {
    // Sums with the largest of them wrap.
    value =
        static_cast<int32_t>(random.Int(std::numeric_limits<int32_t>::min(),
                                        std::numeric_limits<int32_t>::max()) >>
                             random.Int(0, 24));
  }
  std::vector<TensorView> inputs = {x.view(), w.view()};
  if (c.has_bias && (kWide || random.Int(0, 3) != 0)) {
    inputs.push_back(bias.view());
  }

  // A matmul is not rounded down.
  const auto rounding =
      static_cast<v1::Rounding>(random.Int(0, c.op.has_mat_mul() ? 1 : 2));
  const v1::Clamp clamp =
      c.op.has_mat_mul() ? v1::Clamp() : RandomClamp(random, y.scale[0]);
  v1::OpAttributes fused = c.op;
  SetClamp(clamp, fused);
  fused.set_rounding(rounding);

  const auto parameters =
      DotParameters(clamp, rounding, x.quantization(), w.quantization(),
                    y.quantization(), ElementTypeOf<T>(), channels);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  v1::OpAttributes requantize;
  for (size_t i = 0; i < w.scale.size(); ++i) {
    requantize.mutable_requantize()->add_multiplier(
        parameters->multiplier[i].multiplier);
    requantize.mutable_requantize()->add_shift(parameters->multiplier[i].shift);
  }
  *requantize.mutable_requantize()->mutable_clamp() = clamp;
  requantize.set_rounding(rounding);

  TestTensor<int32_t> sums{
      c.y,
      {},
      AccumulatorScales(x.quantization(), w.quantization()),
      std::vector<int32_t>(w.scale.size(), 0),
      static_cast<int32_t>(c.y.size()) - 1};
  for (const CpuPath path : kPaths) {
    const absl::Status whole = Compute(fused, inputs, y, path);
    ASSERT_TRUE(whole.ok()) << whole;
    const absl::Status first = Compute(c.op, inputs, sums, path);
    ASSERT_TRUE(first.ok()) << first;
    TestTensor<T> result = y;
    std::fill(result.values.begin(), result.values.end(), T{77});
    const absl::Status second =
        Compute(requantize, {sums.view()}, result, path);
    ASSERT_TRUE(second.ok()) << second;
    ASSERT_EQ(result.values, y.values) << "seed " << seed;
  }
}

TEST(AccumulatorTest, AndRequantizeEqualTheOpThatDoesBoth) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    ExpectEqualInTwoSteps<int8_t, int8_t>(seed);
    ExpectEqualInTwoSteps<uint8_t, uint8_t>(seed);
    ExpectEqualInTwoSteps<int16_t, int8_t>(seed);
    if (HasFailure()) return;
  }
}

// One factor: elements are taken a thousand at a time.
TEST(RequantizeTest, IsFinishOfEveryElement) {
  TestRandom random(7);
  for (const int64_t elements : {1, 7, 1023, 1024, 1025, 5000}) {
    TestTensor<int32_t> x{{elements}, {}, {0.5f}, {0}};
    x.values.resize(static_cast<size_t>(elements));
    for (int32_t& value : x.values) {
      value = static_cast<int32_t>(random.Int(-40000, 40000));
    }
    v1::OpAttributes op;
    op.mutable_requantize()->add_multiplier((1 << 30) + 12345);
    op.mutable_requantize()->add_shift(-7);
    const FixedPointMultiplier factor{(1 << 30) + 12345, -7};
    TestTensor<int8_t> bytes{{elements}, {}, {1}, {-3}};
    TestTensor<int16_t> words{{elements}, {}, {1}, {-3}};
    ASSERT_TRUE(Compute(op, {x.view()}, bytes).ok());
    ASSERT_TRUE(Compute(op, {x.view()}, words).ok());
    for (int64_t i = 0; i < elements; ++i) {
      const int32_t value = x.values[static_cast<size_t>(i)];
      ASSERT_EQ(bytes.values[i], Finish(value, factor, -3, {-128, 127}));
      ASSERT_EQ(words.values[i], Finish(value, factor, -3, {-32768, 32767}));
    }
  }
}

// Whose float scale would give another multiplier than the op does.
TEST(RequantizeTest, FactorsAreNotThoseOfTheAccumulatorsScale) {
  TestRandom random(3);
  int different = 0;
  for (int i = 0; i < 1000; ++i) {
    const float a = random.Float(0.01f, 1), b = random.Float(0.01f, 1),
                c = random.Float(0.01f, 1);
    const float rounded = a * b;
    different += QuantizeMultiplier(double{a} * b / c) ==
                         QuantizeMultiplier(double{rounded} / c)
                     ? 0
                     : 1;
  }
  EXPECT_GT(different, 500);
}

// A fully connected layer with an int32 output, and its Requantize; a test
// changes some of it.
struct Parts {
  v1::OpAttributes sum, requantize;
  TestTensor<int8_t> x{{1, 3}, {}, {0.5f}, {4}};
  TestTensor<int16_t> wide_x{{1, 3}, {}, {0.5f}, {0}};
  TestTensor<int8_t> w{{2, 3}, {}, {0.25f, 0.75f}, {0, 0}};
  TestTensor<int32_t> bias{{2}};
  TestTensor<int32_t> sums{{1, 2}, {}, {0.125f, 0.375f}, {0, 0}, 1};
  TestTensor<int8_t> y{{1, 2}, {}, {1}, {5}};
  TestTensor<uint16_t> unsigned_y{{1, 2}, {}, {1}, {5}};
  TestTensor<int64_t> long_bias{{2}};

  Parts() {
    sum.mutable_fully_connected();
    for (int i = 0; i < 2; ++i) {
      requantize.mutable_requantize()->add_multiplier(1 << 30);
      requantize.mutable_requantize()->add_shift(-31);
    }
  }
  absl::Status CheckSum(const TensorView& input, const TensorView& b) const {
    return CheckOp(sum, {input, w.view(), b}, {sums.view()});
  }
  absl::Status CheckSum() const { return CheckSum(x.view(), bias.view()); }
  absl::Status CheckRequantize(const TensorView& output) const {
    return CheckOp(requantize, {sums.view()}, {output});
  }
  absl::Status CheckRequantize() const { return CheckRequantize(y.view()); }
};

struct Refusal {
  const char* says;
  absl::Status (*check)(Parts& parts);
};

TEST(AccumulatorRulesTest, TakeWhatIsWellFormed) {
  Parts parts;
  EXPECT_TRUE(parts.CheckSum().ok()) << parts.CheckSum();
  EXPECT_TRUE(parts.CheckSum(parts.x.view(), {}).ok());
  EXPECT_TRUE(parts.CheckSum(parts.wide_x.view(), parts.bias.view()).ok());
  EXPECT_TRUE(parts.CheckRequantize().ok()) << parts.CheckRequantize();
}

TEST(AccumulatorRulesTest, RefuseByName) {
  const Refusal refusals[] = {
      {"clamp of an int32 accumulator",
       [](Parts& p) {
         p.sum.mutable_fully_connected()->mutable_clamp()->set_min(0);
         return p.CheckSum();
       }},
      {"HALF_EVEN of an int32 accumulator",
       [](Parts& p) {
         p.sum.set_rounding(v1::HALF_EVEN);
         return p.CheckSum();
       }},
      {"accumulator with a zero point",
       [](Parts& p) {
         p.sums.zero_point[1] = 1;
         return p.CheckSum();
       }},
      {"scales of an int32 accumulator",
       [](Parts& p) {
         p.sums.scale[1] = std::nextafter(p.sums.scale[1], 1.0f);
         return p.CheckSum();
       }},
      {"scales of an int32 accumulator",
       [](Parts& p) {
         p.sums.scale = {0.125f};
         p.sums.zero_point = {0};
         return p.CheckSum();
       }},
      {"scales of an int32 accumulator",
       [](Parts& p) {
         p.sums.scale.clear();
         p.sums.zero_point.clear();
         return p.CheckSum();
       }},
      {"INT16 without an INT32 bias",
       [](Parts& p) { return p.CheckSum(p.wide_x.view(), {}); }},
      {"INT16 without an INT32 bias",
       [](Parts& p) {
         return p.CheckSum(p.wide_x.view(), p.long_bias.view());
       }},
      {"multiplier -1",
       [](Parts& p) {
         p.requantize.mutable_requantize()->set_multiplier(1, -1);
         return p.CheckRequantize();
       }},
      {"multiplier 1073741823",
       [](Parts& p) {
         p.requantize.mutable_requantize()->set_multiplier(0, (1 << 30) - 1);
         return p.CheckRequantize();
       }},
      {"shift 31",
       [](Parts& p) {
         p.requantize.mutable_requantize()->set_shift(0, 31);
         return p.CheckRequantize();
       }},
      {"shift -32",
       [](Parts& p) {
         p.requantize.mutable_requantize()->set_shift(1, -32);
         return p.CheckRequantize();
       }},
      {"3 multipliers and 3 shifts",
       [](Parts& p) {
         p.requantize.mutable_requantize()->add_multiplier(1 << 30);
         p.requantize.mutable_requantize()->add_shift(0);
         return p.CheckRequantize();
       }},
      {"2 multipliers and 1 shifts",
       [](Parts& p) {
         p.requantize.mutable_requantize()->mutable_shift()->RemoveLast();
         return p.CheckRequantize();
       }},
      {"0 multipliers and 0 shifts",
       [](Parts& p) {
         p.requantize.mutable_requantize()->Clear();
         return p.CheckRequantize();
       }},
      {"clamp",
       [](Parts& p) {
         v1::Clamp& clamp = *p.requantize.mutable_requantize()->mutable_clamp();
         clamp.set_min(2);
         clamp.set_max(1);
         return p.CheckRequantize();
       }},
      {"accumulator with a zero point",
       [](Parts& p) {
         p.sums.zero_point[0] = -1;
         return p.CheckRequantize();
       }},
      {"input 0 is INT32",
       [](Parts& p) {
         p.sums.scale.clear();
         p.sums.zero_point.clear();
         return p.CheckRequantize();
       }},
      {"input 0 is INT8",
       [](Parts& p) {
         p.x.shape = {1, 2};
         return CheckOp(p.requantize, {p.x.view()}, {p.y.view()});
       }},
      {"output is UINT16",
       [](Parts& p) { return p.CheckRequantize(p.unsigned_y.view()); }},
      {"output is INT32",
       [](Parts& p) { return p.CheckRequantize(p.sums.view()); }},
      {"inputs",
       [](Parts& p) {
         return CheckOp(p.requantize, {p.sums.view(), p.sums.view()},
                        {p.y.view()});
       }},
  };
  for (const Refusal& refusal : refusals) {
    Parts parts;
    const absl::Status status = refusal.check(parts);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
        << refusal.says;
    EXPECT_TRUE(absl::StrContains(status.message(), refusal.says))
        << refusal.says << ": " << status;
  }
}

}  // namespace
}  // namespace edgekiln::ops
