#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/requantize.h"
#include "ops/testing/test_tensor.h"

// Quantized binary ops and changes of scale against real arithmetic.
namespace edgekiln::ops {
namespace {

using B = v1::Binary;

v1::OpAttributes BinaryOp(B::Function function) {
  v1::OpAttributes op;
  op.mutable_binary()->set_function(function);
  return op;
}

template <typename T>
double Steps(double real, float scale, int32_t zero) {
  const double steps = std::round(real / scale) + zero;
  return std::clamp<double>(steps, std::numeric_limits<T>::min(),
                            std::numeric_limits<T>::max());
}

struct RealCase {
  const char* name;
  v1::OpAttributes op;
  std::function<double(double, double)> exact;
};

std::vector<RealCase> RealCases() {
  v1::OpAttributes add, mul;
  add.mutable_add();
  mul.mutable_mul();
  return {
      {"add", add, [](double a, double b) { return a + b; }},
      {"mul", mul, [](double a, double b) { return a * b; }},
      {"sub", BinaryOp(B::SUB), [](double a, double b) { return a - b; }},
      {"div", BinaryOp(B::DIV),
       [](double a, double b) { return a == 0 ? 0 : a / b; }},
      {"min", BinaryOp(B::MINIMUM),
       [](double a, double b) { return std::min(a, b); }},
      {"max", BinaryOp(B::MAXIMUM),
       [](double a, double b) { return std::max(a, b); }},
      {"squared difference", BinaryOp(B::SQUARED_DIFFERENCE),
       [](double a, double b) { return (a - b) * (a - b); }},
      {"prelu", BinaryOp(B::PRELU),
       [](double a, double b) { return a < 0 ? a * b : a; }},
  };
}

// Random operands of odd scales: within one step of the real result, and in
// nearly all cases exactly it.
template <typename T>
void ExpectRealResults(int32_t zero_a, int32_t zero_b, int32_t zero_y) {
  TestRandom random(sizeof(T) + zero_a);
  const float range = sizeof(T) == 1 ? 1 : 1.0f / 256;
  TestTensor<T> a{{4000}, {}, {0.037f * range}, {zero_a}};
  TestTensor<T> b{{4000}, {}, {0.021f * range}, {zero_b}};
  random.Fill(a);
  random.Fill(b);
  for (const RealCase& c : RealCases()) {
    TestTensor<T> y{{4000}, {}, {0.051f * range}, {zero_y}};
    const absl::Status status = Compute(c.op, {a.view(), b.view()}, y);
    ASSERT_TRUE(status.ok()) << c.name << ": " << status;
    int different = 0;
    for (int i = 0; i < 4000; ++i) {
      const double real = c.exact(double{a.scale[0]} * (a.values[i] - zero_a),
                                  double{b.scale[0]} * (b.values[i] - zero_b));
      const double want = Steps<T>(real, y.scale[0], zero_y);
      // The difference of int16 has one bit less, its square more steps.
      const bool coarse =
          sizeof(T) == 2 && c.op.binary().function() == B::SQUARED_DIFFERENCE;
      ASSERT_NEAR(y.values[i], want, coarse ? 8 : 1) << c.name << " " << i;
      different += y.values[i] != want && !coarse ? 1 : 0;
    }
    EXPECT_LE(different, 40) << c.name;
  }
}

TEST(QuantizedBinaryTest, Int8) { ExpectRealResults<int8_t>(-7, 3, 11); }

TEST(QuantizedBinaryTest, Uint8) { ExpectRealResults<uint8_t>(120, 131, 99); }

TEST(QuantizedBinaryTest, Int16) { ExpectRealResults<int16_t>(0, 0, 0); }

// Every rounding of the sum, docs/numerics.md section 3.4, of all pairs of some
// values.
template <typename T>
void ExpectAddRule(int left_shift, float y_scale) {
  constexpr float kA = 0.037f, kB = 0.021f;
  TestTensor<T> a{{256, 1}, {}, {kA}, {0}}, b{{1, 256}, {}, {kB}, {0}};
  TestTensor<T> y{{256, 256}, {}, {y_scale}, {0}};
  for (int value = -128; value < 128; ++value) {
    a.values.push_back(static_cast<T>(value));
  }
  b.values = a.values;
  v1::OpAttributes op;
  op.mutable_add();
  ASSERT_TRUE(Compute(op, {a.view(), b.view()}, y).ok());
  const double unit = 2 * double{kA};
  const auto scaled = [&](int32_t value, float scale) {
    return Rescale(value * (1 << left_shift),
                   QuantizeMultiplier(double{scale} / unit));
  };
  const FixedPointMultiplier last =
      QuantizeMultiplier(unit / ((1 << left_shift) * double{y_scale}));
  for (int i = 0; i < 1 << 16; ++i) {
    const int32_t sum =
        scaled(a.values[i / 256], kA) + scaled(b.values[i % 256], kB);
    ASSERT_EQ(y.values[i], std::clamp<int32_t>(Rescale(sum, last),
                                               std::numeric_limits<T>::min(),
                                               std::numeric_limits<T>::max()));
  }
}

TEST(QuantizedBinaryTest, AddRoundsThrice) {
  // Of many pairs the sum is a tie, or would be without the other roundings.
  for (const float y_scale : {0.06f, 0.07f, 0.074f}) {
    ExpectAddRule<int8_t>(20, y_scale);
    ExpectAddRule<int16_t>(15, y_scale / 256);
  }
}

TEST(QuantizedBinaryTest, Int16HasNoZeroPoint) {
  TestTensor<int16_t> a{{1}, {1}, {1}, {5}}, b{{1}, {1}, {1}, {0}};
  TestTensor<int16_t> y{{1}, {}, {1}, {0}};
  EXPECT_FALSE(Compute(BinaryOp(B::SUB), {a.view(), b.view()}, y).ok());
}

TEST(QuantizedBinaryTest, ClampsSubtractionAndDivision) {
  TestTensor<int8_t> a{{3}, {100, -100, 8}, {0.5f}, {0}};
  TestTensor<int8_t> b{{3}, {2, 2, 0}, {0.5f}, {0}};
  TestTensor<int8_t> y{{3}, {}, {0.5f}, {1}};
  v1::OpAttributes op = BinaryOp(B::SUB);
  op.mutable_binary()->mutable_clamp()->set_min(0);
  op.mutable_binary()->mutable_clamp()->set_max(6);
  ASSERT_TRUE(Compute(op, {a.view(), b.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{13, 1, 9}));
  op.mutable_binary()->set_function(B::DIV);
  ASSERT_TRUE(Compute(op, {a.view(), b.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{13, 1, 13}));
}

TEST(QuantizedBinaryTest, ZeroByZeroIsZero) {
  TestTensor<uint8_t> a{{3}, {5, 9, 1}, {1}, {5}}, b{{3}, {7, 7, 7}, {1}, {7}};
  TestTensor<uint8_t> y{{3}, {}, {1}, {30}};
  ASSERT_TRUE(Compute(BinaryOp(B::DIV), {a.view(), b.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<uint8_t>{30, 255, 0}));
}

TEST(QuantizedCompareTest, EightBitsCompareInSteps) {
  // Real values 0.5, 1, -1 and 1, 1, 0.5.
  TestTensor<int8_t> a{{3}, {1, 2, -2}, {0.5f}, {0}};
  TestTensor<int8_t> b{{3}, {9, 9, 7}, {0.25f}, {5}};
  const struct {
    B::Function function;
    std::vector<char> want;
  } cases[] = {
      {B::EQUAL, {0, 1, 0}},   {B::NOT_EQUAL, {1, 0, 1}},
      {B::GREATER, {0, 0, 0}}, {B::GREATER_OR_EQUAL, {0, 1, 0}},
      {B::LESS, {1, 0, 1}},    {B::LESS_OR_EQUAL, {1, 1, 1}},
  };
  for (const auto& c : cases) {
    TestTensor<char> y{{3}};
    ASSERT_TRUE(Compute(BinaryOp(c.function), {a.view(), b.view()}, y).ok());
    EXPECT_EQ(y.values, c.want) << B::Function_Name(c.function);
  }
  // TensorFlow Lite compares in steps of 1/256: these two are the same there.
  TestTensor<int8_t> p{{1}, {1}, {0.001f}, {0}}, q{{1}, {0}, {0.001f}, {0}};
  TestTensor<char> y{{1}};
  ASSERT_TRUE(Compute(BinaryOp(B::EQUAL), {p.view(), q.view()}, y).ok());
  EXPECT_EQ(y.values[0], 1);
  p.scale = q.scale = {0.002f};  // More than half of one.
  ASSERT_TRUE(Compute(BinaryOp(B::EQUAL), {p.view(), q.view()}, y).ok());
  EXPECT_EQ(y.values[0], 0);
  TestTensor<int16_t> r{{1}, {1}, {0.001f}, {0}}, s{{1}, {0}, {0.001f}, {0}};
  ASSERT_TRUE(Compute(BinaryOp(B::EQUAL), {r.view(), s.view()}, y).ok());
  EXPECT_EQ(y.values[0], 0);
}

template <typename From, typename To>
void ExpectRequantized(int32_t zero_from, int32_t zero_to) {
  v1::OpAttributes op;
  op.mutable_quantize();
  TestRandom random(5);
  TestTensor<From> x{{2000}, {}, {0.031f}, {zero_from}};
  TestTensor<To> y{{2000}, {}, {0.043f}, {zero_to}};
  random.Fill(x);
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  for (int i = 0; i < 2000; ++i) {
    const double real =
        double{x.scale[0]} * (static_cast<double>(x.values[i]) - zero_from);
    ASSERT_EQ(y.values[i], Steps<To>(real, y.scale[0], zero_to));
  }
}

TEST(RequantizeTypesTest, EveryPair) {
  ExpectRequantized<int8_t, int8_t>(3, -5);
  ExpectRequantized<int8_t, uint8_t>(3, 120);
  ExpectRequantized<int8_t, int16_t>(3, 0);
  ExpectRequantized<uint8_t, int32_t>(100, 7);
  ExpectRequantized<int16_t, int8_t>(0, 9);
  ExpectRequantized<int16_t, int16_t>(0, 0);
  ExpectRequantized<int16_t, int32_t>(0, 0);
  ExpectRequantized<int32_t, int8_t>(0, -1);
  ExpectRequantized<int32_t, int16_t>(0, 0);
  ExpectRequantized<uint16_t, uint8_t>(1000, 3);
}

TEST(QuantizeRoundingTest, HalfEvenIsThatOfOnnx) {
  v1::OpAttributes op;
  op.mutable_quantize();
  op.set_rounding(v1::HALF_EVEN);
  TestTensor<float> x{{6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e9f}};
  TestTensor<uint16_t> y{{6}, {}, {1}, {10}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<uint16_t>{10, 12, 12, 10, 8, 65535}));
  TestTensor<_Float16> half{{2}, {_Float16(2.5), _Float16(-7)}};
  TestTensor<int8_t> small{{2}, {}, {1}, {0}};
  ASSERT_TRUE(Compute(op, {half.view()}, small).ok());
  EXPECT_EQ(small.values, (std::vector<int8_t>{2, -7}));
}

TEST(DequantizeTest, ToEveryFloat) {
  v1::OpAttributes op;
  op.mutable_dequantize();
  TestTensor<int16_t> x{{2}, {300, -4}, {0.1f}, {0}};
  TestTensor<double> d{{2}};
  ASSERT_TRUE(Compute(op, {x.view()}, d).ok());
  EXPECT_EQ(d.values,
            (std::vector<double>{300 * double{0.1f}, -4 * double{0.1f}}));
  TestTensor<_Float16> h{{2}};
  ASSERT_TRUE(Compute(op, {x.view()}, h).ok());
  EXPECT_EQ(h.values, (std::vector<_Float16>{_Float16(30), _Float16(-0.4f)}));
}

TEST(QuantizedConcatTest, Int16ChangesScale) {
  v1::OpAttributes op;
  op.mutable_concat();
  TestTensor<int16_t> a{{1}, {100}, {0.5f}, {0}}, b{{1}, {7}, {0.25f}, {0}};
  TestTensor<int16_t> y{{2}, {}, {0.25f}, {0}};
  ASSERT_TRUE(Compute(op, {a.view(), b.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int16_t>{200, 7}));
}

}  // namespace
}  // namespace edgekiln::ops
