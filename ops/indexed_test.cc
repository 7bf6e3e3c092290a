#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/testing/test_tensor.h"

// GatherNd, the scatters, ReverseSequence and GridSample.
namespace edgekiln::ops {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;
using Shape = std::vector<int64_t>;

TestTensor<int32_t> Counting(Shape shape) {
  TestTensor<int32_t> tensor{std::move(shape)};
  for (int i = 0; i < tensor.elements(); ++i) tensor.values.push_back(i);
  return tensor;
}

void ExpectRefusesIndices(const v1::OpAttributes& op, TestTensor<int32_t> y,
                          const std::vector<TensorView>& rest) {
  for (const int64_t index : {int64_t{3}, int64_t{-4}, INT64_MIN, INT64_MAX}) {
    TestTensor<int64_t> indices{{1, 1}, {index}};
    const TestTensor<int32_t> x = Counting({3, 1});
    std::vector<TensorView> inputs = {x.view(), indices.view()};
    inputs.insert(inputs.end(), rest.begin(), rest.end());
    const absl::Status status = Compute(op, inputs, y);
    EXPECT_NE(std::string(status.message()).find("index"), std::string::npos)
        << status;
  }
}

TEST(GatherNdTest, TuplesNameSlices) {
  v1::OpAttributes op;
  op.mutable_gather_nd();
  const TestTensor<int32_t> x = Counting({2, 3, 2});
  TestTensor<int64_t> pairs{{3, 2}, {1, 2, 0, 0, -1, -3}};
  TestTensor<int32_t> rows{{3, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), pairs.view()}, rows).ok());
  EXPECT_EQ(rows.values, (Ints{10, 11, 0, 1, 6, 7}));
  TestTensor<int32_t> triple{{1, 3}, {1, 0, 1}}, one{{1}};
  ASSERT_TRUE(Compute(op, {x.view(), triple.view()}, one).ok());
  EXPECT_EQ(one.values, (Ints{7}));
  op.mutable_gather_nd()->set_batch_dims(1);
  TestTensor<int64_t> single{{2, 1}, {2, 0}};
  TestTensor<int32_t> batched{{2, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), single.view()}, batched).ok());
  EXPECT_EQ(batched.values, (Ints{4, 5, 6, 7}));
  op.mutable_gather_nd()->set_batch_dims(0);
  ExpectRefusesIndices(op, {{1, 1}}, {});
  TestTensor<int64_t> longer{{1, 4}, {0, 0, 0, 0}};
  EXPECT_FALSE(Compute(op, {x.view(), longer.view()}, one).ok());
}

TEST(ScatterElementsTest, EveryReduction) {
  v1::OpAttributes op;
  op.mutable_scatter_elements()->set_axis(1);
  const TestTensor<int32_t> x = Counting({2, 4});
  TestTensor<int64_t> indices{{1, 3}, {1, -1, 1}};
  TestTensor<int32_t> updates{{1, 3}, {10, 20, -30}}, y{{2, 4}};
  const struct {
    v1::ScatterReduction reduction;
    Ints row;
  } cases[] = {
      {v1::SCATTER_REPLACE, {0, -30, 2, 20}},
      {v1::SCATTER_ADD, {0, -19, 2, 23}},
      {v1::SCATTER_MUL, {0, -300, 2, 60}},
      {v1::SCATTER_MAX, {0, 10, 2, 20}},
      {v1::SCATTER_MIN, {0, -30, 2, 3}},
  };
  for (const auto& c : cases) {
    op.mutable_scatter_elements()->set_reduction(c.reduction);
    ASSERT_TRUE(
        Compute(op, {x.view(), indices.view(), updates.view()}, y).ok());
    Ints want = c.row;
    want.insert(want.end(), {4, 5, 6, 7});
    EXPECT_EQ(y.values, want) << v1::ScatterReduction_Name(c.reduction);
  }
  op.mutable_scatter_elements()->set_axis(0);
  TestTensor<int32_t> one{{1, 1}, {9}};
  ExpectRefusesIndices(op, {{3, 1}}, {one.view()});
  TestTensor<int64_t> tall{{3, 4}, std::vector<int64_t>(12, 0)};
  op.mutable_scatter_elements()->set_axis(1);
  TestTensor<int32_t> more{{3, 4}, Ints(12, 0)};
  EXPECT_FALSE(Compute(op, {x.view(), tall.view(), more.view()}, y).ok());
}

TEST(ScatterNdTest, SlicesAndReductions) {
  v1::OpAttributes op;
  op.mutable_scatter_nd();
  const TestTensor<int32_t> x = Counting({3, 2});
  TestTensor<int64_t> rows{{2, 1}, {2, 0}};
  TestTensor<int32_t> updates{{2, 2}, {10, 20, 30, 40}}, y{{3, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), rows.view(), updates.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{30, 40, 2, 3, 10, 20}));
  op.mutable_scatter_nd()->set_reduction(v1::SCATTER_ADD);
  TestTensor<int32_t> pairs{{2, 2}, {0, 1, 0, -1}}, two{{2}, {5, 7}};
  ASSERT_TRUE(Compute(op, {x.view(), pairs.view(), two.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{0, 13, 2, 3, 4, 5}));
  EXPECT_FALSE(Compute(op, {x.view(), pairs.view(), updates.view()}, y).ok());
  TestTensor<int32_t> row{{1, 1}, {9}};
  ExpectRefusesIndices(op, {{3, 1}}, {row.view()});
}

// Float16 rounds once; a replacement keeps scales, a sum refuses them.
TEST(ScatterNdTest, TypesAndScales) {
  v1::OpAttributes op;
  op.mutable_scatter_nd()->set_reduction(v1::SCATTER_MUL);
  TestTensor<_Float16> half{{1}, {3}}, update{{1}, {0.1}}, out{{1}};
  TestTensor<int64_t> at{{1, 1}, {0}};
  ASSERT_TRUE(Compute(op, {half.view(), at.view(), update.view()}, out).ok());
  EXPECT_EQ(out.values[0],
            static_cast<_Float16>(3 * static_cast<float>(update.values[0])));
  TestTensor<int8_t> q{{1}, {3}, {0.5f}, {1}}, new_q{{1}, {9}, {0.5f}, {1}};
  TestTensor<int8_t> y{{1}, {}, {0.5f}, {1}};
  EXPECT_FALSE(Compute(op, {q.view(), at.view(), new_q.view()}, y).ok());
  op.mutable_scatter_nd()->set_reduction(v1::SCATTER_REPLACE);
  ASSERT_TRUE(Compute(op, {q.view(), at.view(), new_q.view()}, y).ok());
  EXPECT_EQ(y.values[0], 9);
  new_q.scale[0] = 0.25f;
  EXPECT_FALSE(Compute(op, {q.view(), at.view(), new_q.view()}, y).ok());
}

TEST(ReverseSequenceTest, EitherAxisFirst) {
  v1::OpAttributes op;
  op.mutable_reverse_sequence()->set_batch_axis(1);
  const TestTensor<int32_t> x = Counting({3, 2});
  TestTensor<int64_t> lengths{{2}, {2, 3}};
  TestTensor<int32_t> y{{3, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), lengths.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{2, 5, 0, 3, 4, 1}));
  op.mutable_reverse_sequence()->set_batch_axis(0);
  op.mutable_reverse_sequence()->set_time_axis(1);
  TestTensor<int32_t> three{{3}, {0, 1, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), three.view()}, y).ok());
  EXPECT_EQ(y.values, (Ints{0, 1, 2, 3, 5, 4}));
  for (const int32_t length : {-1, 3}) {
    three.values[1] = length;
    EXPECT_FALSE(Compute(op, {x.view(), three.view()}, y).ok());
  }
  op.mutable_reverse_sequence()->set_time_axis(0);
  EXPECT_FALSE(Compute(op, {x.view(), three.view()}, y).ok());
}

struct SampleCase {
  const char* name;
  v1::GridSample::Mode mode;
  v1::GridSample::Padding padding;
  bool align_corners;
  float at;  // Along x; y stays in the middle of one row.
  float want;
};

// A row 10, 20, 40: positions by hand.
TEST(GridSampleTest, Table) {
  using G = v1::GridSample;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const SampleCase cases[] = {
      {"middle", G::LINEAR, G::ZEROS, false, 0, 20},
      {"between", G::LINEAR, G::ZEROS, true, 0.5f, 30},
      {"half a pixel", G::LINEAR, G::ZEROS, false, 0.5f, 35},
      {"corner", G::LINEAR, G::ZEROS, false, -1, 5},
      {"corner of a border", G::LINEAR, G::BORDER, false, -1, 10},
      {"far border", G::LINEAR, G::BORDER, true, 9, 40},
      {"reflected", G::LINEAR, G::REFLECTION, true, 1.5f, 30},
      {"reflected twice", G::LINEAR, G::REFLECTION, true, 3.5f, 15},
      {"nearest", G::NEAREST, G::ZEROS, false, 0.4f, 40},
      {"nearest tie to even", G::NEAREST, G::ZEROS, true, -0.5f, 10},
      {"nearest outside", G::NEAREST, G::ZEROS, true, 2, 0},
      {"cubic at an element", G::CUBIC, G::ZEROS, true, 0, 20},
      {"cubic between", G::CUBIC, G::BORDER, true, -0.5f, 13.125f},
      {"nowhere", G::LINEAR, G::ZEROS, true, nan, 0},
      {"nowhere on a border", G::LINEAR, G::BORDER, true, nan, 10},
      {"far away", G::NEAREST, G::REFLECTION, false, 3e38f, 20},
  };
  for (const SampleCase& c : cases) {
    v1::OpAttributes op;
    op.mutable_grid_sample()->set_mode(c.mode);
    op.mutable_grid_sample()->set_padding(c.padding);
    op.mutable_grid_sample()->set_align_corners(c.align_corners);
    TestTensor<float> x{{1, 1, 3, 1}, {10, 20, 40}};
    TestTensor<float> grid{{1, 1, 1, 2}, {c.at, 0}}, y{{1, 1, 1, 1}};
    const absl::Status status = Compute(op, {x.view(), grid.view()}, y);
    ASSERT_TRUE(status.ok()) << status;
    if (std::string(c.name) == "far away") continue;  // Must not overflow.
    EXPECT_FLOAT_EQ(y.values[0], c.want) << c.name;
  }
}

TEST(GridSampleTest, ImagesAndChannelsStayApart) {
  v1::OpAttributes op;
  op.mutable_grid_sample()->set_align_corners(true);
  TestTensor<float> x{{2, 2, 2, 2}};
  for (int i = 0; i < 16; ++i) x.values.push_back(static_cast<float>(i));
  TestTensor<float> grid{{2, 1, 1, 2}, {1, -1, 0, 1}}, y{{2, 1, 1, 2}};
  ASSERT_TRUE(Compute(op, {x.view(), grid.view()}, y).ok());
  EXPECT_EQ(y.values, (Floats{2, 3, 13, 14}));
  TestTensor<float> wrong{{1, 1, 1, 2}, {0, 0}};
  EXPECT_FALSE(Compute(op, {x.view(), wrong.view()}, y).ok());
}

}  // namespace
}  // namespace edgekiln::ops
