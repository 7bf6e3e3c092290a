#include "ops/trigonometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Function {
  const char* name;
  double (*own)(double);
  long double (*exact)(long double);
  double low;
  double high;
};

const Function kFunctions[] = {
    {"sin", Sin, [](long double x) { return std::sin(x); }, -40, 40},
    {"sin small", Sin, [](long double x) { return std::sin(x); }, 0, 1e-5},
    {"sin large", Sin, [](long double x) { return std::sin(x); }, 1e9, 1e12},
    {"cos", Cos, [](long double x) { return std::cos(x); }, -40, 40},
    {"cos large", Cos, [](long double x) { return std::cos(x); }, -1e15, 1e15},
    {"tan", Tan, [](long double x) { return std::tan(x); }, -40, 40},
    {"tan large", Tan, [](long double x) { return std::tan(x); }, 1e5, 1e6},
    {"asin", Asin, [](long double x) { return std::asin(x); }, -1, 1},
    {"acos", Acos, [](long double x) { return std::acos(x); }, -1, 1},
    {"acos near 1", Acos, [](long double x) { return std::acos(x); }, 0.9999,
     1},
    {"atan", Atan, [](long double x) { return std::atan(x); }, -4, 4},
    {"atan wide", Atan, [](long double x) { return std::atan(x); }, -1e9, 1e9},
    {"sinh", Sinh, [](long double x) { return std::sinh(x); }, -2, 2},
    {"sinh wide", Sinh, [](long double x) { return std::sinh(x); }, -710, 710},
    {"cosh", Cosh, [](long double x) { return std::cosh(x); }, -5, 5},
    {"cosh wide", Cosh, [](long double x) { return std::cosh(x); }, -710, 710},
    {"asinh", Asinh, [](long double x) { return std::asinh(x); }, -3, 3},
    {"asinh wide", Asinh, [](long double x) { return std::asinh(x); }, 1,
     1e200},
    {"acosh", Acosh, [](long double x) { return std::acosh(x); }, 1, 3},
    {"acosh wide", Acosh, [](long double x) { return std::acosh(x); }, 1,
     1e200},
    {"atanh", Atanh, [](long double x) { return std::atanh(x); }, -0.999,
     0.999},
    {"atanh small", Atanh, [](long double x) { return std::atanh(x); }, 0,
     1e-4},
};

double Error(double value, long double exact) {
  if (static_cast<long double>(value) == exact) return 0;
  return static_cast<double>(
      std::fabs((static_cast<long double>(value) - exact) / exact));
}

TEST(TrigonometryTest, IsCloseToTheLongDoubleLibrary) {
  for (const Function& f : kFunctions) {
    double worst = 0;
    double where = 0;
    for (int i = 0; i <= 5000; ++i) {
      const double x = f.low + (f.high - f.low) * i / 5000;
      const double error = Error(f.own(x), f.exact(x));
      if (error > worst) where = x;
      worst = std::max(worst, error);
    }
    EXPECT_LT(worst, 0x1p-48) << f.name << " of " << where;
  }
}

// Floats of every exponent and sign: the library's float function is within
// one unit in the last place, and so is ours.
TEST(TrigonometryTest, RoundedToFloatIsWithinOneUnitInTheLastPlace) {
  const auto bits_of = [](float value) {
    int32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  };
  const struct {
    const char* name;
    double (*own)(double);
    float (*library)(float);
  } functions[] = {
      {"sin", Sin, [](float x) { return std::sin(x); }},
      {"cos", Cos, [](float x) { return std::cos(x); }},
      {"tan", Tan, [](float x) { return std::tan(x); }},
      {"asin", Asin, [](float x) { return std::asin(x); }},
      {"acos", Acos, [](float x) { return std::acos(x); }},
      {"atan", Atan, [](float x) { return std::atan(x); }},
  };
  for (const auto& f : functions) {
    int32_t worst = 0;
    for (int64_t i = 0; i < (int64_t{1} << 32); i += 99'991) {
      const auto pattern = static_cast<uint32_t>(i);
      float x = 0;
      std::memcpy(&x, &pattern, sizeof(x));
      const auto own = static_cast<float>(f.own(double{x}));
      const float library = f.library(x);
      if (std::isnan(library) || std::isnan(own)) {
        EXPECT_EQ(std::isnan(library), std::isnan(own))
            << f.name << " of " << x;
        continue;
      }
      worst = std::max(worst, std::abs(bits_of(own) - bits_of(library)));
    }
    EXPECT_LE(worst, 1) << f.name;
  }
}

// The double that lies closest to a multiple of pi/2, and the largest one.
TEST(TrigonometryTest, ReducesArgumentsOfAnySize) {
  EXPECT_LT(
      Error(Cos(0x1.6ac5b262ca1ffp+849), std::cos(0x1.6ac5b262ca1ffp+849L)),
      0x1p-48);
  EXPECT_LT(
      Error(Sin(0x1.6ac5b262ca1ffp+849), std::sin(0x1.6ac5b262ca1ffp+849L)),
      0x1p-48);
  constexpr double kLargest = std::numeric_limits<double>::max();
  EXPECT_LT(Error(Sin(kLargest), std::sin(static_cast<long double>(kLargest))),
            0x1p-48);
  EXPECT_LT(
      Error(Tan(-kLargest), std::tan(-static_cast<long double>(kLargest))),
      0x1p-48);
}

TEST(TrigonometryTest, KnowsTheEnds) {
  EXPECT_EQ(Sin(-0.0), 0);
  EXPECT_TRUE(std::signbit(Sin(-0.0)));
  EXPECT_EQ(Cos(0), 1);
  EXPECT_EQ(Asin(1), std::asin(1.0));
  EXPECT_EQ(Acos(-1), std::acos(-1.0));
  EXPECT_EQ(Acos(1), 0);
  EXPECT_EQ(Atan(-kInfinity), std::atan(-kInfinity));
  EXPECT_EQ(Sinh(-1000), -kInfinity);
  EXPECT_EQ(Cosh(-kInfinity), kInfinity);
  EXPECT_EQ(Asinh(-kInfinity), -kInfinity);
  EXPECT_EQ(Acosh(1), 0);
  EXPECT_EQ(Acosh(kInfinity), kInfinity);
  EXPECT_EQ(Atanh(-1), -kInfinity);
  for (const auto f : {Sin, Cos, Tan}) EXPECT_TRUE(std::isnan(f(kInfinity)));
  for (const auto f : {Asin, Acos, Atanh}) EXPECT_TRUE(std::isnan(f(-1.5)));
  EXPECT_TRUE(std::isnan(Acosh(0.5)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto f :
       {Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh}) {
    EXPECT_TRUE(std::isnan(f(nan)));
  }
}

}  // namespace
}  // namespace edgekiln::ops
