// The reference interpreter through the whole system: `run` without a target
// gives the published values.

#include <string>

#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/e2e/networks.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

class Int8ReferenceTest : public ClusterTest,
                          public testing::WithParamInterface<Network> {};

TEST_P(Int8ReferenceTest, EveryValueIsThePublishedOne) {
  EK_REQUIRE_SHARED(GetParam().model());
  EK_REQUIRE_SHARED(GetParam().golden());
  const auto golden = NpzOf(SharedPath(GetParam().golden()));
  const std::string in = sandbox().Path("in.npz");
  const std::string out = sandbox().Path("out.npz");
  WriteGoldenInputs(golden, in);
  const Outcome run = cluster().Cli(
      {"run", SharedPath(GetParam().model()), "--data", in, "-o", out});
  ASSERT_EQ(run.exit_code, 0) << run;
  ExpectGoldenOutputs(golden, out, 0);
}

// The chip's outputs are the reference's, value for value.
TEST_P(Int8ReferenceTest, TheChipGivesTheSame) {
  EK_REQUIRE_SHARED(GetParam().model());
  EK_REQUIRE_SHARED(GetParam().golden());
  const auto golden = NpzOf(SharedPath(GetParam().golden()));
  const std::string in = sandbox().Path("in.npz");
  const std::string out = sandbox().Path("chip.npz");
  WriteGoldenInputs(golden, in);
  const Outcome run =
      cluster().Cli({"run", SharedPath(GetParam().model()), "--target",
                     "dla-64-o-512k", "--data", in, "-o", out});
  ASSERT_EQ(run.exit_code, 0) << run;
  ExpectGoldenOutputs(golden, out, 0);
}

INSTANTIATE_TEST_SUITE_P(Networks, Int8ReferenceTest,
                         testing::ValuesIn(Int8Networks()),
                         [](const auto& info) { return info.param.name; });

class FloatReferenceTest : public ClusterTest,
                           public testing::WithParamInterface<const char*> {};

TEST_P(FloatReferenceTest, ValuesAreCloseToOnnxRuntime) {
  const std::string model = std::string("models/") + GetParam() + ".onnx";
  const std::string file = std::string("models/golden/") + GetParam() + ".npz";
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED(file);
  const auto golden = NpzOf(SharedPath(file));
  const std::string in = sandbox().Path("in.npz");
  const std::string out = sandbox().Path("out.npz");
  WriteGoldenInputs(golden, in);
  const Outcome run =
      cluster().Cli({"run", SharedPath(model), "--data", in, "-o", out});
  ASSERT_EQ(run.exit_code, 0) << run;
  ExpectGoldenOutputs(golden, out, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Networks, FloatReferenceTest,
                         testing::Values("resnet8_fp32", "dscnn_fp32",
                                         "mnist_cnn_fp32", "lenet_fp32",
                                         "mnist_mlp_fp32"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace edgekiln::tests
