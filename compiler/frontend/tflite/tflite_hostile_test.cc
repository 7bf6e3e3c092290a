// Small files that ask for much memory or work, in the import and in the
// simplification behind it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compiler/frontend/tflite/testing/test_model.h"
#include "compiler/frontend/tflite/tflite_import.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/support/heap_peak.h"

namespace edgekiln::compiler {
namespace {

using tflite::BuiltinOperator;
using tflite::BuiltinOptions;
using tflite::TensorType;

using Shape = std::vector<int32_t>;

struct Step {
  BuiltinOperator code;
  Shape shape;         // Of the result.
  int inputs = 1;      // How often it reads the value before.
  Shape operand = {};  // Behind those, if there is one.
  BuiltinOptions options = BuiltinOptions::NONE;
};

// A number that FILL makes a tensor of `shape`, and what follows.
std::string FilledThen(const Shape& shape, const std::vector<Step>& steps) {
  TestModel m;
  const auto f32 = TensorType::FLOAT32;
  const int32_t x = m.Tensor("x", {1}, f32);
  const int32_t number =
      m.Tensor("n", {}, f32, {}, {}, {0, 0, 128, 63});  // 1.0f.
  int32_t at = m.Tensor("", shape, f32);
  m.Operator(BuiltinOperator::FILL, {m.Ints("", shape), number}, {at});
  for (const Step& step : steps) {
    const int32_t next = m.Tensor("", step.shape, f32);
    std::vector<int32_t> inputs(static_cast<size_t>(step.inputs), at);
    if (!step.operand.empty()) inputs.push_back(m.Ints("", step.operand));
    flatbuffers::Offset<void> options;
    if (step.options == BuiltinOptions::ConcatenationOptions) {
      options = tflite::CreateConcatenationOptions(m.builder(), 0).Union();
    } else if (step.options == BuiltinOptions::Pool2DOptions) {
      options = tflite::CreatePool2DOptions(m.builder(), tflite::Padding::SAME,
                                            1, 1, 999, 999)
                    .Union();
    }
    m.Operator(step.code, inputs, {next}, step.options, options);
    at = next;
  }
  const int32_t y =
      m.Tensor("y", steps.empty() ? shape : steps.back().shape, f32);
  m.Operator(BuiltinOperator::ADD, {at, x}, {y});
  m.AddSubgraph({x}, {y});
  return m.Finish();
}

std::vector<Step> Times(int count, const Step& step) {
  return std::vector<Step>(static_cast<size_t>(count), step);
}

// Each value joined with itself.
std::vector<Step> Doubled(int32_t from, int count) {
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i) {
    from *= 2;
    steps.push_back({BuiltinOperator::CONCATENATION,
                     {from},
                     2,
                     {},
                     BuiltinOptions::ConcatenationOptions});
  }
  return steps;
}

struct Hostile {
  const char* name;
  std::string model;
};

std::vector<Hostile> MuchMemory() {
  std::vector<Hostile> models = {
      {"1 GiB", FilledThen({1 << 14, 1 << 14}, {})},
      {"2^60 elements", FilledThen({1 << 30, 1 << 30}, {})},
      {"doubled", FilledThen({1 << 19}, Doubled(1 << 19, 6))},
      {"tiled", FilledThen({1, 1}, {{BuiltinOperator::TILE,
                                     {1 << 11, 1 << 11},
                                     1,
                                     {1 << 11, 1 << 11}}})},
      {"broadcast", FilledThen({1, 1}, {{BuiltinOperator::BROADCAST_TO,
                                         {1 << 12, 1 << 11},
                                         1,
                                         {1 << 12, 1 << 11}}})},
      {"padded", FilledThen({1, 1}, {{BuiltinOperator::PAD,
                                      {4001, 2001},
                                      1,
                                      {2000, 2000, 1000, 1000}}})},
      {"large windows", FilledThen({1, 1000, 1000, 1},
                                   Times(2, {BuiltinOperator::MAX_POOL_2D,
                                             {1, 1000, 1000, 1},
                                             1,
                                             {},
                                             BuiltinOptions::Pool2DOptions}))},
  };
  for (const int32_t side : {512, 724, 1024, 1448, 2048}) {
    const Shape shape = {side, side};
    for (const BuiltinOperator op :
         {BuiltinOperator::NEG, BuiltinOperator::EXP, BuiltinOperator::RELU}) {
      models.push_back({"one input", FilledThen(shape, Times(4, {op, shape}))});
    }
    for (const BuiltinOperator op :
         {BuiltinOperator::ADD, BuiltinOperator::MAXIMUM,
          BuiltinOperator::BATCH_MATMUL, BuiltinOperator::FULLY_CONNECTED}) {
      models.push_back(
          {"two inputs", FilledThen(shape, Times(4, {op, shape, 2}))});
    }
  }
  return models;
}

// More elements than 64 bits count; a sanitizer has to look on.
TEST(TfliteHostileTest, ImpossibleShapesAreRefused) {
  for (const Shape& shape : {Shape{1 << 30, 1 << 30, 1 << 30},
                             Shape{0, 1 << 30, 1 << 30, 1 << 30}}) {
    TestModel m;
    const int32_t x = m.Tensor("x", shape, TensorType::FLOAT32);
    const int32_t y = m.Tensor("y", {1}, TensorType::FLOAT32);
    m.Operator(BuiltinOperator::RESHAPE, {x, m.Ints("", {1})}, {y});
    m.AddSubgraph({x}, {y});
    const absl::StatusOr<Graph> graph = ImportTflite(m.Finish());
    ASSERT_FALSE(graph.ok());
    EXPECT_NE(graph.status().message().find("shape ["), absl::string_view::npos)
        << graph.status();
  }
}

TEST(TfliteHostileTest, ASmallFileTakesLittleMemory) {
  constexpr int64_t kMaxBytes = int64_t{64} << 20;
  for (const Hostile& hostile : MuchMemory()) {
    SCOPED_TRACE(hostile.name);
    EXPECT_LE(hostile.model.size(), 1536u);
    const tests::HeapPeak peak;
    absl::StatusOr<Graph> graph = ImportTflite(hostile.model);
    EXPECT_LT(peak.bytes(), kMaxBytes) << graph.status();
    if (!graph.ok()) {
      EXPECT_TRUE(GetErrorDetail(graph.status()).has_value()) << graph.status();
      continue;
    }
    const absl::Status simplified = Simplify(*graph);
    EXPECT_TRUE(simplified.ok()) << simplified;
    EXPECT_LT(peak.bytes(), kMaxBytes);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
