// Where a job runs does not show in its report: on a daemon of one's own, on a
// daemon with one worker, on a daemon with four.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

v1::Report OnWorkers(int workers, const std::vector<std::string>& command) {
  const auto cluster = Cluster::Start();
  if (cluster == nullptr) return {};
  for (int i = 0; i < workers; ++i) cluster->AddWorker();
  return ReportOf(cluster->Cli(command));
}

v1::Report OnLocalDaemon(const std::vector<std::string>& command) {
  Sandbox sandbox;
  const std::string ready = sandbox.Path("ready");
  // A child of this test, so that it ends with it.
  const auto daemon = sandbox.StartProgram(
      "edgekilnd", {"--local", "--ready-file", ready}, "local.log");
  if (daemon == nullptr) return {};
  while (!std::filesystem::exists(ready)) {
    if (daemon->WaitFor(absl::Milliseconds(10)).has_value()) {
      ADD_FAILURE() << "edgekilnd --local ended at once";
      return {};
    }
  }
  return ReportOf(sandbox.Cli(command));
}

void ExpectSameEverywhere(const std::vector<std::string>& command) {
  const v1::Report local = OnLocalDaemon(command);
  ExpectConsistent(local);
  EXPECT_GT(local.accuracy().samples(), 0);
  EXPECT_GT(local.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(local.bit_exact().mismatches(), 0);
  {
    SCOPED_TRACE("1 worker");
    ExpectSame(local, OnWorkers(1, command));
  }
  SCOPED_TRACE("4 workers");
  ExpectSame(local, OnWorkers(4, command));
}

// Calibrated and quantized on the way.
TEST(SameReportTest, OfAFloatNetwork) {
  ExpectSameEverywhere({"validate", SourcePath("docs/example/digits.onnx"),
                        "--target", "dla-64-o-512k", "--calibration",
                        SourcePath("docs/example/digits_calibration.npz"),
                        "--data", SourcePath("docs/example/digits_test.npz"),
                        "--json", "--quiet"});
}

TEST(SameReportTest, OfAQuantizedNetwork) {
  EK_REQUIRE_SHARED("models/dscnn_int8.tflite");
  EK_REQUIRE_SHARED("data/kws_500.npz");
  ExpectSameEverywhere({"validate", SharedPath("models/dscnn_int8.tflite"),
                        "--target", "dla-128-i-1m", "--data",
                        SharedPath("data/kws_500.npz"), "--json", "--quiet"});
}

}  // namespace
}  // namespace edgekiln::tests
