// What a job finds in the cache after a change of one chip's file or of one
// engine, beside other chips: the real stages, in one process. A change of
// sources is played by other versions; that these come from the sources is
// shown by tools/stage_versions_test.py.
//
// The second engine exists here only, and takes no op: its rows stand beside
// the DLA's in the table of versions, and chips that have it say so when they
// are resolved.

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
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/compile_job.h"
#include "server/daemon/stages/stage_group.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/executor.h"
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
using testing::Pair;

constexpr auto kHit = v1::Report::Stage::HIT;
constexpr auto kMiss = v1::Report::Stage::MISS;

constexpr char kShipped[] = "engine/dla";
constexpr char kTrivial[] = "engine/trivial";

// Runs leases at once, in the caller's thread.
class InProcess final : public server::LeaseSource {
 public:
  // Chips of these names have the trivial engine.
  InProcess(cache::BlobStore& blobs, std::set<std::string> with_trivial)
      : blobs_(blobs), with_trivial_(std::move(with_trivial)) {}

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
    server::StageOutput& output = *ran;
    if (with_trivial_.count(output.summary.target().name()) > 0) {
      output.summary.mutable_target()->add_parts(kTrivial);
    }
    *result.mutable_summary() = std::move(output.summary);
    for (const auto& [role, blob] : output.blobs) {
      const Digest digest = DigestOf(blob);
      EK_RETURN_IF_ERROR(blobs_.Put(digest, blob));
      v1::BlobRef& stored = *result.add_outputs();
      stored.set_role(role);
      *stored.mutable_digest() = ToProto(digest);
    }
    return result;
  }

  cache::BlobStore& blobs_;
  const std::set<std::string> with_trivial_;
};

// Of this build, and of the trivial engine, which the same stages link.
StageVersions Sources() {
  std::vector<StageVersions::Entry> entries;
  const StageVersions versions = StageVersions::OfThisBuild();
  for (const StageVersions::Entry& entry : versions.entries()) {
    entries.push_back(entry);
    if (entry.part == kShipped) entries.push_back({entry.stage, kTrivial, "1"});
  }
  return StageVersions(std::move(entries));
}

// As if the sources of this part had changed, in all stages or in one.
StageVersions WithChanged(const std::string& part,
                          const std::string& stage = "") {
  std::vector<StageVersions::Entry> entries = Sources().entries();
  bool found = false;
  for (StageVersions::Entry& entry : entries) {
    if (entry.part != part) continue;
    if (!stage.empty() && entry.stage != stage) continue;
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

using Names = std::vector<std::string>;
using Stages = std::map<std::string, v1::Report::Stage::Cache>;

// In order of their names.
Names StagesThat(v1::Report::Stage::Cache cache, const Stages& stages) {
  Names names;
  for (const auto& [name, is] : stages) {
    if (is == cache) names.push_back(name);
  }
  return names;
}

// A profile of a float model: the stages that know no chip, or no more of it
// than which ops it takes, and those that know the machine.
const Names kOfTheModel = {
    "calibrate",      "import", "interpret[0]", "partition",
    "quantize",       "set_io", "simplify",     "synthesize_calibration",
    "synthesize_data"};
const Names kOfTheMachine = {"check_fit",      "count_cycles", "emit",
                             "resolve_target", "simulate[0]",  "tile"};

// The targets of the tests' job, in this order.
enum Target { kPreset, kExtending, kBoth, kTrivialOnly, kHostOnly, kTargets };

class StageReuseTest : public testing::Test {
 protected:
  void SetUp() override {
    model_ = ReadWholeFile(SourcePath("docs/example/digits.onnx"));
    const std::string host_only =
        ReadWholeFile(SourcePath("tests/pipeline/chips/host_only.txtpb"));
    texts_.resize(kTargets);
    texts_[kPreset] = TextOf("dla-64-o-512k");
    texts_[kExtending] = "extends: \"dla\" set { name: \"pes\" value: 96 }";
    texts_[kBoth] = "extends: \"dla\" name: \"both\"";
    texts_[kTrivialOnly] =
        absl::StrReplaceAll(host_only, {{"\"host-only\"", "\"trivial\""}});
    texts_[kHostOnly] = host_only;
    blobs_ = *cache::OpenDiskBlobStore(files_, "/blobs");
    results_ = *cache::OpenDiskStageResultStore(files_, "/results", *blobs_);
    leases_ = std::make_unique<InProcess>(
        *blobs_, std::set<std::string>{"both", "trivial"});
    first_ = Run(Sources());
  }

  v1::Digest Stored(const std::string& text) {
    const Digest digest = DigestOf(text);
    EXPECT_TRUE(blobs_->Put(digest, text).ok());
    return ToProto(digest);
  }

  // How the stages of each target were come by.
  std::vector<Stages> Run(StageVersions versions) {
    v1::CreateJobRequest request;
    request.add_goals(v1::PROFILE);
    *request.mutable_model() = Stored(model_);
    for (const std::string& text : texts_) {
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
    EXPECT_EQ(stages.size(), texts_.size());
    stages.resize(kTargets);
    return stages;
  }

  // For these targets everything that knows the machine, and nothing else.
  static void ExpectRunsAgainFor(const std::set<Target>& targets,
                                 const std::vector<Stages>& stages) {
    for (int target = 0; target < kTargets; ++target) {
      SCOPED_TRACE(target);
      if (targets.count(static_cast<Target>(target)) > 0) {
        EXPECT_EQ(StagesThat(kMiss, stages[target]), kOfTheMachine);
        EXPECT_EQ(StagesThat(kHit, stages[target]), kOfTheModel);
      } else {
        EXPECT_THAT(stages[target], Each(Pair(testing::_, kHit)));
      }
    }
  }

  server::StageCall ResolveExtending() {
    server::StageCall call;
    call.name = "resolve_target";
    call.options.mutable_resolve_target();
    v1::BlobRef& input = call.inputs.emplace_back();
    input.set_role("target");
    *input.mutable_digest() = Stored(texts_[kExtending]);
    return call;
  }

  std::string model_;
  std::vector<std::string> texts_;
  std::vector<Stages> first_;
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

// Also the two chips of which all but their engines is equal.
TEST_F(StageReuseTest, EveryChipHasResultsOfItsOwn) {
  for (const Stages& stages : first_) {
    for (const std::string& stage : kOfTheMachine) {
      EXPECT_EQ(stages.at(stage), kMiss) << stage;
    }
  }
}

TEST_F(StageReuseTest, NothingRunsTwice) {
  for (const Stages& stages : Run(Sources())) {
    EXPECT_THAT(stages, Each(Pair(testing::_, kHit)));
  }
}

// What is handed out under the name of the preset has the new number in it.
TEST_F(StageReuseTest, ANumberOfAChipsFileRunsWhatFollowsForThatChip) {
  const std::string changed = absl::StrReplaceAll(
      texts_[kPreset],
      {{"cycles_expr: \"60 * elements", "cycles_expr: \"61 * elements"}});
  ASSERT_NE(changed, texts_[kPreset]);
  texts_[kPreset] = changed;
  const std::vector<Stages> stages = Run(WithChanged("chip/dla"));
  EXPECT_EQ(StagesThat(kMiss, stages[kPreset]), kOfTheMachine);
  EXPECT_EQ(StagesThat(kHit, stages[kPreset]), kOfTheModel);
  // Read anew with the file that they extend, which this program has not
  // changed: the same machines.
  for (const Target target : {kExtending, kBoth}) {
    EXPECT_EQ(StagesThat(kMiss, stages[target]), Names{"resolve_target"});
  }
  for (const Target target : {kTrivialOnly, kHostOnly}) {
    EXPECT_THAT(stages[target], Each(Pair(testing::_, kHit)));
  }
}

TEST_F(StageReuseTest, ALineOfAnEngineRunsItsStagesForItsChips) {
  ExpectRunsAgainFor({kPreset, kExtending, kBoth}, Run(WithChanged(kShipped)));
}

TEST_F(StageReuseTest, ALineOfAnotherEngineRunsItsStagesForItsChips) {
  ExpectRunsAgainFor({kBoth, kTrivialOnly}, Run(WithChanged(kTrivial)));
}

// Nothing follows from a result that stays the same.
TEST_F(StageReuseTest, ALineOfAnEngineThatOneStageLinksRunsThatStage) {
  const std::vector<Stages> stages = Run(WithChanged(kTrivial, "tile"));
  for (int target = 0; target < kTargets; ++target) {
    EXPECT_EQ(
        StagesThat(kMiss, stages[target]),
        target == kBoth || target == kTrivialOnly ? Names{"tile"} : Names());
  }
}

TEST_F(StageReuseTest, ALineThatEveryTargetLinksRunsForAll) {
  for (const Stages& stages : Run(WithChanged("", "tile"))) {
    EXPECT_EQ(StagesThat(kMiss, stages), Names{"tile"});
  }
}

// What quantizing is handed of a target is what numerics need: nothing for most
// chips, whatever else they are.
TEST_F(StageReuseTest, QuantizingIsSharedWhereNumericsNeedTheSame) {
  texts_ = {TextOf("toy-array"), TextOf("toy-array-tensor")};
  const std::vector<Stages> stages = Run(Sources());
  for (const char* stage : {"synthesize_calibration", "calibrate", "quantize",
                            "set_io", "synthesize_data"}) {
    EXPECT_EQ(stages[0].at(stage), kHit) << stage;
  }
  EXPECT_EQ(stages[0].at("partition"), kMiss);
  // Ranges of tensors do not depend on it.
  EXPECT_EQ(stages[1].at("calibrate"), kHit);
  for (const char* stage : {"quantize", "set_io", "partition"}) {
    EXPECT_EQ(stages[1].at(stage), kMiss) << stage;
  }
}

// A chip's own refusal is forgotten with the file that it came from.
TEST_F(StageReuseTest, AnErrorHoldsWhileItsSourcesDo) {
  texts_[kExtending] = "extends: \"dla\" set { name: \"pes\" value: 5000 }";
  const auto resolve = [&](StageVersions versions) {
    server::StageRunner runner(*results_, *blobs_, *leases_, *log_,
                               std::move(versions));
    const auto ticket = runner.Start(ResolveExtending(), {});
    EXPECT_FALSE(ticket->Wait().ok());
    return ticket->Record().cache();
  };
  EXPECT_EQ(resolve(Sources()), kMiss);
  EXPECT_EQ(resolve(Sources()), kHit);
  EXPECT_EQ(resolve(WithChanged("chip/dla")), kMiss);
}

// Jobs that need not be run ask for results at hand.
TEST_F(StageReuseTest, WhatIsAtHandHoldsWhileItsSourcesDo) {
  const auto is_at_hand = [&](StageVersions versions) {
    server::StageRunner runner(*results_, *blobs_, *leases_, *log_,
                               std::move(versions));
    return runner.Recall(ResolveExtending()) != nullptr;
  };
  EXPECT_TRUE(is_at_hand(Sources()));
  EXPECT_TRUE(is_at_hand(WithChanged("chip/unit")));
  EXPECT_FALSE(is_at_hand(WithChanged("chip/dla")));
}

}  // namespace
}  // namespace edgekiln::tests
