#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/shape_inference.h"
#include "ops/testing/test_tensor.h"

// Ops that move values, shape inference, and what CheckOp refuses.
namespace edgekiln::ops {
namespace {

TEST(TransposeTest, MovesDimensions) {
  v1::OpAttributes op;
  for (const int axis : {2, 0, 1}) {
    op.mutable_transpose()->add_permutation(axis);
  }
  TestTensor<int16_t> x{{1, 2, 3}, {1, 2, 3, 4, 5, 6}};
  TestTensor<int16_t> y{{3, 1, 2}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int16_t>{1, 4, 2, 5, 3, 6}));
}

TEST(TransposeTest, ChannelAxisMovesAlong) {
  v1::OpAttributes op;
  op.mutable_transpose()->add_permutation(1);
  op.mutable_transpose()->add_permutation(0);
  TestTensor<int8_t> x{{1, 2}, {1, 2}, {0.5f, 0.25f}, {0, 0}, 1};
  TestTensor<int8_t> y{{2, 1}, {}, {0.5f, 0.25f}, {0, 0}, 0};
  EXPECT_TRUE(Compute(op, {x.view()}, y).ok());
  TestTensor<int8_t> wrong{{2, 1}, {}, {0.5f, 0.25f}, {0, 0}, 1};
  EXPECT_FALSE(Compute(op, {x.view()}, wrong).ok());
}

TEST(PadTest, FillsWithTheQuantizedValue) {
  v1::OpAttributes op;
  op.mutable_pad()->add_before(1);
  op.mutable_pad()->add_before(0);
  op.mutable_pad()->add_after(0);
  op.mutable_pad()->add_after(1);
  TestTensor<int8_t> x{{1, 2}, {1, 2}, {0.5f}, {-9}};
  TestTensor<int8_t> y{{2, 3}, {}, {0.5f}, {-9}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{-9, -9, -9, 1, 2, -9}));
  op.mutable_pad()->set_value(2);  // 4 steps.
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{-5, -5, -5, 1, 2, -5}));
}

TEST(PadTest, Float) {
  v1::OpAttributes op;
  op.mutable_pad()->add_before(1);
  op.mutable_pad()->add_after(1);
  op.mutable_pad()->set_value(7);
  TestTensor<float> x{{1}, {1}};
  TestTensor<float> y{{3}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<float>{7, 1, 7}));
}

TEST(ConcatTest, BringsInputsToTheOutputScale) {
  v1::OpAttributes op;
  op.mutable_concat()->set_axis(1);
  TestTensor<int8_t> a{{2, 1}, {10, 20}, {0.5f}, {0}};
  TestTensor<int8_t> b{{2, 2}, {4, 5, 6, 7}, {1.0f}, {3}};
  TestTensor<int8_t> y{{2, 3}, {}, {0.5f}, {0}};
  ASSERT_TRUE(Compute(op, {a.view(), b.view()}, y).ok());
  EXPECT_EQ(y.values, (std::vector<int8_t>{10, 2, 4, 20, 6, 8}));
}

TEST(ReshapeTest, KeepsTheOrder) {
  v1::OpAttributes op;
  op.mutable_reshape();
  TestTensor<int64_t> x{{2, 3}, {1, 2, 3, 4, 5, 6}};
  TestTensor<int64_t> y{{3, 1, 2}};
  ASSERT_TRUE(Compute(op, {x.view()}, y).ok());
  EXPECT_EQ(y.values, x.values);
  TestTensor<int64_t> wrong{{3, 3}};
  EXPECT_FALSE(Compute(op, {x.view()}, wrong).ok());
}

TEST(EmptyTensorTest, IsComputedWithoutTouchingMemory) {
  v1::OpAttributes op;
  op.mutable_add();
  TestTensor<float> a{{0, 3}}, b{{3}, {1, 2, 3}}, y{{0, 3}};
  EXPECT_TRUE(Compute(op, {a.view(), b.view()}, y).ok());
}

TEST(SamePaddingTest, PutsTheOddElementBehind) {
  EXPECT_EQ(SamePadding(32, 3, 1, 1), std::make_pair(1, 1));
  EXPECT_EQ(SamePadding(32, 3, 2, 1), std::make_pair(0, 1));
  EXPECT_EQ(SamePadding(49, 10, 2, 1), std::make_pair(4, 5));
  EXPECT_EQ(SamePadding(7, 1, 2, 1), std::make_pair(0, 0));
  EXPECT_EQ(SamePadding(10, 3, 1, 2), std::make_pair(2, 2));
}

TEST(BroadcastShapeTest, FollowsNumpy) {
  EXPECT_EQ(*BroadcastShape({2, 1, 3}, {4, 1}),
            (std::vector<int64_t>{2, 4, 3}));
  EXPECT_EQ(*BroadcastShape({}, {5}), (std::vector<int64_t>{5}));
  EXPECT_EQ(*BroadcastShape({1}, {0}), (std::vector<int64_t>{0}));
  EXPECT_FALSE(BroadcastShape({2}, {3}).ok());
}

struct TypeCase {
  const char* name;
  TestTensor<int8_t> tensor;
  const char* message;  // "" = accepted.
};

TEST(CheckTensorTypeTest, Table) {
  const TypeCase cases[] = {
      {"plain", {{2, 3}}, ""},
      {"scalar", {{}}, ""},
      {"negative extent", {{2, -1}}, "shape [2,-1]"},
      {"overflowing product", {{1 << 30, 1 << 30, 1 << 30}}, "shape ["},
      {"too many bytes", {{int64_t{1} << 31, 2}}, "bytes per tensor"},
      {"huge beside empty", {{int64_t{1} << 40, 0}}, "extent"},
      {"rank", {{1, 1, 1, 1, 1, 1, 1, 1, 1}}, "rank 9"},
      {"per channel", {{2, 3}, {}, {1, 2, 3}, {0, 0, 0}, 1}, ""},
      {"wrong axis", {{2, 3}, {}, {1, 2, 3}, {0, 0, 0}, 0}, "3 scales along"},
      {"axis outside", {{2, 3}, {}, {1, 2, 3}, {0, 0, 0}, 7}, "3 scales along"},
      {"zero scale", {{1}, {}, {0}, {0}}, "scale 0"},
      {"nan scale", {{1}, {}, {0.0f / 0.0f}, {0}}, "scale"},
      {"zero point", {{1}, {}, {1}, {128}}, "zero point 128"},
      {"arity", {{1}, {}, {1}, {}}, "1 scales and 0 zero points"},
  };
  for (const TypeCase& c : cases) {
    const absl::Status status = CheckTensorType(c.tensor.view());
    EXPECT_EQ(status.ok(), std::string(c.message).empty())
        << c.name << ": " << status;
    EXPECT_NE(std::string(status.message()).find(c.message), std::string::npos)
        << c.name << ": " << status;
  }
}

TEST(InferShapesTest, ErrorsOfInputsSayWhichOne) {
  v1::OpAttributes op;
  op.mutable_add();
  const TestTensor<int8_t> good = {{2}, {}, {1}, {0}};
  const TestTensor<int8_t> bad = {{2}, {}, {0}, {0}};
  const TensorView inputs[] = {good.view(), bad.view()};
  const absl::Status status = InferShapes(op, inputs).status();
  EXPECT_NE(std::string(status.message()).find("input 1: scale 0"),
            std::string::npos)
      << status;
}

TEST(CheckOpTest, RefusesWhatKernelsCannotHold) {
  v1::OpAttributes op;
  op.mutable_fully_connected();
  // 65794 products of 255 * 128 leave int32.
  TestTensor<int8_t> x{{1, 70000}, {}, {1}, {0}}, w{{1, 70000}, {}, {1}, {0}},
      y{{1, 1}, {}, {1}, {0}};
  x.values.resize(70000);
  w.values.resize(70000);
  const absl::Status status = Compute(op, {x.view(), w.view()}, y);
  EXPECT_NE(std::string(status.message()).find("int32 accumulator"),
            std::string::npos)
      << status;
}

TEST(CheckOpTest, RefusesWeightsTooLargeToRearrange) {
  v1::OpAttributes op;
  op.mutable_mat_mul();
  const std::vector<int64_t> a = {1, 1 << 25}, b = {1 << 25, 1}, y = {1, 1};
  const TensorView inputs[] = {{v1::FLOAT32, a}, {v1::FLOAT32, b}};
  const absl::Status status = CheckOp(op, inputs, {{v1::FLOAT32, y}});
  EXPECT_NE(std::string(status.message()).find("268435456 elements"),
            std::string::npos)
      << status;
}

TEST(CheckOpTest, RefusesMixedTypesAndMissingInputs) {
  v1::OpAttributes op;
  op.mutable_add();
  TestTensor<float> a{{1}, {1}}, y{{1}};
  TestTensor<int8_t> b{{1}, {1}, {1}, {0}};
  EXPECT_FALSE(Compute(op, {a.view(), b.view()}, y).ok());
  EXPECT_FALSE(Compute(op, {a.view()}, y).ok());
  EXPECT_FALSE(Compute(op, {a.view(), TensorView{}}, y).ok());
  EXPECT_FALSE(Compute(v1::OpAttributes(), {a.view()}, y).ok());
}

TEST(CheckOpTest, RefusesAClampThatIsUpsideDown) {
  v1::OpAttributes op;
  op.mutable_clip()->mutable_clamp()->set_min(1);
  op.mutable_clip()->mutable_clamp()->set_max(0);
  TestTensor<float> x{{1}, {1}}, y{{1}};
  EXPECT_FALSE(Compute(op, {x.view()}, y).ok());
}

}  // namespace
}  // namespace edgekiln::ops
