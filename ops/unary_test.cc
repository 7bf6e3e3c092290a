#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/fixed_point.h"
#include "ops/squash_table.h"
#include "ops/testing/test_tensor.h"

// Unary functions against the math library, on floats and on scales.
namespace edgekiln::ops {
namespace {

using U = v1::Unary;

struct Function {
  U::Function function;
  float alpha;
  float beta;
  std::function<double(double)> exact;
};

// Every real function, written again with libm.
std::vector<Function> RealFunctions() {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {
      {U::ABS, 0, 0, [](double x) { return std::fabs(x); }},
      {U::NEG, 0, 0, [](double x) { return -x; }},
      {U::SIGN, 0, 0, [](double x) { return (x > 0) - (x < 0); }},
      {U::FLOOR, 0, 0, [](double x) { return std::floor(x); }},
      {U::CEIL, 0, 0, [](double x) { return std::ceil(x); }},
      {U::ROUND, 0, 0, [](double x) { return std::rint(x); }},
      {U::SQUARE, 0, 0, [](double x) { return x * x; }},
      {U::SQRT, 0, 0, [](double x) { return std::sqrt(x); }},
      {U::RSQRT, 0, 0, [](double x) { return 1 / std::sqrt(x); }},
      {U::RECIPROCAL, 0, 0, [](double x) { return 1 / x; }},
      {U::EXP, 0, 0, [](double x) { return std::exp(x); }},
      {U::LOG, 0, 0, [](double x) { return std::log(x); }},
      {U::ERF, 0, 0, [](double x) { return std::erf(x); }},
      {U::TANH, 0, 0, [](double x) { return std::tanh(x); }},
      {U::SIGMOID, 0, 0, sigmoid},
      {U::SOFTPLUS, 0, 0, [](double x) { return std::log(std::exp(x) + 1); }},
      {U::SOFTSIGN, 0, 0, [](double x) { return x / (1 + std::fabs(x)); }},
      {U::ELU, 0.5f, 0,
       [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }},
      {U::SELU, 1.5f, 2,
       [](double x) { return x > 0 ? 2 * x : 3 * std::expm1(x); }},
      {U::LEAKY_RELU, 0.3f, 0, [](double x) { return x < 0 ? x * 0.3f : x; }},
      {U::HARD_SIGMOID, 0.25f, 0.5f,
       [](double x) { return std::fmax(0, std::fmin(1, x / 4 + 0.5)); }},
      {U::HARD_SWISH, 0, 0,
       [](double x) { return x * std::fmax(0, std::fmin(6, x + 3)) / 6; }},
      {U::GELU, 0, 0,
       [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2)); }},
      {U::GELU_TANH, 0, 0,
       [](double x) {
         const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
         return x / 2 * (1 + std::tanh(inner));
       }},
      {U::AFFINE, 0.75f, -0.5f, [](double x) { return 0.75 * x - 0.5; }},
      {U::SCALED_TANH, 1.5f, 0.25f,
       [](double x) { return 1.5 * std::tanh(x / 4); }},
      {U::THRESHOLDED_RELU, 2.5f, 0, [](double x) { return x < 2.5 ? 0 : x; }},
      {U::SIN, 0, 0, [](double x) { return std::sin(x); }},
      {U::COS, 0, 0, [](double x) { return std::cos(x); }},
      {U::TAN, 0, 0, [](double x) { return std::tan(x); }},
      {U::ASIN, 0, 0, [](double x) { return std::asin(x); }},
      {U::ACOS, 0, 0, [](double x) { return std::acos(x); }},
      {U::ATAN, 0, 0, [](double x) { return std::atan(x); }},
      {U::SINH, 0, 0, [](double x) { return std::sinh(x); }},
      {U::COSH, 0, 0, [](double x) { return std::cosh(x); }},
      {U::ASINH, 0, 0, [](double x) { return std::asinh(x); }},
      {U::ACOSH, 0, 0, [](double x) { return std::acosh(x); }},
      {U::ATANH, 0, 0, [](double x) { return std::atanh(x); }},
      {U::CELU, 2, 0,
       [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
      {U::SHRINK, 1, 0.5f,
       [](double x) { return x < -1  ? x + 0.5
                             : x > 1 ? x - 0.5
                                     : 0; }},
  };
}

v1::OpAttributes OpOf(const Function& f) {
  v1::OpAttributes op;
  op.mutable_unary()->set_function(f.function);
  op.mutable_unary()->set_alpha(f.alpha);
  op.mutable_unary()->set_beta(f.beta);
  return op;
}

template <typename T>
void ExpectCloseToExact(double relative) {
  const double values[] = {-90,  -7.5, -3,   -2.5, -1.0, -0.5, -1e-4, 0,
                           1e-4, 0.5,  1.25, 2.5,  3.5,  7,    10};
  for (const Function& f : RealFunctions()) {
    TestTensor<T> x{{15}}, y{{15}};
    for (const double value : values) x.values.push_back(static_cast<T>(value));
    const absl::Status status = Compute(OpOf(f), {x.view()}, y);
    ASSERT_TRUE(status.ok()) << U::Function_Name(f.function) << status;
    for (int i = 0; i < 15; ++i) {
      const double exact = f.exact(static_cast<double>(x.values[i]));
      const auto got = static_cast<double>(y.values[i]);
      if (std::isnan(exact) || std::isinf(static_cast<T>(exact))) {
        EXPECT_EQ(std::isnan(got), std::isnan(exact));
        continue;
      }
      EXPECT_NEAR(got, exact, std::fabs(exact) * relative + 1e-12)
          << U::Function_Name(f.function) << " of " << x.values[i];
    }
  }
}

TEST(UnaryTest, Float32IsTheRoundedExactValue) {
  ExpectCloseToExact<float>(0x1.01p-24);
}

TEST(UnaryTest, Float64) { ExpectCloseToExact<double>(1e-13); }

TEST(UnaryTest, Float16RoundsTheFloatResult) {
  for (const Function& f : RealFunctions()) {
    TestTensor<_Float16> x{{5}, {-3, -0.5, 0.25, 1.5, 6}}, y{{5}};
    TestTensor<float> wide{{5}, {-3, -0.5, 0.25, 1.5, 6}}, wide_y{{5}};
    ASSERT_TRUE(Compute(OpOf(f), {x.view()}, y).ok());
    ASSERT_TRUE(Compute(OpOf(f), {wide.view()}, wide_y).ok());
    for (int i = 0; i < 5; ++i) {
      if (std::isnan(wide_y.values[i])) continue;
      EXPECT_EQ(y.values[i], static_cast<_Float16>(wide_y.values[i]));
    }
  }
}

TEST(UnaryTest, IntegersWrap) {
  TestTensor<int8_t> x{{5}, {-128, -3, 0, 5, 127}}, y{{5}};
  const struct {
    U::Function function;
    std::vector<int8_t> want;
  } cases[] = {
      {U::ABS, {-128, 3, 0, 5, 127}},
      {U::NEG, {-128, 3, 0, -5, -127}},
      {U::SIGN, {-1, -1, 0, 1, 1}},
      {U::SQUARE, {0, 9, 0, 25, 1}},
      {U::BITWISE_NOT, {127, 2, -1, -6, -128}},
  };
  for (const auto& c : cases) {
    ASSERT_TRUE(Compute(OpOf({c.function, 0, 0, {}}), {x.view()}, y).ok());
    EXPECT_EQ(y.values, c.want) << U::Function_Name(c.function);
  }
  EXPECT_FALSE(Compute(OpOf({U::EXP, 0, 0, {}}), {x.view()}, y).ok());
}

TEST(UnaryTest, TellsNumbersFromOthers) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto check = [&](auto tag) {
    using T = decltype(tag);
    TestTensor<T> x{{5}, {T(1), T(inf), T(-inf), T(std::nan("")), T(0)}};
    TestTensor<char> y{{5}};
    const struct {
      Function f;
      std::vector<char> want;
    } cases[] = {
        {{U::IS_NAN, 0, 0, {}}, {0, 0, 0, 1, 0}},
        {{U::IS_INF, 1, 1, {}}, {0, 1, 1, 0, 0}},
        {{U::IS_INF, 1, 0, {}}, {0, 1, 0, 0, 0}},
        {{U::IS_INF, 0, 1, {}}, {0, 0, 1, 0, 0}},
    };
    for (const auto& c : cases) {
      ASSERT_TRUE(Compute(OpOf(c.f), {x.view()}, y).ok());
      EXPECT_EQ(y.values, c.want);
    }
  };
  check(float());
  check(double());
  check(_Float16());
  TestTensor<int32_t> x{{1}, {1}};
  TestTensor<char> y{{1}};
  EXPECT_FALSE(Compute(OpOf({U::IS_NAN, 0, 0, {}}), {x.view()}, y).ok());
}

TEST(UnaryTest, NotTakesAnyByteForTrue) {
  TestTensor<char> x{{3}, {0, 1, 7}}, y{{3}};
  ASSERT_TRUE(Compute(OpOf({U::NOT, 0, 0, {}}), {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<char>{1, 0, 0}));
}

// All values of a quantized type, within `tolerance` steps of the exact result.
template <typename T>
void ExpectStepsOf(const Function& f, float scale, int32_t zero,
                   float out_scale, int32_t out_zero, int tolerance) {
  const int32_t low = std::numeric_limits<T>::min();
  const int32_t high = std::numeric_limits<T>::max();
  TestTensor<T> x{{int64_t{high} - low + 1}, {}, {scale}, {zero}};
  TestTensor<T> y{x.shape, {}, {out_scale}, {out_zero}};
  for (int32_t q = low; q <= high; ++q) x.values.push_back(static_cast<T>(q));
  const absl::Status status = Compute(OpOf(f), {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  for (int32_t q = low; q <= high; ++q) {
    const double exact = f.exact(double{scale} * (q - zero));
    double want = std::round(exact / out_scale) + out_zero;
    want = std::isnan(want) || want < low ? low : want > high ? high : want;
    EXPECT_NEAR(y.values[q - low], want, tolerance)
        << U::Function_Name(f.function) << " of " << q;
  }
}

TEST(UnaryQuantizedTest, EveryInt8ValueIsTheExactOneRounded) {
  for (const Function& f : RealFunctions()) {
    // Powers of two: ties are ties in both. HARD_SWISH and RSQRT are fixed
    // point, SQRT is cut off.
    const bool exact = f.function != U::HARD_SWISH && f.function != U::RSQRT &&
                       f.function != U::SQRT;
    const int tolerance = exact ? 0 : 1;
    if (f.function == U::GELU_TANH) continue;  // As GELU; ties are not exact.
    ExpectStepsOf<int8_t>(f, 0.0625f, 3, 0.03125f, -10, tolerance);
    ExpectStepsOf<uint8_t>(f, 0.0625f, 128, 0.03125f, 100, tolerance);
  }
}

// By fixed point, by a table, and as they are.
TEST(UnaryQuantizedTest, Int16GatesAreNearTheExactValue) {
  for (const Function& f : RealFunctions()) {
    if (f.function != U::TANH && f.function != U::SIGMOID) continue;
    ExpectStepsOf<int16_t>(f, 1.0f / 4096, 0, 1.0f / 32768, 0, 12);
    ExpectStepsOf<int16_t>(f, 0.0003f, 0, 1.0f / 32768, 0, 3);
    ExpectStepsOf<int16_t>(f, 0.0001f, 0, 1.0f / 32768, 0, 3);
    ExpectStepsOf<int16_t>(f, 1.0f / 4096, 0, 0.00004f, 0, 0);
  }
}

// Which of them, and at which place of the table, the scale decides.
TEST(UnaryQuantizedTest, Int16GatesByScale) {
  const SquashTable table;
  const auto fixed = [](int32_t q) { return SaturatedTo<int16_t>(q); };
  const struct {
    U::Function function;
    float scale;
    std::function<int16_t(int32_t)> want;
  } cases[] = {
      {U::SIGMOID, 0x1p-12f, [&](auto q) { return FixedSigmoid(fixed(q), 3); }},
      {U::SIGMOID, 0x1p-11f, [&](auto q) { return table.Sigmoid(6 * q); }},
      {U::TANH, 0x1p-12f, [&](auto q) { return FixedTanh(fixed(q), 3); }},
      {U::TANH, 0x1p-11f, [&](auto q) { return FixedTanh(fixed(2 * q), 3); }},
      {U::TANH, 0x1p-10f, [&](auto q) { return table.Tanh(12 * q); }},
      {U::TANH, 0x1p-13f, [&](auto q) { return table.Tanh((q * 3 + 1) >> 1); }},
  };
  for (const auto& c : cases) {
    TestTensor<int16_t> x{{1 << 16}, {}, {c.scale}, {0}};
    TestTensor<int16_t> y{x.shape, {}, {0x1p-15f}, {0}};
    for (int32_t q = -32768; q <= 32767; ++q) {
      x.values.push_back(static_cast<int16_t>(q));
    }
    ASSERT_TRUE(Compute(OpOf({c.function, 0, 0, {}}), {x.view()}, y).ok());
    for (int32_t q = -32768; q <= 32767; ++q) {
      ASSERT_EQ(y.values[q + 32768], c.want(q))
          << U::Function_Name(c.function) << " " << c.scale << " of " << q;
    }
  }
}

// Where the output is finer than TensorFlow Lite allows.
TEST(UnaryQuantizedTest, HardSwishOfFineOutputsIsTheExactOneRounded) {
  for (const Function& f : RealFunctions()) {
    if (f.function != U::HARD_SWISH) continue;
    ExpectStepsOf<int8_t>(f, 1, 3, 0x1p-8f, -10, 0);
  }
}

TEST(UnaryQuantizedTest, Int16ExpIsInterpolated) {
  const Function f{U::EXP, 0, 0, [](double x) { return std::exp(x); }};
  ExpectStepsOf<int16_t>(f, 1.0f / 16384, 0, 8.0f / 32768, 0, 3);
}

TEST(UnaryQuantizedTest, RootsAreCutOff) {
  const Function f{U::SQRT, 0, 0, {}};
  TestTensor<int8_t> x{{4}, {-1, 0, 8, 99}, {1}, {0}};
  TestTensor<int8_t> y{{4}, {}, {1}, {5}};
  ASSERT_TRUE(Compute(OpOf(f), {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{-128, 5, 7, 14}));
}

TEST(UnaryQuantizedTest, HardSwishIsFixedPointOf16Bits) {
  // By hand from the steps of docs/numerics.md, scale 1/16 to 1/16:
  // multipliers 2^14 * 2^-6 and 21845 * 2^3 (1/128/16 * 32768/3 = 16/3).
  const Function f{U::HARD_SWISH, 0, 0, {}};
  TestTensor<int8_t> x{{5}, {-48, -24, 16, 48, 127}, {0.0625f}, {0}};
  TestTensor<int8_t> y{{5}, {}, {0.0625f}, {0}};
  ASSERT_TRUE(Compute(OpOf(f), {x.view()}, y).ok());
  // Real: 0, -0.375, 0.667, 3, 7.94.
  EXPECT_EQ(y.values, (std::vector<int8_t>{0, -6, 11, 48, 127}));
}

// 5 * 0.1f is more than 1/2 by 7e-9, a tie as a float.
TEST(UnaryQuantizedTest, HalfEvenIsWhatFloatsGive) {
  v1::OpAttributes op = OpOf({U::LEAKY_RELU, 0.1f, 0, {}});
  op.set_rounding(v1::HALF_EVEN);
  TestTensor<int8_t> x{{6}, {-5, -6, -15, -25, 0, 7}, {1}, {0}};
  TestTensor<int8_t> y{{6}, {}, {1}, {0}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{0, -1, -2, -2, 0, 7}));
}

}  // namespace
}  // namespace edgekiln::ops
