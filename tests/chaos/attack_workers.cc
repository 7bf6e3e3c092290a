// Point 8: workers that nobody has let in. Sessions that say nothing, hellos of
// another build, and a false worker of the right build with very many slots,
// which keeps half of its leases and answers the rest with a forgery.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "client/rpc_status.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "server/stage_versions.h"
#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"

namespace edgekiln::chaos {
namespace {

namespace reapi = build::bazel::remote::execution::v2;

using Session = grpc::ClientReaderWriter<v1::WorkerMessage, v1::DaemonMessage>;

constexpr int kSilentSessions = 100;
constexpr absl::Duration kSilence = absl::Seconds(3);
constexpr absl::Duration kBetween = absl::Milliseconds(500);
constexpr int kSlots = 1024;
// It goes before it is lost, and comes again.
constexpr absl::Duration kServe = absl::Seconds(4);
constexpr size_t kNonceBytes = 32;

v1::WorkerMessage Hello(const std::string& build, int slots, uint64_t seed) {
  v1::WorkerMessage message;
  v1::WorkerMessage::Hello& hello = *message.mutable_hello();
  hello.set_build_digest(build);
  hello.set_name("false worker");
  hello.add_roles(v1::COMPILE_ROLE);
  hello.add_roles(v1::SIMULATE_ROLE);
  hello.set_slots(slots);
  // Of a secret that it does not have.
  const Digest guess = DigestOf(absl::StrCat("guess", seed));
  hello.set_nonce(guess.hash.substr(0, kNonceBytes));
  hello.set_proof(guess.hash.substr(kNonceBytes));
  return message;
}

// Many sessions that never introduce themselves.
void StayDumb(Attack& attack) {
  struct Silent {
    grpc::ClientContext context;
    std::unique_ptr<Session> stream;
  };
  while (true) {
    const auto stub =
        v1::Workers::NewStub(OwnChannel(attack.target().workers_address));
    std::vector<std::unique_ptr<Silent>> sessions;
    for (int i = 0; i < kSilentSessions; ++i) {
      auto silent = std::make_unique<Silent>();
      silent->stream = stub->Session(&silent->context);
      attack.CountSilent();
      sessions.push_back(std::move(silent));
    }
    Attack::Pause(kSilence);
    for (const auto& silent : sessions) {
      silent->context.TryCancel();
      silent->stream->Finish();
    }
    Attack::Pause(kBetween);
  }
}

// A result that says of a stage whatever comes to mind.
v1::WorkerMessage Forgery(const v1::DaemonMessage::Lease& lease) {
  v1::WorkerMessage message;
  v1::WorkerMessage::Result& result = *message.mutable_result();
  result.set_lease_id(lease.lease_id());
  result.set_fencing_token(lease.fencing_token());
  v1::StageResult& stage = *result.mutable_result();
  for (const v1::BlobRef& input : lease.inputs()) {
    *stage.add_outputs() = input;
  }
  switch (lease.options().options_case()) {
    case v1::StageOptions::kCountCycles:
      stage.mutable_summary()->mutable_sim_report()->set_cycles(1);
      break;
    case v1::StageOptions::kDescribe:
      stage.mutable_summary()->mutable_description()->set_macs(1);
      break;
    default:
      stage.mutable_error()->set_what("forged");
      stage.mutable_error()->set_fault(v1::ErrorDetail::USER);
      stage.mutable_error()->set_code(3);
  }
  return message;
}

void ServeFalsely(Attack& attack, uint64_t seed) {
  const auto stub =
      v1::Workers::NewStub(OwnChannel(attack.target().workers_address));
  grpc::ClientContext context;
  SetTimeout(context, kServe);
  const auto stream = stub->Session(&context);
  stream->Write(Hello(server::BuildDigest(), kSlots, seed));
  v1::DaemonMessage message;
  int64_t leases = 0;
  while (stream->Read(&message)) {
    if (!message.has_lease()) continue;
    attack.CountBreach();
    if (++leases % 2 == 0) stream->Write(Forgery(message.lease()));
  }
  const absl::Status status = client::FromGrpc(stream->Finish());
  attack.Count(absl::IsDeadlineExceeded(status) ? absl::OkStatus() : status);
}

// Learns what it can from being refused.
void AskBuild(Attack& attack, uint64_t seed) {
  const auto stub =
      v1::Workers::NewStub(OwnChannel(attack.target().workers_address));
  grpc::ClientContext context;
  SetTimeout(context, kServe);
  const auto stream = stub->Session(&context);
  stream->Write(Hello("0123", 1, seed));
  v1::DaemonMessage message;
  while (stream->Read(&message)) {
  }
  const absl::Status status = client::FromGrpc(stream->Finish());
  attack.Count(status);
  if (absl::StrContains(status.message(), server::BuildDigest())) {
    attack.CountBreach();
  }
}

// Blobs on the workers' port, without a session.
void AskBlobs(Attack& attack) {
  const auto channel = OwnChannel(attack.target().workers_address);
  grpc::ClientContext context;
  SetTimeout(context, kServe);
  reapi::FindMissingBlobsRequest request;
  reapi::FindMissingBlobsResponse response;
  const Digest digest = DigestOf("guess");
  request.add_blob_digests()->set_hash(digest.hash);
  request.mutable_blob_digests(0)->set_size_bytes(digest.size_bytes);
  const absl::Status status = client::FromGrpc(
      reapi::ContentAddressableStorage::NewStub(channel)->FindMissingBlobs(
          &context, request, &response));
  attack.Count(status);
  if (status.ok()) attack.CountBreach();
}

}  // namespace

void AttackWorkers(Attack& attack) {
  std::thread dumb([&attack] { StayDumb(attack); });
  while (true) {
    AskBuild(attack, attack.rng().Next());
    AskBlobs(attack);
    ServeFalsely(attack, attack.rng().Next());
    Attack::Pause(kBetween);
  }
  dumb.join();
}

}  // namespace edgekiln::chaos
