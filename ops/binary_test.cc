#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/testing/test_tensor.h"

// Binary functions, Select and Cast on plain values.
namespace edgekiln::ops {
namespace {

using B = v1::Binary;

v1::OpAttributes OpOf(B::Function function) {
  v1::OpAttributes op;
  op.mutable_binary()->set_function(function);
  return op;
}

template <typename T>
std::vector<T> BinaryOf(B::Function function, std::vector<T> a,
                        std::vector<T> b) {
  const auto extent = static_cast<int64_t>(a.size());
  TestTensor<T> x{{extent}, std::move(a)}, y{{extent}, std::move(b)};
  TestTensor<T> result{{extent}};
  const absl::Status status =
      Compute(OpOf(function), {x.view(), y.view()}, result);
  EXPECT_TRUE(status.ok()) << status;
  return result.values;
}

TEST(BinaryTest, Integers) {
  using Values = std::vector<int8_t>;
  const Values a = {7, -7, 7, -7, -128, 5, -128, 6};
  const Values b = {2, 2, -2, -2, -1, 0, 127, 3};
  const struct {
    B::Function function;
    Values want;
  } cases[] = {
      {B::SUB, {5, -9, 9, -5, -127, 5, 1, 3}},
      {B::DIV, {3, -3, -3, 3, -128, 0, -1, 2}},
      {B::FLOOR_DIV, {3, -4, -4, 3, -128, 0, -2, 2}},
      {B::FLOOR_MOD, {1, 1, -1, -1, 0, 0, 126, 0}},
      {B::TRUNC_MOD, {1, -1, 1, -1, 0, 0, -1, 0}},
      {B::BITWISE_AND, {2, 0, 6, -8, -128, 0, 0, 2}},
      {B::BITWISE_OR, {7, -5, -1, -1, -1, 5, -1, 7}},
      {B::BITWISE_XOR, {5, -5, -7, 7, 127, 5, -1, 5}},
      {B::SHIFT_LEFT, {28, -28, 7, -7, -128, 5, 0, 48}},
      {B::SHIFT_RIGHT, {1, -2, 7, -7, -128, 5, -1, 0}},
      {B::MINIMUM, {2, -7, -2, -7, -128, 0, -128, 3}},
      {B::MAXIMUM, {7, 2, 7, -2, -1, 5, 127, 6}},
      {B::SQUARED_DIFFERENCE, {25, 81, 81, 25, 1, 25, 1, 9}},
      {B::PRELU, {7, -14, 7, 14, -128, 5, -128, 6}},
      {B::POW, {49, 49, 0, 0, 0, 1, 0, -40}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(BinaryOf<int8_t>(c.function, a, b), c.want)
        << B::Function_Name(c.function);
  }
  EXPECT_EQ((BinaryOf<uint64_t>(B::SHIFT_LEFT, {3, 3, 3}, {63, 64, 1})),
            (std::vector<uint64_t>{uint64_t{1} << 63, 0, 6}));
  EXPECT_EQ((BinaryOf<uint8_t>(B::SHIFT_RIGHT, {200, 200, 200}, {3, 8, 255})),
            (std::vector<uint8_t>{25, 0, 0}));
  EXPECT_EQ((BinaryOf<uint64_t>(B::DIV, {~uint64_t{0}, 5}, {2, ~uint64_t{0}})),
            (std::vector<uint64_t>{~uint64_t{0} / 2, 0}));
  EXPECT_EQ((BinaryOf<int64_t>(B::MAXIMUM, {(int64_t{1} << 53) + 1},
                               {int64_t{1} << 53})),
            (std::vector<int64_t>{(int64_t{1} << 53) + 1}));
}

TEST(BinaryTest, Floats) {
  const std::vector<float> a = {7.5f, -7.5f, 2, -1};
  const std::vector<float> b = {2, 2, -0.5f, 0};
  EXPECT_EQ(BinaryOf(B::SUB, a, b),
            (std::vector<float>{5.5f, -9.5f, 2.5f, -1}));
  EXPECT_EQ(BinaryOf(B::DIV, a, b)[3], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(BinaryOf(B::FLOOR_DIV, a, b)[1], -4);
  EXPECT_EQ(BinaryOf(B::FLOOR_MOD, a, b)[1], 0.5f);
  EXPECT_EQ(BinaryOf(B::TRUNC_MOD, a, b)[1], -1.5f);
  EXPECT_EQ(BinaryOf(B::PRELU, a, b), (std::vector<float>{7.5f, -15, 2, 0}));
  EXPECT_EQ(BinaryOf(B::POW, a, b)[2], 0.707106781f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const B::Function f : {B::MINIMUM, B::MAXIMUM}) {
    EXPECT_TRUE(std::isnan(BinaryOf<float>(f, {nan}, {1})[0]));
    EXPECT_TRUE(std::isnan(BinaryOf<float>(f, {1}, {nan})[0]));
  }
}

TEST(BinaryTest, EveryNumericTypeAddsSubtractsAndMultiplies) {
  const auto run = [](auto tag) {
    using T = decltype(tag);
    TestTensor<T> a{{2, 1}, {T(5), T(9)}}, b{{3}, {T(1), T(2), T(3)}};
    TestTensor<T> y{{2, 3}};
    v1::OpAttributes op;
    op.mutable_add();
    EXPECT_TRUE(Compute(op, {a.view(), b.view()}, y).ok());
    EXPECT_EQ(y.values,
              (std::vector<T>{T(6), T(7), T(8), T(10), T(11), T(12)}));
    op.mutable_mul();
    EXPECT_TRUE(Compute(op, {a.view(), b.view()}, y).ok());
    EXPECT_EQ(y.values,
              (std::vector<T>{T(5), T(10), T(15), T(9), T(18), T(27)}));
    EXPECT_TRUE(Compute(OpOf(B::SUB), {a.view(), b.view()}, y).ok());
    EXPECT_EQ(y.values, (std::vector<T>{T(4), T(3), T(2), T(8), T(7), T(6)}));
  };
  run(int8_t());
  run(uint8_t());
  run(int16_t());
  run(uint16_t());
  run(int32_t());
  run(uint32_t());
  run(int64_t());
  run(uint64_t());
  run(float());
  run(double());
  run(_Float16());
}

TEST(BinaryTest, BroadcastsEveryWay) {
  // Shapes of a and b, and of the result.
  const std::vector<int64_t> shapes[][3] = {
      {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
      {{2, 3, 4}, {}, {2, 3, 4}},
      {{}, {2, 3, 4}, {2, 3, 4}},
      {{2, 3, 4}, {4}, {2, 3, 4}},
      {{2, 1, 4}, {3, 1}, {2, 3, 4}},
      {{1, 3, 1}, {2, 1, 4}, {2, 3, 4}},
      {{2, 3, 1}, {1, 3, 4}, {2, 3, 4}},
      {{1, 1}, {1}, {1, 1}},
      {{2, 1, 1, 5}, {3, 4, 1}, {2, 3, 4, 5}},
  };
  for (const auto& c : shapes) {
    TestTensor<float> a{c[0]}, b{c[1]}, y{c[2]};
    for (int i = 0; i < a.elements(); ++i) a.values.push_back(100.0f * i);
    for (int i = 0; i < b.elements(); ++i) b.values.push_back(1.0f * i);
    ASSERT_TRUE(Compute(OpOf(B::SUB), {a.view(), b.view()}, y).ok());
    // Each element by its coordinates.
    for (int64_t i = 0; i < y.elements(); ++i) {
      const auto at = [&](const std::vector<int64_t>& shape) {
        int64_t rest = i, stride = 1, offset = 0;
        for (size_t d = 0; d < c[2].size(); ++d) {
          const int64_t extent = c[2][c[2].size() - 1 - d];
          const int64_t position = rest % extent;
          rest /= extent;
          if (d >= shape.size()) continue;
          const int64_t own = shape[shape.size() - 1 - d];
          if (own != 1) offset += position * stride;
          stride *= own;
        }
        return offset;
      };
      EXPECT_EQ(y.values[i], a.values[at(c[0])] - b.values[at(c[1])]);
    }
  }
}

TEST(BinaryTest, ComparisonsAndLogicGiveBool) {
  TestTensor<int32_t> a{{3}, {1, 2, 3}}, b{{3}, {2, 2, 2}};
  TestTensor<char> p{{4}, {0, 0, 1, 3}}, q{{4}, {0, 1, 0, 2}};
  const struct {
    B::Function function;
    std::vector<char> want;
  } comparisons[] = {
      {B::EQUAL, {0, 1, 0}},   {B::NOT_EQUAL, {1, 0, 1}},
      {B::GREATER, {0, 0, 1}}, {B::GREATER_OR_EQUAL, {0, 1, 1}},
      {B::LESS, {1, 0, 0}},    {B::LESS_OR_EQUAL, {1, 1, 0}},
  };
  for (const auto& c : comparisons) {
    TestTensor<char> y{{3}};
    ASSERT_TRUE(Compute(OpOf(c.function), {a.view(), b.view()}, y).ok());
    EXPECT_EQ(y.values, c.want) << B::Function_Name(c.function);
  }
  const struct {
    B::Function function;
    std::vector<char> want;
  } logic[] = {
      {B::AND, {0, 0, 0, 1}},       {B::OR, {0, 1, 1, 1}},
      {B::XOR, {0, 1, 1, 0}},       {B::EQUAL, {1, 0, 0, 1}},
      {B::NOT_EQUAL, {0, 1, 1, 0}},
  };
  for (const auto& c : logic) {
    TestTensor<char> y{{4}};
    ASSERT_TRUE(Compute(OpOf(c.function), {p.view(), q.view()}, y).ok());
    EXPECT_EQ(y.values, c.want) << B::Function_Name(c.function);
  }
  TestTensor<char> y{{4}};
  EXPECT_FALSE(Compute(OpOf(B::LESS), {p.view(), q.view()}, y).ok());
  EXPECT_FALSE(Compute(OpOf(B::SUB), {p.view(), q.view()}, y).ok());
}

TEST(BinaryTest, PowTakesAnotherTypeOfExponent) {
  TestTensor<float> x{{3}, {2, 9, 4}};
  TestTensor<int64_t> e{{3}, {10, 0, -1}};
  TestTensor<float> y{{3}};
  ASSERT_TRUE(Compute(OpOf(B::POW), {x.view(), e.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<float>{1024, 1, 0.25f}));
  TestTensor<int32_t> base{{3}, {9, 2, 3}}, whole{{3}};
  TestTensor<float> half{{3}, {0.5f, 40, -1}};
  ASSERT_TRUE(Compute(OpOf(B::POW), {base.view(), half.view()}, whole).ok());
  EXPECT_EQ(whole.values, (std::vector<int32_t>{3, INT32_MAX, 0}));
}

TEST(SelectTest, BroadcastsAllThree) {
  v1::OpAttributes op;
  op.mutable_select();
  TestTensor<char> condition{{2, 1}, {0, 2}};
  TestTensor<int64_t> a{{3}, {1, 2, 3}}, b{{}, {-1}}, y{{2, 3}};
  ASSERT_TRUE(Compute(op, {condition.view(), a.view(), b.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int64_t>{-1, -1, -1, 1, 2, 3}));
}

template <typename From, typename To>
void ExpectCast(std::vector<From> from, const std::vector<To>& want) {
  v1::OpAttributes op;
  op.mutable_cast();
  const auto extent = static_cast<int64_t>(from.size());
  TestTensor<From> x{{extent}, std::move(from)};
  TestTensor<To> y{{extent}};
  const absl::Status status = Compute(op, {x.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(y.values, want);
}

TEST(CastTest, Table) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ExpectCast<float, int8_t>({1.9f, -1.9f, 300, -inf, nan},
                            {1, -1, 127, -128, 0});
  ExpectCast<float, uint8_t>({-1, 255.9f, 1e9f}, {0, 255, 255});
  ExpectCast<double, int64_t>({1e19, -1e19, 3.5}, {INT64_MAX, INT64_MIN, 3});
  ExpectCast<double, uint64_t>({1e20, -1}, {UINT64_MAX, 0});
  ExpectCast<int32_t, int8_t>({300, -129}, {44, 127});
  ExpectCast<int64_t, float>({(int64_t{1} << 24) + 1}, {16777216});
  ExpectCast<float, char>({0, 0.5f, nan}, {0, 1, 1});
  ExpectCast<char, float>({0, 7}, {0, 1});
  ExpectCast<float, _Float16>({1e6f, 1.0f + 0x1p-11f, 1e-7f},
                              {_Float16(inf), _Float16(1), _Float16(1e-7f)});
  ExpectCast<double, _Float16>({1.0 + 0x1p-11 + 0x1p-40},
                               {_Float16(1 + 0x1p-10)});
  ExpectCast<_Float16, int32_t>({_Float16(-2.5)}, {-2});
  ExpectCast<double, float>({1e300, 0.1}, {inf, 0.1f});
  ExpectCast<uint32_t, int64_t>({UINT32_MAX}, {UINT32_MAX});
}

TEST(ClipTest, FloatsOfEveryWidth) {
  v1::OpAttributes op;
  op.mutable_clip()->mutable_clamp()->set_min(-1);
  op.mutable_clip()->mutable_clamp()->set_max(0.5f);
  TestTensor<double> x{{3}, {-2, 0.25, 3}}, y{{3}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<double>{-1, 0.25, 0.5}));
  TestTensor<_Float16> half{{1}, {3}}, half_y{{1}};
  ASSERT_TRUE(Compute(op, {half.view()}, half_y).ok());
  EXPECT_EQ(half_y.values[0], _Float16(0.5));
  // Bounds of integers would be rounded to floats.
  TestTensor<int64_t> whole{{1}, {3}}, whole_y{{1}};
  EXPECT_FALSE(Compute(op, {whole.view()}, whole_y).ok());
}

}  // namespace
}  // namespace edgekiln::ops
