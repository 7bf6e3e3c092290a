#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/testing/test_tensor.h"

// Gather, Slice, BroadcastTo, Tile and the modes of Pad.
namespace edgekiln::ops {
namespace {

using Ints = std::vector<int32_t>;
using Shape = std::vector<int64_t>;

TestTensor<int32_t> Counting(Shape shape) {
  TestTensor<int32_t> tensor{std::move(shape)};
  for (int i = 0; i < tensor.elements(); ++i) tensor.values.push_back(i);
  return tensor;
}

TEST(GatherTest, AlongAnyAxis) {
  v1::OpAttributes op;
  op.mutable_gather()->set_axis(1);
  const TestTensor<int32_t> x = Counting({2, 3, 2});
  TestTensor<int64_t> indices{{2}, {2, -3}};
  TestTensor<int32_t> y{{2, 2, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), indices.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{4, 5, 0, 1, 10, 11, 6, 7}));
  TestTensor<int32_t> scalar{{}, {1}}, row{{2, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), scalar.view()}, row).ok());
  EXPECT_EQ(row.values, (Ints{2, 3, 8, 9}));
}

TEST(GatherTest, SharedDimensions) {
  v1::OpAttributes op;
  op.mutable_gather()->set_axis(1);
  op.mutable_gather()->set_batch_dims(1);
  const TestTensor<int32_t> x = Counting({2, 3});
  TestTensor<int32_t> indices{{2, 2}, {2, 0, 1, 1}}, y{{2, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), indices.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{2, 0, 4, 4}));
}

TEST(GatherTest, RefusesIndicesOutsideTheAxis) {
  v1::OpAttributes op;
  op.mutable_gather();
  v1::OpAttributes elements;
  elements.mutable_gather_elements();
  const TestTensor<int32_t> x = Counting({3});
  TestTensor<int32_t> y{{1}};
  for (const int64_t index : {int64_t{3}, int64_t{-4}, INT64_MIN, INT64_MAX}) {
    TestTensor<int64_t> indices{{1}, {index}};
    for (const auto& kind : {op, elements}) {
      const absl::Status status = Compute(kind, {x.view(), indices.view()}, y);
      EXPECT_NE(std::string(status.message()).find("index"), std::string::npos)
          << status;
    }
  }
  TestTensor<float> wrong{{1}, {0}};
  EXPECT_FALSE(Compute(op, {x.view(), wrong.view()}, y).ok());
}

TEST(GatherElementsTest, PicksAlongTheAxis) {
  v1::OpAttributes op;
  op.mutable_gather_elements()->set_axis(0);
  const TestTensor<int32_t> x = Counting({3, 2});
  TestTensor<int32_t> indices{{2, 2}, {2, 0, -3, -1}}, y{{2, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), indices.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{4, 1, 0, 5}));
}

struct SliceCase {
  const char* name;
  Shape begin, extent, stride;
  Ints want;  // Empty: refused.
};

TEST(SliceTest, Table) {
  const SliceCase cases[] = {
      {"middle", {1, 1}, {2, 2}, {1, 1}, {5, 6, 9, 10}},
      {"backwards", {2, 3}, {2, 2}, {-1, -2}, {11, 9, 7, 5}},
      {"steps", {0, 0}, {2, 2}, {2, 3}, {0, 3, 8, 11}},
      {"one row", {1, 0}, {1, 4}, {1, 1}, {4, 5, 6, 7}},
      {"begins outside", {3, 0}, {1, 1}, {1, 1}, {}},
      {"ends outside", {2, 0}, {2, 1}, {1, 1}, {}},
      {"before the start", {0, 0}, {2, 1}, {-1, 1}, {}},
      {"no step", {0, 0}, {2, 1}, {0, 1}, {}},
      {"overflow", {2, 0}, {INT64_MAX, 1}, {INT64_MAX, 1}, {}},
      {"negative extent", {0, 0}, {-1, 1}, {1, 1}, {}},
      {"too few", {0}, {1}, {1}, {}},
  };
  const TestTensor<int32_t> x = Counting({3, 4});
  for (const SliceCase& c : cases) {
    v1::OpAttributes op;
    op.mutable_slice()->mutable_begin()->Assign(c.begin.begin(), c.begin.end());
    op.mutable_slice()->mutable_extent()->Assign(c.extent.begin(),
                                                 c.extent.end());
    op.mutable_slice()->mutable_stride()->Assign(c.stride.begin(),
                                                 c.stride.end());
    TestTensor<int32_t> y;
    if (!c.want.empty()) y.shape = c.extent;
    const absl::Status status = Compute(op, {x.view()}, y);
    EXPECT_EQ(status.ok(), !c.want.empty()) << c.name << ": " << status;
    if (!status.ok()) continue;
    EXPECT_EQ(y.values, c.want) << c.name;
  }
}

TEST(BroadcastToTest, AddsAndRepeatsDimensions) {
  v1::OpAttributes op;
  for (const int64_t extent : {2, 1, 3}) {
    op.mutable_broadcast_to()->add_shape(extent);
  }
  TestTensor<int32_t> x{{2, 1}, {7, 8}};
  // As numpy, where `shape` says 1 the input's extent stays.
  TestTensor<int32_t> y{{2, 2, 3}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{7, 7, 7, 8, 8, 8, 7, 7, 7, 8, 8, 8}));
  TestTensor<int32_t> scalar{{}, {5}}, filled{{2, 1, 3}};
  ASSERT_TRUE(Compute(op, {scalar.view()}, filled).ok());
  EXPECT_EQ(filled.values, Ints(6, 5));
}

TEST(TileTest, RepeatsEveryDimension) {
  v1::OpAttributes op;
  op.mutable_tile()->add_multiples(2);
  op.mutable_tile()->add_multiples(2);
  const TestTensor<int32_t> x = Counting({2, 2});
  TestTensor<int32_t> y{{4, 4}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
  op.mutable_tile()->set_multiples(0, -1);
  EXPECT_FALSE(Compute(op, {x.view()}, y).ok());
}

TEST(PadModeTest, Table) {
  const struct {
    v1::Pad::Mode mode;
    Ints want;
  } cases[] = {
      {v1::Pad::CONSTANT, {9, 9, 9, 9, 0, 1, 2, 9, 9}},
      {v1::Pad::REFLECT, {0, 1, 2, 1, 0, 1, 2, 1, 0}},
      {v1::Pad::SYMMETRIC, {2, 2, 1, 0, 0, 1, 2, 2, 1}},
      {v1::Pad::EDGE, {0, 0, 0, 0, 0, 1, 2, 2, 2}},
      {v1::Pad::WRAP, {2, 0, 1, 2, 0, 1, 2, 0, 1}},
  };
  const TestTensor<int32_t> x = Counting({1, 3});
  for (const auto& c : cases) {
    v1::OpAttributes op;
    v1::Pad& pad = *op.mutable_pad();
    pad.set_mode(c.mode);
    if (c.mode == v1::Pad::CONSTANT) pad.set_value(9);
    pad.add_before(0);
    pad.add_before(4);
    pad.add_after(0);
    pad.add_after(2);
    TestTensor<int32_t> y{{1, 9}};
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    EXPECT_EQ(y.values, c.want) << v1::Pad::Mode_Name(c.mode);
    TestTensor<int32_t> nothing{{1, 0}}, filled{{1, 6}};
    EXPECT_EQ(Compute(op, {nothing.view()}, filled).ok(),
              c.mode == v1::Pad::CONSTANT);
  }
}

TEST(PadModeTest, TheValueMustBeOneOfTheType) {
  v1::OpAttributes op;
  op.mutable_pad()->add_before(1);
  op.mutable_pad()->add_after(0);
  op.mutable_pad()->set_value(-2.5f);
  TestTensor<_Float16> half{{1}, {1}}, half_y{{2}};
  ASSERT_TRUE(Compute(op, {half.view()}, half_y).ok());
  EXPECT_EQ(half_y.values, (std::vector<_Float16>{_Float16(-2.5), 1}));
  TestTensor<double> wide{{1}, {1}}, wide_y{{2}};
  ASSERT_TRUE(Compute(op, {wide.view()}, wide_y).ok());
  EXPECT_EQ(wide_y.values, (std::vector<double>{-2.5, 1}));
  TestTensor<int64_t> whole{{1}, {1}}, whole_y{{2}};
  EXPECT_FALSE(Compute(op, {whole.view()}, whole_y).ok());
  op.mutable_pad()->set_value(-2);
  ASSERT_TRUE(Compute(op, {whole.view()}, whole_y).ok());
  EXPECT_EQ(whole_y.values, (std::vector<int64_t>{-2, 1}));
  TestTensor<uint64_t> natural{{1}, {1}}, natural_y{{2}};
  EXPECT_FALSE(Compute(op, {natural.view()}, natural_y).ok());
}

TEST(TransposeTest, EveryElementSizeAndJoinedDimensions) {
  const auto run = [](auto tag) {
    using T = decltype(tag);
    TestTensor<T> x{{2, 3, 2, 2}}, y{{2, 2, 2, 3}};
    for (int i = 0; i < 24; ++i) x.values.push_back(static_cast<T>(i));
    v1::OpAttributes op;
    for (const int32_t axis : {2, 3, 0, 1}) {
      op.mutable_transpose()->add_permutation(axis);
    }
    ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
    for (int i = 0; i < 24; ++i) {
      EXPECT_EQ(y.values[i], static_cast<T>(i % 6 * 4 + i / 6));
    }
  };
  run(uint8_t());
  run(_Float16());
  run(float());
  run(double());
}

}  // namespace
}  // namespace edgekiln::ops
