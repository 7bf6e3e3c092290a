#include "ops/real_math.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace edgekiln::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Error(double value, long double exact) {
  if (static_cast<long double>(value) == exact) return 0;
  return static_cast<double>(
      std::fabs((static_cast<long double>(value) - exact) / exact));
}

struct Function {
  const char* name;
  double (*own)(double);
  long double (*exact)(long double);
  double low;
  double high;
};

TEST(RealMathTest, IsCloseToTheLongDoubleLibrary) {
  const Function functions[] = {
      {"log", Log, [](long double x) { return std::log(x); }, 1e-300, 1e-290},
      {"log near 1", Log, [](long double x) { return std::log(x); }, 0.5, 2},
      {"log large", Log, [](long double x) { return std::log(x); }, 2, 1e9},
      {"log1p", Log1p, [](long double x) { return std::log1p(x); }, 0, 3},
      {"expm1", Expm1, [](long double x) { return std::expm1(x); }, -1, 1},
      {"expm1 wide", Expm1, [](long double x) { return std::expm1(x); }, -40,
       40},
      {"tanh", Tanh, [](long double x) { return std::tanh(x); }, -1e-5, 1e-5},
      {"tanh wide", Tanh, [](long double x) { return std::tanh(x); }, -25, 25},
      {"sigmoid", Sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); },
       -30, 40},
      {"erf", Erf, [](long double x) { return std::erf(x); }, -6.5, 6.5},
      {"erf small", Erf, [](long double x) { return std::erf(x); }, 0, 1e-3},
  };
  for (const Function& f : functions) {
    double worst = 0;
    for (int i = 0; i <= 5000; ++i) {
      const double x = f.low + (f.high - f.low) * i / 5000;
      worst = std::max(worst, Error(f.own(x), f.exact(x)));
    }
    EXPECT_LT(worst, 0x1p-48) << f.name;
  }
}

TEST(RealMathTest, KnowsTheEnds) {
  EXPECT_EQ(Log(0), -kInfinity);
  EXPECT_EQ(Log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Log(-1)));
  EXPECT_EQ(Log(1), 0);
  EXPECT_EQ(Tanh(1000), 1);
  EXPECT_EQ(Tanh(-kInfinity), -1);
  EXPECT_EQ(Sigmoid(-1000), 0);
  EXPECT_EQ(Sigmoid(kInfinity), 1);
  EXPECT_EQ(Erf(-kInfinity), -1);
  EXPECT_EQ(Expm1(-kInfinity), -1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto f : {Log, Log1p, Expm1, Tanh, Sigmoid, Erf}) {
    EXPECT_TRUE(std::isnan(f(nan)));
  }
}

TEST(PowTest, AgreesWithTheLibraryInEveryCase) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {
      0.0, -0.0, 1.0,    -1.0,    2.0,       -2.0,       0.5, -0.5,   3.0, -3.0,
      65,  -65,  100.25, -100.25, kInfinity, -kInfinity, nan, 1e-310, 0.1};
  for (const double x : values) {
    for (const double y : values) {
      const long double exact =
          std::pow(static_cast<long double>(x), static_cast<long double>(y));
      const double got = Pow(x, y);
      if (std::isnan(exact)) {
        EXPECT_TRUE(std::isnan(got)) << x << " ^ " << y;
      } else if (exact == 0 || std::isinf(static_cast<double>(exact)) ||
                 std::fabs(exact) < 1e-300L) {
        EXPECT_TRUE(got == static_cast<double>(exact) ||
                    std::fabs(got) < 1e-300)
            << x << " ^ " << y;
        EXPECT_EQ(std::signbit(got), std::signbit(exact)) << x << " ^ " << y;
      } else {
        EXPECT_LT(Error(got, exact), 0x1p-42) << x << " ^ " << y;
      }
    }
  }
  EXPECT_EQ(Pow(3, 4), 81);
  EXPECT_EQ(Pow(2, -2), 0.25);
  EXPECT_EQ(Pow(2, 0.5), std::sqrt(2.0));
}

}  // namespace
}  // namespace edgekiln::ops
