// Where fuzzing starts from: every operator is there, and what becomes of the
// models when they are changed.

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/testing/model_mutator.h"
#include "compiler/frontend/onnx/testing/seed_models.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"
#include "tests/support/user_error.h"

namespace edgekiln::compiler {
namespace {

TEST(OnnxSeedModelsTest, ReachEveryOperator) {
  std::string seeds;
  for (const std::string& model : onnx_import::SeedModels()) {
    onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(model));
    for (const onnx::NodeProto& node : proto.graph().node()) {
      absl::StrAppend(&seeds, " ", node.domain(), ":", node.op_type(), " ");
    }
  }
  for (const absl::string_view domain :
       {absl::string_view(), onnx_import::kMicrosoftDomain}) {
    for (const absl::string_view op :
         absl::StrSplit(onnx_import::OperatorNames(domain), ' ')) {
      EXPECT_TRUE(
          absl::StrContains(seeds, absl::StrCat(" ", domain, ":", op, " ")))
          << domain << ":" << op;
    }
  }
}

// One bit of each byte, another from byte to byte.
TEST(OnnxSeedModelsTest, ImportAndNoFlippedBitCrashes) {
  for (const std::string& model : onnx_import::SeedModels()) {
    const absl::StatusOr<Graph> whole = ImportOnnx(model);
    EXPECT_TRUE(whole.ok()) << whole.status();
    for (size_t at = 0; at < model.size(); ++at) {
      std::string damaged = model;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at * 5 % 8)));
      absl::StatusOr<Graph> graph = ImportOnnx(damaged);
      if (!graph.ok()) continue;
      EXPECT_TRUE(Simplify(*graph).ok()) << at;
    }
  }
}

// What the fuzz target does, few times and always the same.
TEST(OnnxSeedModelsTest, ImportOrAreRefusedWhateverChanges) {
  Rng rng(7);
  int refused = 0;
  int imported = 0;
  for (const std::string& seed : onnx_import::SeedModels()) {
    for (int i = 0; i < 50; ++i) {
      onnx::ModelProto model;
      ASSERT_TRUE(model.ParseFromString(seed));
      for (int64_t changes = rng.InRange(1, 6); changes > 0; --changes) {
        onnx_import::MutateModel(rng, model);
      }
      SCOPED_TRACE(model.DebugString());
      absl::StatusOr<Graph> graph = ImportOnnx(model.SerializeAsString());
      if (!graph.ok()) {
        tests::ExpectUserError(graph.status());
        ++refused;
        continue;
      }
      ++imported;
      const absl::Status simplified = Simplify(*graph);
      EXPECT_TRUE(simplified.ok()) << simplified;
    }
  }
  EXPECT_GT(imported, 100);
  EXPECT_GT(refused, 100);
}

// Every extent of `from` is 0.
std::string WithoutElements(const std::string& seed, int64_t from) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(seed));
  onnx::GraphProto& graph = *model.mutable_graph();
  for (auto& input : *graph.mutable_input()) {
    auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (auto& dim : *shape->mutable_dim()) {
      if (dim.dim_value() == from) dim.set_dim_value(0);
    }
  }
  for (auto& constant : *graph.mutable_initializer()) {
    // Lists of integers are extents and axes, not data.
    if (constant.data_type() == onnx::TensorProto::INT64) continue;
    for (int64_t& dim : *constant.mutable_dims()) {
      if (dim != from) continue;
      dim = 0;
      constant.clear_float_data();
      if (constant.has_raw_data()) constant.set_raw_data("");
    }
  }
  return model.SerializeAsString();
}

// Such models are odd, not wrong: no pass may divide by an extent.
TEST(OnnxSeedModelsTest, ImportOrAreRefusedWithoutElements) {
  int imported = 0;
  for (const std::string& seed : onnx_import::SeedModels()) {
    for (const int64_t extent : {1, 2, 3, 4, 5}) {
      SCOPED_TRACE(extent);
      const std::string model = WithoutElements(seed, extent);
      if (model == seed) continue;
      absl::StatusOr<Graph> graph = ImportOnnx(model);
      if (!graph.ok()) {
        tests::ExpectUserError(graph.status());
        continue;
      }
      ++imported;
      const absl::Status simplified = Simplify(*graph);
      EXPECT_TRUE(simplified.ok()) << simplified;
    }
  }
  EXPECT_GT(imported, 50);
}

}  // namespace
}  // namespace edgekiln::compiler
