// Damaged models through the real programs: whatever is in the file, the answer
// is a result or the user's error. Never a crash of a stage, never a second
// try, never a daemon that is gone.

#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "compiler/frontend/onnx/testing/model_mutator.h"
#include "compiler/frontend/onnx/testing/seed_models.h"
#include "compiler/frontend/tflite/testing/model_mutator.h"
#include "compiler/frontend/tflite/testing/test_model.h"
#include "onnx/onnx_pb.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/pipeline/byte_damage.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

struct Whole {
  std::string name;
  std::string bytes;
  bool onnx = false;
};

// Small, so that most of a file is structure.
std::vector<Whole> WholeModels() {
  std::vector<Whole> models = {
      {"digits.onnx", ReadWholeFile(SourcePath("docs/example/digits.onnx")),
       true},
      {"small.tflite", compiler::SmallInt8Model(), false}};
  for (const std::string& seed : compiler::onnx_import::SeedModels()) {
    models.push_back(
        {absl::StrCat("seed-", models.size(), ".onnx"), seed, true});
    // As many models of either format.
    models.push_back({"small.tflite", compiler::SmallInt8Model(), false});
  }
  const std::string net = "models/dscnn_int8.tflite";
  if (SharedFile(net).has_value()) {
    models.push_back({"dscnn.tflite", ReadWholeFile(SharedPath(net)), false});
  }
  return models;
}

void FlipBytes(Rng& rng, Whole& model) { DamageBytes(rng, model.bytes); }

void MutateFields(Rng& rng, Whole& model) {
  if (!model.onnx) {
    compiler::MutateTflite(rng, model.bytes);
    return;
  }
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(model.bytes));
  for (int64_t i = rng.InRange(1, 3); i > 0; --i) {
    compiler::onnx_import::MutateModel(rng, proto);
  }
  model.bytes = proto.SerializeAsString();
}

class DamagedModelsTest : public ClusterTest {
 protected:
  // Both answers and refusals must occur, else the damage is too much or none.
  static void Run(int models, uint64_t seed,
                  const std::function<void(Rng&, Whole&)>& damage) {
    const std::vector<Whole> whole = WholeModels();
    Rng rng(seed);
    int answered = 0;
    int refused = 0;
    for (int i = 0; i < models; ++i) {
      Whole model = whole[rng.Below(whole.size())];
      damage(rng, model);
      if (model.bytes.empty()) continue;
      const std::string path = sandbox().Write("damaged.bin", model.bytes);
      for (const std::vector<std::string>& command :
           {std::vector<std::string>{"inspect", path},
            {"profile", path, "--target", "dla-64-o-512k",
             i % 2 == 0 ? "--timing-only" : "--quiet"}}) {
        const Outcome outcome = cluster().Cli(command);
        ++(outcome.exit_code == 0 ? answered : refused);
        if (outcome.exit_code == 0 || outcome.exit_code == 1) continue;
        const std::string kept =
            absl::StrCat(testing::TempDir(), "damaged-", seed, "-", i, ".bin");
        std::ofstream(kept, std::ios::binary) << model.bytes;
        ADD_FAILURE() << command[0] << " of model " << i << " of seed " << seed
                      << ", made of " << model.name << ", kept as " << kept
                      << "\n"
                      << outcome;
      }
      ASSERT_TRUE(cluster().DaemonIsUp()) << "model " << i;
    }
    EXPECT_GT(answered, models / 20);
    EXPECT_GT(refused, models / 20);
  }
};

TEST_F(DamagedModelsTest, FlippedBytes) { Run(30, 1, FlipBytes); }
TEST_F(DamagedModelsTest, MutatedFields) { Run(30, 2, MutateFields); }

// `tools/test --full`.
TEST_F(DamagedModelsTest, DISABLED_SixHundredWithFlippedBytes) {
  Run(600, 3, FlipBytes);
}
TEST_F(DamagedModelsTest, DISABLED_SixHundredWithMutatedFields) {
  Run(600, 4, MutateFields);
}

}  // namespace
}  // namespace edgekiln::tests
