#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/frontend/tflite/testing/test_model.h"
#include "compiler/frontend/tflite/tflite_import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "tests/support/heap_peak.h"

// What the import does to the graph besides translating operators: shapes,
// states, weights that are stored in another form.
namespace edgekiln::compiler {
namespace {

using tflite::BuiltinOperator;
using tflite::BuiltinOptions;
using tflite::TensorType;

std::string Printed(const std::string& model) {
  const absl::StatusOr<Graph> graph = ImportTflite(model);
  return graph.ok() ? PrintGraph(*graph) : graph.status().ToString();
}

std::string ErrorOf(const std::string& model) {
  const absl::StatusOr<Graph> graph = ImportTflite(model);
  if (graph.ok()) return "imported";
  EXPECT_TRUE(GetErrorDetail(graph.status()).has_value()) << graph.status();
  return std::string(graph.status().message());
}

// [n, 4, 2] -> [n, -1] through SHAPE, STRIDED_SLICE and PACK, as the converter
// writes Flatten for an open batch.
std::string FlattenModel(const std::vector<int32_t>& signature) {
  TestModel m;
  const auto f32 = TensorType::FLOAT32;
  const auto i32 = TensorType::INT32;
  const int32_t x =
      m.Tensor("x", {1, 4, 2}, f32, {}, {}, {}, 0, {.signature = signature});
  const int32_t shape = m.Tensor("shape", {3}, i32);
  m.Operator(BuiltinOperator::SHAPE, {x}, {shape});
  const int32_t batch = m.Tensor("batch", {}, i32);
  m.Operator(
      BuiltinOperator::STRIDED_SLICE,
      {shape, m.Ints("begin", {0}), m.Ints("end", {1}), m.Ints("strides", {1})},
      {batch}, BuiltinOptions::StridedSliceOptions,
      tflite::CreateStridedSliceOptions(m.builder(), 0, 0, 0, 0, 1).Union());
  const int32_t packed = m.Tensor("packed", {2}, i32);
  m.Operator(BuiltinOperator::PACK, {batch, m.Ints("rest", {-1}, true)},
             {packed}, BuiltinOptions::PackOptions,
             tflite::CreatePackOptions(m.builder(), 2, 0).Union());
  const int32_t y =
      m.Tensor("y", {1, 1}, f32, {}, {}, {}, 0, {.signature = {-1, -1}});
  m.Operator(BuiltinOperator::RESHAPE, {x, packed}, {y});
  m.AddSubgraph({x}, {y});
  return m.Finish();
}

TEST(TfliteGraphTest, ShapeArithmeticIsFoldedAway) {
  EXPECT_EQ(Printed(FlattenModel({-1, 4, 2})), R"(graph "main"
%x : float32[1,4,2] = input
%y : float32[1,8] = reshape(%x) id y name "y"
return %y
)");
}

TEST(TfliteGraphTest, AnOpenDimensionBesidesTheBatchIsNamed) {
  TestModel m;
  const int32_t x = m.Tensor("x", {1, 1, 2}, TensorType::FLOAT32, {}, {}, {}, 0,
                             {.signature = {-1, -1, 2}});
  m.AddSubgraph({x}, {x});
  EXPECT_EQ(ErrorOf(m.Finish()), "imported");  // The first -1 is the batch.
  TestModel n;
  const int32_t z = n.Tensor("z", {1, 1, 2}, TensorType::FLOAT32, {}, {}, {}, 0,
                             {.signature = {1, -1, 2}});
  n.AddSubgraph({z}, {z});
  EXPECT_NE(ErrorOf(n.Finish()).find("dimension 1 of input 'z'"),
            std::string::npos);
}

TEST(TfliteGraphTest, DynamicRangeWeightsBecomeFloatConstants) {
  TestModel m;
  const int32_t x = m.Tensor("x", {1, 2}, TensorType::FLOAT32);
  const int32_t w = m.Tensor("w", {2, 2}, TensorType::INT8, {0.5f, 0.25f},
                             {0, 0}, {2, 4, 8, 252}, 0);
  const int32_t y = m.Tensor("y", {1, 2}, TensorType::FLOAT32);
  m.Operator(BuiltinOperator::FULLY_CONNECTED, {x, w, -1}, {y},
             BuiltinOptions::FullyConnectedOptions,
             tflite::CreateFullyConnectedOptions(m.builder()).Union());
  m.AddSubgraph({x}, {y});
  EXPECT_EQ(Printed(m.Finish()), R"(graph "main"
%x : float32[1,2] = input
%"w#float" : float32[2,2] = constant [1, 2, 2, -1]
%y : float32[1,2] = fully_connected(%x, %"w#float", _) id y name "y"
return %y
)");
}

// y = svdf(x) with a state of one filter and two steps.
std::string SvdfModel(const std::vector<uint8_t>& state_bytes) {
  TestModel m;
  const auto f32 = TensorType::FLOAT32;
  const std::vector<uint8_t> one = {0, 0, 128, 63};
  const std::vector<uint8_t> two_ones = {0, 0, 128, 63, 0, 0, 128, 63};
  const int32_t x = m.Tensor("x", {1, 1}, f32);
  const int32_t feature = m.Tensor("feature", {1, 1}, f32, {}, {}, one);
  const int32_t time = m.Tensor("time", {1, 2}, f32, {}, {}, two_ones);
  const int32_t state = m.Tensor("state", {1, 2}, f32, {}, {}, state_bytes, 0,
                                 {.variable = true});
  const int32_t y = m.Tensor("y", {1, 1}, f32);
  m.Operator(BuiltinOperator::SVDF, {x, feature, time, -1, state}, {y},
             BuiltinOptions::SVDFOptions,
             tflite::CreateSVDFOptions(m.builder(), 1).Union());
  m.AddSubgraph({x}, {y});
  return m.Finish();
}

TEST(TfliteGraphTest, VariableTensorsAreStates) {
  for (const std::vector<uint8_t>& bytes :
       {std::vector<uint8_t>(), std::vector<uint8_t>(8, 0)}) {
    const auto graph = ImportTflite(SvdfModel(bytes));
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_EQ(graph->states.size(), 1u);
    EXPECT_EQ(graph->inputs.size(), 2u);
    EXPECT_EQ(graph->outputs.size(), 2u);
    EXPECT_EQ(graph->tensors[graph->states[0].input].name, "state");
    EXPECT_EQ(graph->tensors[graph->states[0].output].name, "state#next");
  }
  EXPECT_NE(ErrorOf(SvdfModel(std::vector<uint8_t>(8, 1)))
                .find("state 'state' starts with other values than 0"),
            std::string::npos);
}

TEST(TfliteGraphTest, AVariableElsewhereIsRefused) {
  TestModel m;
  const int32_t v = m.Tensor("v", {2}, TensorType::FLOAT32, {}, {}, {}, 0,
                             {.variable = true});
  const int32_t y = m.Tensor("y", {2}, TensorType::FLOAT32);
  m.Operator(BuiltinOperator::ABS, {v}, {y});
  m.AddSubgraph({}, {y});
  EXPECT_NE(ErrorOf(m.Finish()).find("variable tensors at ops that keep"),
            std::string::npos);
}

TEST(TfliteGraphTest, AnOutputIsProducedOnce) {
  TestModel m;
  const int32_t x = m.Tensor("x", {2}, TensorType::FLOAT32);
  const int32_t y = m.Tensor("y", {2}, TensorType::FLOAT32);
  m.Operator(BuiltinOperator::ABS, {x}, {y});
  m.Operator(BuiltinOperator::NEG, {x}, {y});
  m.AddSubgraph({x}, {y});
  EXPECT_NE(ErrorOf(m.Finish()).find("'y' has two definitions"),
            std::string::npos);
}

// Levels as (dense size) or (segments, indices).
struct SparseLevel {
  int32_t dense_size = 0;
  std::vector<int32_t> segments = {};
  std::vector<int32_t> indices = {};
};

std::string SparseModel(const std::vector<int32_t>& shape,
                        const std::vector<int32_t>& order,
                        const std::vector<int32_t>& blocks,
                        const std::vector<SparseLevel>& levels,
                        const std::vector<uint8_t>& values) {
  TestModel m;
  auto& b = m.builder();
  std::vector<flatbuffers::Offset<tflite::DimensionMetadata>> metadata;
  for (const SparseLevel& level : levels) {
    if (level.segments.empty()) {
      metadata.push_back(tflite::CreateDimensionMetadata(
          b, tflite::DimensionType::DENSE, level.dense_size));
      continue;
    }
    const auto kind = tflite::SparseIndexVector::Int32Vector;
    const auto segments =
        tflite::CreateInt32VectorDirect(b, &level.segments).Union();
    const auto indices =
        tflite::CreateInt32VectorDirect(b, &level.indices).Union();
    metadata.push_back(
        tflite::CreateDimensionMetadata(b, tflite::DimensionType::SPARSE_CSR, 0,
                                        kind, segments, kind, indices));
  }
  const auto sparsity =
      tflite::CreateSparsityParametersDirect(b, &order, &blocks, &metadata);
  const int32_t w = m.Tensor("w", shape, TensorType::INT8, {}, {}, values, 0,
                             {.sparsity = sparsity});
  const int32_t y = m.Tensor("y", shape, TensorType::INT8);
  m.Operator(BuiltinOperator::DENSIFY, {w}, {y});
  m.AddSubgraph({}, {y});
  return m.Finish();
}

TEST(TfliteGraphTest, BlockSparseWeightsAreDensified) {
  // Two rows of two blocks of 1x2: the second block of the first row and the
  // first of the second.
  const std::string text =
      Printed(SparseModel({2, 4}, {0, 1, 2}, {1},
                          {{2}, {0, {0, 1, 2}, {1, 0}}, {2}}, {1, 2, 3, 4}));
  EXPECT_NE(text.find("constant [0, 0, 1, 2, 3, 4, 0, 0]"), std::string::npos)
      << text;
}

TEST(TfliteGraphTest, DamagedSparsityIsRefused) {
  const std::vector<std::string> models = {
      // Order, number of levels, blocks.
      SparseModel({2, 2}, {0, 0}, {}, {{2}, {2}}, {1, 2, 3, 4}),
      SparseModel({2, 2}, {0}, {}, {{2}}, {1, 2}),
      SparseModel({2, 2}, {0, 1, 2}, {7}, {{2}, {2}, {1}}, {1, 2, 3, 4}),
      SparseModel({2, 3}, {0, 1, 2}, {1}, {{2}, {1}, {2}}, {1, 2, 3, 4}),
      // Segments that run backwards, are too few, or leave the indices.
      SparseModel({2, 2}, {0, 1}, {}, {{2}, {0, {0, 2, 1}, {0}}}, {1}),
      SparseModel({2, 2}, {0, 1}, {}, {{2}, {0, {0, 1}, {0}}}, {1}),
      SparseModel({2, 2}, {0, 1}, {}, {{2}, {0, {0, 9, 1}, {0}}}, {1}),
      // Indices beyond the dimension, more values than positions.
      SparseModel({2, 2}, {0, 1}, {}, {{2}, {0, {0, 1, 1}, {2}}}, {1}),
      SparseModel({2, 2}, {0, 1}, {}, {{2}, {0, {0, 1, 1}, {-1}}}, {1}),
      SparseModel({2, 2}, {0, 1}, {}, {{2}, {0, {0, 1, 1}, {1}}}, {1, 2}),
  };
  for (size_t i = 0; i < models.size(); ++i) {
    EXPECT_NE(ErrorOf(models[i]).find("sparse tensor"), std::string::npos) << i;
  }
}

// FILL of a shape that the file need not pay for, read as a shape.
std::string FillModel(const std::vector<int32_t>& extents) {
  TestModel m;
  const int32_t value = m.Ints("value", {7}, true);
  const int32_t y = m.Tensor("y", extents, TensorType::INT32);
  m.Operator(BuiltinOperator::FILL, {m.Ints("extents", extents), value}, {y});
  const int32_t x = m.Tensor("x", {1}, TensorType::FLOAT32);
  const int32_t z = m.Tensor("z", {1}, TensorType::FLOAT32);
  m.Operator(BuiltinOperator::RESHAPE, {x, y}, {z});
  m.AddSubgraph({x}, {z});
  return m.Finish();
}

TEST(TfliteGraphTest, AHostileFileStaysSmall) {
  const std::vector<int32_t> huge = {1 << 15, 1 << 15};
  const std::vector<std::string> models = {
      FillModel(huge),
      FillModel({1 << 30, 1 << 30}),
      SparseModel(huge, {0, 1}, {}, {{1 << 15}, {1 << 15}}, {1, 2}),
      SparseModel(huge, {0, 1}, {}, {{0, {0, 1}, {5}}, {0, {0, 1}, {5}}}, {1}),
  };
  const tests::HeapPeak peak;
  for (const std::string& model : models) {
    EXPECT_LT(model.size(), 1024u);
    EXPECT_NE(ErrorOf(model), "imported");
  }
  EXPECT_LT(peak.bytes(), int64_t{64} << 20);
}

}  // namespace
}  // namespace edgekiln::compiler
