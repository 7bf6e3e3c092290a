// Where fuzzing starts from: every operator is there, and what becomes of the
// models when they are changed.

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/model_mutator.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/seed_models.h"
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

}  // namespace
}  // namespace edgekiln::compiler
