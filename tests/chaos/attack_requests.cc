// Point 4: memory by requests. Fields as large as a message allows, lists of
// everything by many at once, and queues of jobs.

#include <grpcpp/grpcpp.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "client/rpc_status.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"
#include "tests/chaos/hostile_models.h"

namespace edgekiln::chaos {
namespace {

constexpr size_t kHugeBytes = size_t{15} << 20;
constexpr int kHugeNumbers = 1'900'000;  // Of 8 bytes each.
constexpr int kHugeNames = 100'000;
constexpr absl::Duration kBetweenHuge = absl::Milliseconds(400);
constexpr int kListers = 6;
constexpr int kPages = 4;
constexpr absl::Duration kBetweenLists = absl::Milliseconds(250);
constexpr int kQueued = 60;
constexpr absl::Duration kQueueFor = absl::Seconds(2);
constexpr absl::Duration kBetweenQueues = absl::Seconds(4);

v1::CreateJobRequest Small(const Digest& model, uint64_t seed) {
  v1::CreateJobRequest request;
  request.set_model_name("queued");
  request.mutable_model()->set_hash(model.hash);
  request.mutable_model()->set_size_bytes(model.size_bytes);
  request.add_goals(v1::PROFILE);
  request.mutable_options()->set_job_class(v1::BATCH);
  request.mutable_options()->set_seed(seed);
  const Digest chip = DigestOf(ChipText(0));
  v1::TargetRef& target = *request.add_targets();
  target.set_name("chip");
  target.mutable_digest()->set_hash(chip.hash);
  target.mutable_digest()->set_size_bytes(chip.size_bytes);
  return request;
}

// Field number `which` is huge.
void Swell(v1::CreateJobRequest& request, int which) {
  switch (which % 6) {
    case 0:
      request.set_model_name(std::string(kHugeBytes, 'm'));
      return;
    case 1:
      request.mutable_slot()->set_client(std::string(kHugeBytes, 'c'));
      request.mutable_slot()->set_name("s");
      return;
    case 2:
      request.mutable_targets(0)->set_name(std::string(kHugeBytes, 't'));
      return;
    case 3: {
      v1::InputTransform& transform = *request.add_transforms();
      for (int i = 0; i < kHugeNumbers; ++i) transform.add_scale(1);
      return;
    }
    case 4:
      for (int i = 0; i < kHugeNames; ++i) {
        v1::DimensionBinding& dimension =
            *request.mutable_bindings()->add_dimensions();
        dimension.set_name(std::string(100, 'd'));
      }
      return;
    default:
      request.set_request_id(std::string(kHugeBytes, 'r'));
  }
}

void SendHuge(Attack& attack, const Digest& model) {
  for (int i = 0;; ++i) {
    const auto channel = OwnChannel(attack.target().address);
    v1::CreateJobRequest request = Small(model, static_cast<uint64_t>(i));
    Swell(request, i);
    // Left to its queue.
    attack.Count(CreateJob(channel, request).status());
    Attack::Pause(kBetweenHuge);
  }
}

void List(Attack& attack) {
  while (true) {
    const auto stub = v1::Jobs::NewStub(OwnChannel(attack.target().address));
    v1::ListJobsRequest request;
    request.set_page_size(1000);
    for (int page = 0; page < kPages; ++page) {
      grpc::ClientContext context;
      SetTimeout(context, kCallTimeout);
      v1::ListJobsResponse response;
      const absl::Status status =
          client::FromGrpc(stub->ListJobs(&context, request, &response));
      attack.Count(status);
      request.set_page_token(response.next_page_token());
      if (!status.ok() || request.page_token().empty()) break;
    }
    Attack::Pause(kBetweenLists);
  }
}

}  // namespace

void AttackRequests(Attack& attack) {
  const uint64_t seed = attack.rng().Next();
  const std::string bytes = ChainModel(4, seed);
  const Digest model = DigestOf(bytes);
  const auto channel = OwnChannel(attack.target().address);
  attack.Count(PutBlobs(channel, {bytes, ChipText(0)}));
  std::vector<std::thread> threads;
  threads.emplace_back([&] { SendHuge(attack, model); });
  for (int i = 0; i < kListers; ++i) {
    threads.emplace_back([&] { List(attack); });
  }
  while (true) {
    std::vector<std::string> jobs;
    for (int i = 0; i < kQueued; ++i) {
      const auto job = CreateJob(channel, Small(model, attack.rng().Next()));
      attack.Count(job.status());
      if (job.ok()) jobs.push_back(job->id());
    }
    Attack::Pause(kQueueFor);
    for (const std::string& job : jobs) attack.Count(CancelJob(channel, job));
    Attack::Pause(kBetweenQueues);
  }
}

}  // namespace edgekiln::chaos
