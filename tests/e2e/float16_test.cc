// Models in float16 are quantized as their float32 originals are, on every
// path.

#include <string>
#include <vector>

#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/e2e/float16_twin.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kTarget[] = "dla-64-o-512k";
constexpr char kData[] = "data/mnist_2k.npz";

struct TwinCase {
  const char* name;
  HalfForm form;
  const char* input;  // What the network makes of a pixel.
};

class Float16TwinTest : public ClusterTest,
                        public testing::WithParamInterface<TwinCase> {
 protected:
  static v1::Report Validate(const std::string& model) {
    const std::string data = SharedPath(kData);
    return ReportOf(
        cluster().Cli({"validate", model, "--target", kTarget, "--data", data,
                       "--calibration", data, "--limit", "1000", "--input",
                       GetParam().input, "--json", "--quiet"}));
  }
};

TEST_P(Float16TwinTest, CostsAndKnowsWhatTheOriginalDoes) {
  const std::string model = std::string("models/") + GetParam().name;
  EK_REQUIRE_SHARED(model);
  EK_REQUIRE_SHARED(kData);
  const std::string twin = sandbox().Write(
      "twin.onnx",
      Float16Twin(ReadWholeFile(SharedPath(model)), GetParam().form));
  const v1::Report original = Validate(SharedPath(model));
  const v1::Report half = Validate(twin);
  ExpectConsistent(half);
  EXPECT_EQ(half.calibration(), "DATA");
  EXPECT_EQ(half.accuracy().reference(), v1::Report::Accuracy::FLOAT);
  EXPECT_EQ(half.bit_exact().mismatches(), 0);
  EXPECT_GT(half.bit_exact().outputs_compared(), 0);
  EXPECT_LE(static_cast<double>(half.totals().cycles()),
            1.02 * static_cast<double>(original.totals().cycles()));
  EXPECT_EQ(half.totals().engine_macs(), original.totals().engine_macs());
  EXPECT_GT(half.totals().engine_macs(), 0);
  EXPECT_EQ(half.accuracy().samples(), original.accuracy().samples());
  EXPECT_NEAR(half.accuracy().value(), original.accuracy().value(), 0.003);
  EXPECT_NEAR(half.accuracy().reference_value(),
              original.accuracy().reference_value(), 0.003);

  const v1::ModelDescription description = DescriptionOf(
      cluster().Cli({"inspect", twin, "--target", kTarget, "--json"}));
  EXPECT_FALSE(description.quantized());
  EXPECT_EQ(description.problems_size(), 0);
  int on_engine = 0;
  for (const auto& layer : description.layers()) {
    EXPECT_FALSE(layer.engine().empty()) << layer.id();
    on_engine += layer.engine() == "dla";
  }
  EXPECT_GT(on_engine, 0);
  const bool all = GetParam().form == HalfForm::kAll;
  EXPECT_EQ(description.inputs(0).type(), all ? "float16" : "float32");
  EXPECT_EQ(description.outputs(0).type(), all ? "float16" : "float32");

  const v1::Report synthetic =
      ReportOf(cluster().Cli({"profile", twin, "--target", kTarget,
                              "--timing-only", "--json", "--quiet"}));
  EXPECT_EQ(synthetic.calibration(), "SYNTHETIC");
}

// (pixel / 255 - 0.1307) / 0.3081
constexpr char kNormalized[] = "scale=0.0127286,offset=-0.4242129";

INSTANTIATE_TEST_SUITE_P(
    Networks, Float16TwinTest,
    testing::Values(TwinCase{"mnist_cnn_fp32.onnx", HalfForm::kAll, "scale=1"},
                    TwinCase{"lenet_fp32.onnx", HalfForm::kAll, kNormalized},
                    TwinCase{"mnist_mlp_fp32.onnx", HalfForm::kWeights,
                             kNormalized}),
    [](const auto& info) {
      const std::string name = info.param.name;
      return name.substr(0, name.find('.')) +
             (info.param.form == HalfForm::kAll ? "" : "_weights");
    });

}  // namespace
}  // namespace edgekiln::tests
