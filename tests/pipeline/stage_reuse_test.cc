// What a job finds in the cache after a change of one chip's file or of one
// engine, beside another chip: the real stages, in one process. A change of
// sources is played by other versions; that these come from the sources is
// shown by tools/stage_versions_test.py.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "cache/crashing_file_system.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/compile_job.h"
#include "server/daemon/stages/stage_group.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/executor.h"
#include "server/proto_convert.h"
#include "server/stage_versions.h"
#include "server/task.h"
#include "server/worker/stage_table.h"
#include "target/builtin.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using server::StageVersions;
using testing::Each;
using testing::IsSupersetOf;
using testing::Pair;

constexpr auto kHit = v1::Report::Stage::HIT;
constexpr auto kMiss = v1::Report::Stage::MISS;

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
      EK_ASSIGN_OR_RETURN(const Digest digest,
                          server::FromProto(input.digest()));
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
      *result.mutable_error() = server::ErrorToProto(ran.status());
      return result;
    }
    server::StageOutput& output = *ran;
    *result.mutable_summary() = std::move(output.summary);
    for (const auto& [role, blob] : output.blobs) {
      const Digest digest = DigestOf(blob);
      EK_RETURN_IF_ERROR(blobs_.Put(digest, blob));
      v1::BlobRef& stored = *result.add_outputs();
      stored.set_role(role);
      *stored.mutable_digest() = server::ToProto(digest);
    }
    return result;
  }

  cache::BlobStore& blobs_;
};

// As if the sources of this part had changed.
StageVersions WithChanged(const std::string& part) {
  std::vector<StageVersions::Entry> entries =
      StageVersions::OfThisBuild().entries();
  bool found = false;
  for (StageVersions::Entry& entry : entries) {
    if (entry.part != part) continue;
    entry.version += "'";
    found = true;
  }
  EXPECT_TRUE(found) << part;
  return StageVersions(std::move(entries));
}

std::string TextOf(const std::string& builtin) {
  for (const target::BuiltinTarget& target : target::BuiltinTargets()) {
    if (target.name == builtin) return target.text;
  }
  ADD_FAILURE() << builtin;
  return "";
}

using Stages = std::map<std::string, v1::Report::Stage::Cache>;

class StageReuseTest : public testing::Test {
 protected:
  void SetUp() override {
    EK_REQUIRE_SHARED("models/ad_int8.tflite");
    model_ = ReadWholeFile(SharedPath("models/ad_int8.tflite"));
    host_only_ =
        ReadWholeFile(SourcePath("tests/pipeline/chips/host_only.txtpb"));
    preset_ = TextOf("dla-64-o-512k");
    extending_ = "extends: \"dla\" set { name: \"pes\" value: 96 }";
    blobs_ = *cache::OpenDiskBlobStore(files_, "/blobs");
    results_ = *cache::OpenDiskStageResultStore(files_, "/results", *blobs_);
    leases_ = std::make_unique<InProcess>(*blobs_);
    for (const Stages& stages : Run(StageVersions::OfThisBuild())) {
      EXPECT_THAT(stages, testing::Contains(Pair("simulate[0]", kMiss)));
    }
  }

  v1::Digest Stored(const std::string& text) {
    const Digest digest = DigestOf(text);
    EXPECT_TRUE(blobs_->Put(digest, text).ok());
    return server::ToProto(digest);
  }

  // How the stages of each target were come by: of the preset, of the file that
  // extends it, of the other chip.
  std::vector<Stages> Run(StageVersions versions) {
    v1::CreateJobRequest request;
    request.add_goals(v1::PROFILE);
    *request.mutable_model() = Stored(model_);
    for (const std::string& text : {preset_, extending_, host_only_}) {
      *request.add_targets()->mutable_digest() = Stored(text);
    }
    server::StageRunner runner(*results_, *blobs_, *leases_, *log_,
                               std::move(versions));
    server::StageGroup group(runner, {});
    const server::JobResult result = server::RunToEnd(
        *executor_, server::RunCompileJob("job", request, group, *executor_));
    EXPECT_TRUE(result.status.ok()) << result.status;
    std::vector<Stages> stages;
    for (const v1::Report& report : result.reports) {
      Stages& of_target = stages.emplace_back();
      for (const v1::Report::Stage& stage : report.stages()) {
        of_target[stage.name()] = stage.cache();
      }
    }
    EXPECT_EQ(stages.size(), 3u);
    stages.resize(3);
    return stages;
  }

  std::string model_;
  std::string preset_;
  std::string extending_;
  std::string host_only_;
  cache::CrashingFileSystem files_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<InProcess> leases_;
  const std::unique_ptr<server::Executor> executor_ = *server::Executor::New(1);
};

// A part that nobody has a version of would never make anything run again.
TEST(StagePartsTest, OfEveryBuiltinAreKnown) {
  std::set<std::string> known;
  const StageVersions versions = StageVersions::OfThisBuild();
  for (const StageVersions::Entry& entry : versions.entries()) {
    known.insert(entry.part);
  }
  v1::StageOptions options;
  options.mutable_resolve_target();
  for (const target::BuiltinTarget& target : target::BuiltinTargets()) {
    const std::string text = absl::StrCat("extends: \"", target.name, "\"");
    server::StageInputs inputs;
    inputs.Add("target", text);
    const auto resolved = server::RunStage(options, inputs, [](const auto&) {});
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    const auto& parts = resolved->summary.target().parts();
    EXPECT_THAT(parts, testing::Contains(absl::StrCat("chip/", target.file)));
    EXPECT_THAT(parts, testing::Contains(testing::StartsWith("engine/")));
    for (const std::string& part : parts) {
      EXPECT_EQ(known.count(part), 1u) << part;
    }
  }
}

TEST_F(StageReuseTest, NothingRunsTwice) {
  for (const Stages& stages : Run(StageVersions::OfThisBuild())) {
    EXPECT_THAT(stages, Each(Pair(testing::_, kHit)));
  }
}

// What is handed out under the name of the preset has the new number in it.
TEST_F(StageReuseTest, ANumberOfAChipsFileRunsWhatFollowsForThatChip) {
  const std::string changed = absl::StrReplaceAll(
      preset_,
      {{"cycles_per_element_expr: \"60\"", "cycles_per_element_expr: \"61\""}});
  ASSERT_NE(changed, preset_);
  preset_ = changed;
  const std::vector<Stages> stages = Run(WithChanged("chip/dla"));
  EXPECT_THAT(stages[0],
              IsSupersetOf({Pair("import", kHit), Pair("simplify", kHit),
                            Pair("set_io", kHit), Pair("resolve_target", kMiss),
                            Pair("partition", kHit), Pair("tile", kMiss),
                            Pair("emit", kMiss)}));
  // Read anew with the file that it extends, which this program has not
  // changed: the same machine.
  EXPECT_EQ(stages[1].at("resolve_target"), kMiss);
  Stages rest = stages[1];
  rest.erase("resolve_target");
  EXPECT_THAT(rest, Each(Pair(testing::_, kHit)));
  EXPECT_THAT(stages[2], Each(Pair(testing::_, kHit)));
}

TEST_F(StageReuseTest, ALineOfAnEngineRunsWhatItDoesForItsChips) {
  const std::vector<Stages> stages = Run(WithChanged("engine/dla"));
  for (const Stages& with_engine : {stages[0], stages[1]}) {
    EXPECT_THAT(with_engine,
                IsSupersetOf(
                    {Pair("import", kHit), Pair("simplify", kHit),
                     Pair("set_io", kHit), Pair("synthesize_data", kHit),
                     Pair("tile", kMiss), Pair("emit", kMiss),
                     Pair("count_cycles", kMiss), Pair("simulate[0]", kMiss)}));
  }
  EXPECT_THAT(stages[2], Each(Pair(testing::_, kHit)));
}

// A chip's own refusal is forgotten with the file that it came from.
TEST_F(StageReuseTest, AnErrorHoldsWhileItsSourcesDo) {
  extending_ = "extends: \"dla\" set { name: \"pes\" value: 5000 }";
  const auto resolve = [&](StageVersions versions) {
    server::StageRunner runner(*results_, *blobs_, *leases_, *log_,
                               std::move(versions));
    server::StageCall call;
    call.name = "resolve_target";
    call.options.mutable_resolve_target();
    v1::BlobRef& input = call.inputs.emplace_back();
    input.set_role("target");
    *input.mutable_digest() = Stored(extending_);
    const auto ticket = runner.Start(call, {});
    EXPECT_FALSE(ticket->Wait().ok());
    return ticket->Record().cache();
  };
  EXPECT_EQ(resolve(StageVersions::OfThisBuild()), kMiss);
  EXPECT_EQ(resolve(StageVersions::OfThisBuild()), kHit);
  EXPECT_EQ(resolve(WithChanged("chip/dla")), kMiss);
}

}  // namespace
}  // namespace edgekiln::tests
