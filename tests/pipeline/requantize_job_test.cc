// Jobs of a published network that came quantized, on chips that take it only
// once it is quantized anew, and on one that takes it as it came: the real
// stages, in one process.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/compile_job.h"
#include "server/daemon/stages/stage_group.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/executor.h"
#include "server/task.h"
#include "server/worker/stage_table.h"
#include "target/builtin.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kModel[] = "models/resnet8_int8.tflite";
constexpr char kData[] = "data/cifar10_ic_100.npz";
constexpr char kCalibration[] = "data/cifar10_calib_487.npz";

// Runs leases at once, in the caller's thread.
class InProcess final : public server::LeaseSource {
 public:
  explicit InProcess(cache::BlobStore& blobs) : blobs_(blobs) {}

  uint64_t Submit(server::LeaseRequest request,
                  server::LeaseCallbacks callbacks) override {
    absl::StatusOr<v1::StageResult> result = Run(request);
    if (result.ok()) {
      server::LeaseOutcome outcome;
      outcome.result = *std::move(result);
      callbacks.done(std::move(outcome));
    } else {
      callbacks.done(result.status());
    }
    return 1;
  }
  void Cancel(uint64_t) override {}

 private:
  absl::StatusOr<v1::StageResult> Run(const server::LeaseRequest& request) {
    std::vector<std::string> bytes;
    for (const v1::BlobRef& input : request.inputs) {
      EK_ASSIGN_OR_RETURN(const Digest digest, FromProto(input.digest()));
      EK_ASSIGN_OR_RETURN(bytes.emplace_back(), blobs_.Get(digest));
    }
    server::StageInputs inputs;
    for (size_t i = 0; i < bytes.size(); ++i) {
      inputs.Add(request.inputs[i].role(), bytes[i]);
    }
    absl::StatusOr<server::StageOutput> ran =
        server::RunStage(request.options, inputs, [](const auto&) {});
    v1::StageResult result;
    if (!ran.ok()) {
      *result.mutable_error() = ErrorToProto(ran.status());
      return result;
    }
    *result.mutable_summary() = std::move(ran->summary);
    for (const std::string& warning : ran->warnings) {
      result.add_warnings(warning);
    }
    for (const auto& [role, blob] : ran->blobs) {
      const Digest digest = DigestOf(blob);
      EK_RETURN_IF_ERROR(blobs_.Put(digest, blob));
      v1::BlobRef& stored = *result.add_outputs();
      stored.set_role(role);
      *stored.mutable_digest() = ToProto(digest);
    }
    return result;
  }

  cache::BlobStore& blobs_;
};

class RequantizeJobTest : public testing::Test {
 protected:
  RequantizeJobTest() {
    blobs_ = *cache::OpenDiskBlobStore(files_, "/blobs");
    results_ = *cache::OpenDiskStageResultStore(files_, "/results", *blobs_);
    leases_ = std::make_unique<InProcess>(*blobs_);
    runner_ = std::make_unique<server::StageRunner>(*results_, *blobs_,
                                                    *leases_, *log_);
  }

  v1::Digest Stored(const std::string& text) {
    const Digest digest = DigestOf(text);
    EXPECT_TRUE(blobs_->Put(digest, text).ok());
    return ToProto(digest);
  }

  v1::CreateJobRequest Request(v1::JobGoal goal,
                               const std::vector<std::string>& targets) {
    v1::CreateJobRequest request;
    request.add_goals(goal);
    request.set_model_name("resnet8");
    *request.mutable_model() = Stored(ReadWholeFile(SharedPath(kModel)));
    for (const std::string& name : targets) {
      for (const target::BuiltinTarget& target : target::BuiltinTargets()) {
        if (target.name != name) continue;
        v1::TargetRef& ref = *request.add_targets();
        ref.set_name(name);
        *ref.mutable_digest() = Stored(target.text);
      }
    }
    return request;
  }

  server::JobResult Run(const v1::CreateJobRequest& request) {
    server::StageGroup group(*runner_, {});
    server::JobResult result = server::RunToEnd(
        *executor_, server::RunCompileJob("job", request, group, *executor_));
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.reports.size(),
              std::max<size_t>(1, request.targets_size()));
    result.reports.resize(std::max<size_t>(1, request.targets_size()));
    return result;
  }

  cache::CrashingFileSystem files_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<InProcess> leases_;
  std::unique_ptr<server::StageRunner> runner_;
  const std::unique_ptr<server::Executor> executor_ = *server::Executor::New(2);
};

bool Warns(const v1::Report& report, const std::string& text) {
  return std::any_of(report.warnings().begin(), report.warnings().end(),
                     [&](const std::string& warning) {
                       return absl::StrContains(warning, text);
                     });
}

int64_t MacsOnEngines(const v1::Report& report) {
  int64_t macs = 0;
  for (const v1::Report::Layer& layer : report.layers()) {
    if (layer.engine() != "host") macs += layer.macs();
  }
  return macs;
}

TEST_F(RequantizeJobTest, AValidationComparesWithTheModelAsItCame) {
  for (const char* path : {kModel, kData, kCalibration}) {
    EK_REQUIRE_SHARED(path);
  }
  v1::CreateJobRequest request = Request(v1::VALIDATE, {"toy-shift"});
  *request.mutable_data()->add_files() =
      Stored(ReadWholeFile(SharedPath(kData)));
  *request.mutable_calibration()->add_files() =
      Stored(ReadWholeFile(SharedPath(kCalibration)));
  const v1::Report report = Run(request).reports[0];
  EXPECT_GT(MacsOnEngines(report), 0.9 * report.totals().macs());
  EXPECT_GT(report.bit_exact().outputs_compared(), 0);
  EXPECT_EQ(report.bit_exact().mismatches(), 0);
  EXPECT_EQ(report.calibration(), "DATA");
  EXPECT_TRUE(absl::StrContains(report.quantization(), "power-of-two scales"));
  const v1::Report::Accuracy& accuracy = report.accuracy();
  EXPECT_EQ(accuracy.reference(), v1::Report::Accuracy::SOURCE_INT8);
  EXPECT_DOUBLE_EQ(accuracy.reference_value(), 0.83);
  EXPECT_GE(accuracy.value(), 0.8);
  EXPECT_EQ(accuracy.disagreement().samples(), 100);
  EXPECT_TRUE(Warns(report, "was quantized anew"));
  EXPECT_TRUE(Warns(report, "calibration samples the first output keeps"));
}

TEST_F(RequantizeJobTest, EachChipGetsWhatItTakes) {
  EK_REQUIRE_SHARED(kModel);
  const auto reports =
      Run(Request(v1::PROFILE, {"toy-shift", "toy-int4", "dla-64-o-512k"}))
          .reports;
  for (const v1::Report& report : reports) {
    EXPECT_GT(MacsOnEngines(report), 0.9 * report.totals().macs())
        << report.target_name();
    EXPECT_EQ(report.bit_exact().mismatches(), 0);
    EXPECT_EQ(report.calibration(), "");
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Warns(reports[i], "was quantized anew"));
    EXPECT_TRUE(Warns(reports[i], "16 random inputs the first output keeps"));
  }
  EXPECT_EQ(reports[2].warnings_size(), 0);
  EXPECT_EQ(reports[2].quantization(), "");
}

TEST_F(RequantizeJobTest, TheFileDecides) {
  EK_REQUIRE_SHARED(kModel);
  v1::CreateJobRequest request = Request(v1::COMPILE, {"toy-shift"});
  request.mutable_options()->mutable_quantization()->set_requantize(v1::OFF);
  const v1::Report kept = Run(request).reports[0];
  EXPECT_EQ(MacsOnEngines(kept), 0);
  EXPECT_EQ(kept.warnings_size(), 0);
  request = Request(v1::QUANTIZE, {});
  request.mutable_options()->mutable_quantization()->set_requantize(v1::ON);
  const v1::Report forced = Run(request).reports[0];
  EXPECT_GT(forced.quantized().layers_size(), 5);
  EXPECT_NE(forced.quantized().requantized(), "");
}

// A document holds what was made, and is compiled without the model.
TEST_F(RequantizeJobTest, ADocumentKeepsWhatItHolds) {
  EK_REQUIRE_SHARED(kModel);
  const server::JobResult made = Run(Request(v1::COMPILE, {"toy-shift"}));
  v1::CreateJobRequest request = Request(v1::COMPILE, {"toy-shift"});
  request.clear_model();
  for (const v1::Artifact& file : made.artifacts) {
    if (file.path() == "network.ekn") {
      *request.mutable_document() = file.digest();
    }
  }
  ASSERT_TRUE(request.has_document());
  const v1::Report again = Run(request).reports[0];
  EXPECT_EQ(again.program().hash(), made.reports[0].program().hash());
  EXPECT_EQ(again.calibration(), "");
  EXPECT_EQ(again.quantization(), made.reports[0].quantization());
}

}  // namespace
}  // namespace edgekiln::tests
