#ifndef EK_SERVER_DAEMON_STAGES_TESTING_STAGE_RUNNER_FIXTURE_H_
#define EK_SERVER_DAEMON_STAGES_TESTING_STAGE_RUNNER_FIXTURE_H_

// A StageRunner whose leases the test ends.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/log.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"
#include "server/daemon/stages/stage_runner.h"
#include "server/daemon/stages/testing/fake_stages.h"

namespace edgekiln::server {

// Leases that the test ends by hand.
class ManualLeases : public LeaseSource {
 public:
  uint64_t Submit(LeaseRequest request, LeaseCallbacks callbacks) override {
    requests.push_back(std::move(request));
    const uint64_t id = requests.size();
    open[id] = std::move(callbacks);
    return id;
  }

  void Cancel(uint64_t lease_id) override {
    ++cancels;
    End(lease_id, absl::CancelledError("cancelled"));
  }

  void Promote(uint64_t lease_id, v1::JobClass job_class) override {
    promoted.emplace_back(lease_id, job_class);
  }

  void End(uint64_t lease_id, absl::StatusOr<LeaseOutcome> outcome) {
    const auto it = open.find(lease_id);
    if (it == open.end()) return;
    const LeaseCallbacks callbacks = std::move(it->second);
    open.erase(it);
    callbacks.done(std::move(outcome));
  }

  std::vector<LeaseRequest> requests;
  std::map<uint64_t, LeaseCallbacks> open;
  std::vector<std::pair<uint64_t, v1::JobClass>> promoted;
  int cancels = 0;
};

class StageRunnerTest : public testing::Test {
 protected:
  StageRunnerTest() {
    blobs_ = *cache::OpenDiskBlobStore(files_, "/s");
    results_ = *cache::OpenDiskStageResultStore(files_, "/r", *blobs_);
    runner_ = std::make_unique<StageRunner>(*results_, *blobs_, leases_, *log_);
  }

  StageCall Tile(const std::string& name = "tile") {
    StageCall call;
    call.name = name;
    call.options.mutable_tile();
    v1::BlobRef& input = call.inputs.emplace_back();
    input.set_role("partition");
    *input.mutable_digest() = PutText(*blobs_, "partition");
    return call;
  }

  LeaseOutcome Success() {
    LeaseOutcome outcome;
    v1::BlobRef& output = *outcome.result.add_outputs();
    output.set_role("tiling");
    *output.mutable_digest() = PutText(*blobs_, "tiling");
    outcome.elapsed = absl::Seconds(2);
    outcome.cpu_seconds = 1.5;
    return outcome;
  }

  cache::CrashingFileSystem files_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::StageResultStore> results_;
  ManualLeases leases_;
  std::unique_ptr<StageRunner> runner_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_TESTING_STAGE_RUNNER_FIXTURE_H_
