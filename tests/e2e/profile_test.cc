// `profile`: every layer output of the simulated chip equals the reference, on
// presets and on a chip of one's own; what is not computed twice.

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/e2e/networks.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr int kSamples = 16;  // What `profile` uses without --data.

using ProfileCase = std::tuple<Network, const char*>;

class ProfileTest : public ClusterTest,
                    public testing::WithParamInterface<ProfileCase> {
 protected:
  static std::string Target() {
    const std::string target = std::get<1>(GetParam());
    if (target != "own") return target;
    return sandbox().Write("own.txtpb", kOwnChip);
  }
};

int64_t Elements(const v1::ModelDescription::Layer& layer) {
  int64_t elements = 1;
  for (const int64_t extent : layer.output_shape()) elements *= extent;
  return elements;
}

TEST_P(ProfileTest, EveryLayerOutputIsTheReferences) {
  const Network& network = std::get<0>(GetParam());
  EK_REQUIRE_SHARED(network.model());
  const std::string model = SharedPath(network.model());
  const v1::Report report = ReportOf(cluster().Cli(
      {"profile", model, "--target", Target(), "--json", "--quiet"}));
  ExpectConsistent(report);
  EXPECT_EQ(report.bit_exact().mismatches(), 0)
      << report.bit_exact().first_mismatch();
  EXPECT_FALSE(report.has_accuracy());

  std::vector<std::string> host_ops;
  for (const v1::Report::Layer& layer : report.layers()) {
    if (layer.engine() == "host") host_ops.push_back(layer.op());
  }
  EXPECT_EQ(host_ops, network.host_ops);

  // Cycles do not need values.
  const v1::Report timing =
      ReportOf(cluster().Cli({"profile", model, "--target", Target(), "--json",
                              "--quiet", "--timing-only"}));
  EXPECT_EQ(timing.totals().DebugString(), report.totals().DebugString());
  ASSERT_EQ(timing.layers_size(), report.layers_size());
  for (int i = 0; i < report.layers_size(); ++i) {
    EXPECT_EQ(timing.layers(i).DebugString(), report.layers(i).DebugString());
  }
  EXPECT_FALSE(timing.has_bit_exact());

  // No value of any layer is left out of the comparison.
  const v1::ModelDescription description =
      DescriptionOf(cluster().Cli({"inspect", model, "--json"}));
  int64_t values = 0;
  for (const auto& layer : description.layers()) values += Elements(layer);
  EXPECT_EQ(report.layers_size(), description.layers_size());
  EXPECT_GE(report.bit_exact().outputs_compared(), kSamples * values);
  EXPECT_EQ(report.totals().macs(), description.macs());
}

INSTANTIATE_TEST_SUITE_P(
    All, ProfileTest,
    testing::Combine(testing::ValuesIn(Int8Networks()),
                     testing::Values("dla-64-o-512k", "dla-128-i-1m", "own")),
    [](const auto& info) {
      std::string name = std::string(std::get<0>(info.param).name) + "_on_" +
                         std::get<1>(info.param);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

class StageCacheTest : public ClusterTest {
 protected:
  static v1::Report Profile(const std::string& target) {
    return ReportOf(
        cluster().Cli({"profile", SharedPath("models/dscnn_int8.tflite"),
                       "--target", target, "--json", "--quiet"}));
  }
  static std::string Chip(int sram_bytes) {
    return sandbox().Write(
        "chip-" + std::to_string(sram_bytes) + ".txtpb",
        "extends: \"dla\"\nset { name: \"sram_bytes\" value: " +
            std::to_string(sram_bytes) + " }\n");
  }
};

TEST_F(StageCacheTest, TheSameRequestExecutesNothing) {
  EK_REQUIRE_SHARED("models/dscnn_int8.tflite");
  const v1::Report first = Profile(Chip(300'000));
  EXPECT_FALSE(StagesWith(first, v1::Report::Stage::MISS).empty());
  const v1::Report second = Profile(Chip(300'000));
  EXPECT_TRUE(StagesWith(second, v1::Report::Stage::MISS).empty());
  EXPECT_TRUE(StagesWith(second, v1::Report::Stage::MERGED).empty());
  EXPECT_EQ(second.stages_size(), first.stages_size());
  EXPECT_EQ(second.program().hash(), first.program().hash());
  EXPECT_EQ(second.totals().cycles(), first.totals().cycles());
  EXPECT_NE(second.job_id(), first.job_id());
}

TEST_F(StageCacheTest, AnotherSramRunsOnlyWhatFollowsTiling) {
  EK_REQUIRE_SHARED("models/dscnn_int8.tflite");
  Profile(Chip(310'000));
  const v1::Report other = Profile(Chip(90'000));
  // The new descriptor itself has to be read.
  EXPECT_EQ(StagesWith(other, v1::Report::Stage::MISS),
            (std::vector<std::string>{"check_fit", "count_cycles", "emit",
                                      "resolve_target", "simulate", "tile"}));
  EXPECT_EQ(
      StagesWith(other, v1::Report::Stage::HIT),
      (std::vector<std::string>{"import", "partition", "set_io", "simplify",
                                "synthesize_data", "unquantize"}));
  EXPECT_LE(other.memory().sram_peak_bytes(), 90'000);
}

class HostShareTest : public ClusterTest {};

// Asymmetric weights: what the target lacks is the first thing one reads, if
// the model is to keep its integers.
TEST_F(HostShareTest, AUint8NetworkSaysWhatTheTargetLacks) {
  constexpr char kModel[] = "models/mobilenet_v1_0.25_128_uint8.tflite";
  EK_REQUIRE_SHARED(kModel);
  const std::string model = SharedPath(kModel);
  constexpr char kTarget[] = "toy-array";
  const std::string off = sandbox().Write("off.txtpb", "requantize: OFF\n");
  const v1::Report report =
      ReportOf(cluster().Cli({"profile", model, "--target", kTarget,
                              "--quantization", off, "--json", "--quiet"}));
  ExpectConsistent(report);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  int convolutions = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    if (layer.engine() != "host" || layer.macs() == 0) continue;
    EXPECT_EQ(layer.reason(), "array needs symmetric weights") << layer.id();
    ++convolutions;
  }
  EXPECT_EQ(convolutions, 28);
  const Outcome screen = cluster().Cli(
      {"profile", model, "--target", kTarget, "--quantization", off});
  EXPECT_TRUE(absl::StartsWith(
      screen.out,
      "toy-array runs less than 1 % of this network's MACs; the host does "
      "the rest: array needs symmetric weights (conv2d, depthwise_conv2d: 28 "
      "layers, "))
      << screen;
  // Otherwise it is quantized anew, for this reason.
  const Outcome inspected =
      cluster().Cli({"inspect", model, "--target", kTarget});
  EXPECT_TRUE(absl::StrContains(
      inspected.out,
      "quantized anew for this target (array needs symmetric weights)"))
      << inspected;
}

// Where a register holds the zero point of weights, the engine has all of it.
TEST_F(HostShareTest, AUint8NetworkRunsWhereWeightsHaveZeroPoints) {
  constexpr char kModel[] = "models/mobilenet_v1_0.25_128_uint8.tflite";
  EK_REQUIRE_SHARED(kModel);
  for (const char* target : {"dla-64-o-512k", "dla-128-i-256m-swdw"}) {
    const v1::Report report =
        ReportOf(cluster().Cli({"profile", SharedPath(kModel), "--target",
                                target, "--json", "--quiet"}));
    ExpectConsistent(report);
    EXPECT_EQ(report.totals().engine_macs(), report.totals().macs()) << target;
    EXPECT_GT(report.bit_exact().outputs_compared(), 0) << target;
    EXPECT_EQ(report.bit_exact().mismatches(), 0) << target;
  }
}

}  // namespace
}  // namespace edgekiln::tests
