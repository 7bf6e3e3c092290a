// Point 3: threads. Jobs with very many targets, and thousands of watchers of
// one job.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rpc_status.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"
#include "tests/chaos/hostile_models.h"

namespace edgekiln::chaos {
namespace {

constexpr int kTargets = 256;
constexpr int kJobs = 4;
constexpr int kWatchers = 2000;
constexpr int kWatchersPerChannel = 100;  // What gRPC servers often allow.
// Threads are the aim: what the targets cost to compile is of no interest.
constexpr absl::Duration kRun = absl::Milliseconds(700);
constexpr absl::Duration kWatch = absl::Seconds(3);
constexpr absl::Duration kBetween = absl::Seconds(3);

// Reads events until its call ends, then deletes itself.
class Watcher final : public grpc::ClientReadReactor<v1::JobEvent> {
 public:
  // `stub` and its channel must outlive the call.
  Watcher(Attack& attack, v1::Jobs::Stub& stub, const std::string& job)
      : attack_(attack) {
    request_.set_id(job);
    SetTimeout(context_, kWatch);
    stub.async()->WatchJob(&context_, &request_, this);
    StartRead(&event_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    answered_ = answered_ || ok;
    if (ok) StartRead(&event_);
  }
  void OnDone(const grpc::Status& status) override {
    // To be ended by its own deadline is what a watcher is for.
    attack_.Count(answered_ ? absl::OkStatus() : client::FromGrpc(status));
    delete this;
  }

 private:
  Attack& attack_;
  grpc::ClientContext context_;
  v1::WatchJobRequest request_;
  v1::JobEvent event_;
  bool answered_ = false;
};

// Over a connection each.
using Stubs = std::vector<std::unique_ptr<v1::Jobs::Stub>>;

v1::CreateJobRequest ManyTargets(const Digest& model, uint64_t seed) {
  v1::CreateJobRequest request;
  request.set_model_name("many targets");
  request.mutable_model()->set_hash(model.hash);
  request.mutable_model()->set_size_bytes(model.size_bytes);
  request.add_goals(v1::PROFILE);
  request.mutable_options()->set_timing_only(true);
  request.mutable_options()->set_job_class(v1::BATCH);
  request.mutable_options()->set_seed(seed);
  for (int i = 0; i < kTargets; ++i) {
    const Digest chip = DigestOf(ChipText(i));
    v1::TargetRef& target = *request.add_targets();
    target.set_name(absl::StrCat("chip ", i));
    target.mutable_digest()->set_hash(chip.hash);
    target.mutable_digest()->set_size_bytes(chip.size_bytes);
  }
  return request;
}

// `job` is of a daemon that may have forgotten it: a watcher is one all the
// same.
void Watch(Attack& attack, const Stubs& stubs, const std::string& job) {
  for (const auto& stub : stubs) {
    for (int i = 0; i < kWatchersPerChannel; ++i) {
      new Watcher(attack, *stub, job);
    }
  }
}

}  // namespace

void AttackTargets(Attack& attack) {
  std::vector<std::string> chips;
  for (int i = 0; i < kTargets; ++i) chips.push_back(ChipText(i));
  Stubs stubs;
  for (int i = 0; i < kWatchers / kWatchersPerChannel; ++i) {
    stubs.push_back(v1::Jobs::NewStub(OwnChannel(attack.target().address)));
  }
  while (true) {
    const auto channel = OwnChannel(attack.target().address);
    attack.Count(PutBlobs(channel, chips));
    const uint64_t seed = attack.rng().Next();
    const auto model = PutBlob(channel, ChainModel(8, seed));
    attack.Count(model.status());
    std::vector<std::string> jobs;
    for (int i = 0; model.ok() && i < kJobs; ++i) {
      const auto job = CreateJob(
          channel, ManyTargets(*model, seed + static_cast<uint64_t>(i)));
      attack.Count(job.status());
      if (job.ok()) jobs.push_back(job->id());
    }
    if (!jobs.empty()) Watch(attack, stubs, jobs.front());
    Attack::Pause(kRun);
    for (const std::string& job : jobs) attack.Count(CancelJob(channel, job));
    Attack::Pause(kBetween);
  }
}

}  // namespace edgekiln::chaos
