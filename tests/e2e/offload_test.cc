// --offload with the real stages: who runs the layers, what that is predicted
// to cost, and which stages decide it.

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"

namespace edgekiln::tests {
namespace {

class OffloadTest : public ClusterTest {
 protected:
  static v1::Report Profile(const std::string& offload,
                            const std::string& target = "dla-64-o-512k") {
    return ReportOf(
        cluster().Cli({"profile", SourcePath("docs/example/digits.onnx"),
                       "--json", "--target", target, "--offload", offload}));
  }

  static bool Ran(const v1::Report& report, const std::string& stage) {
    return std::any_of(
        report.stages().begin(), report.stages().end(),
        [&](const v1::Report::Stage& s) { return s.name() == stage; });
  }
};

TEST_F(OffloadTest, DecidesWhoRunsTheLayers) {
  const v1::Report all = Profile("all");
  EXPECT_EQ(all.offload(), "all");
  EXPECT_FALSE(Ran(all, "place"));

  const v1::Report none = Profile("none");
  EXPECT_EQ(none.offload(), "none");
  EXPECT_FALSE(Ran(none, "place"));
  EXPECT_EQ(none.totals().host_cycles(), none.totals().cycles());
  ASSERT_GT(none.layers_size(), 0);
  const auto host = std::find_if(
      none.engines().begin(), none.engines().end(),
      [](const v1::Report::Engine& engine) { return engine.host(); });
  ASSERT_NE(host, none.engines().end());
  for (const v1::Report::Layer& layer : none.layers()) {
    EXPECT_EQ(layer.engine(), host->name()) << layer.id();
  }
  EXPECT_GT(none.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(none.bit_exact().mismatches(), 0);

  const v1::Report paying = Profile("paying");
  EXPECT_EQ(paying.offload(), "paying");
  EXPECT_TRUE(Ran(paying, "place"));
  EXPECT_LE(paying.totals().cycles(), all.totals().cycles());
  EXPECT_LE(paying.totals().cycles(), none.totals().cycles());
  EXPECT_LT(paying.totals().host_cycles(), none.totals().host_cycles());
  EXPECT_EQ(paying.bit_exact().mismatches(), 0);
}

// Of an engine that gives int32 sums, these are compared, too: the reference
// splits the same layers, of which each keeps its name and its work.
TEST_F(OffloadTest, SumsAndTheirRequantizeAreTwoLayers) {
  const v1::Report whole = Profile("all", "toy-array");
  const v1::Report split = Profile("all", "toy-array-int32");
  int requantized = 0;
  for (int i = 0; i < split.layers_size(); ++i) {
    const v1::Report::Layer& layer = split.layers(i);
    if (layer.op() != "requantize") continue;
    ++requantized;
    EXPECT_EQ(layer.macs(), 0);
    ASSERT_GT(i, 0);
    const v1::Report::Layer& sums = split.layers(i - 1);
    EXPECT_EQ(layer.id(), sums.id() + ".requantize");
    EXPECT_EQ(layer.name(), sums.name());
    EXPECT_EQ(sums.engine(), "array");
    EXPECT_NE(layer.engine(), "array");
    EXPECT_GT(layer.cycles(), 0);
  }
  EXPECT_GT(requantized, 1);
  EXPECT_EQ(split.layers_size(), whole.layers_size() + requantized);
  EXPECT_EQ(split.totals().macs(), whole.totals().macs());
  EXPECT_GT(split.bit_exact().outputs_compared(),
            whole.bit_exact().outputs_compared());
  EXPECT_EQ(split.bit_exact().mismatches(), 0)
      << split.bit_exact().first_mismatch();
}

}  // namespace
}  // namespace edgekiln::tests
