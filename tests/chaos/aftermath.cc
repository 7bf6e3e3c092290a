#include "tests/chaos/aftermath.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/rpc_status.h"
#include "client/watch.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "tests/chaos/attack_calls.h"

namespace edgekiln::chaos {
namespace {

constexpr int kPageSize = 200;
constexpr absl::Duration kLimit = absl::Seconds(20);
constexpr absl::Duration kPoll = absl::Milliseconds(200);

// Cancels what it finds; how many were unfinished.
absl::StatusOr<int> CancelOnce(const std::string& address) {
  const auto channel = OwnChannel(address);
  const auto stub = v1::Jobs::NewStub(channel);
  v1::ListJobsRequest request;
  request.set_page_size(kPageSize);
  int unfinished = 0;
  do {
    grpc::ClientContext context;
    SetTimeout(context, kCallTimeout);
    v1::ListJobsResponse page;
    EK_RETURN_IF_ERROR(
        client::FromGrpc(stub->ListJobs(&context, request, &page)), "ListJobs");
    for (const v1::Job& job : page.jobs()) {
      if (client::IsFinal(job.state())) continue;
      ++unfinished;
      EK_RETURN_IF_ERROR(CancelJob(channel, job.id()), "CancelJob");
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return unfinished;
}

// The body of the answer to an empty request.
absl::StatusOr<std::string> CallRaw(const std::string& address,
                                    const std::string& method) {
  grpc::GenericStub stub(OwnChannel(address));
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  grpc::CompletionQueue queue;
  const grpc::Slice nothing;
  const auto call = stub.PrepareUnaryCall(
      &context, method, grpc::ByteBuffer(&nothing, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok)) return absl::InternalError("no completion");
  EK_RETURN_IF_ERROR(client::FromGrpc(status), method);
  grpc::Slice slice;
  if (!response.DumpToSingleSlice(&slice).ok()) return std::string();
  return std::string(slice.begin(), slice.end());
}

}  // namespace

absl::Status CancelEverything(const std::string& address) {
  const absl::Time give_up = absl::Now() + kLimit;
  while (true) {
    EK_ASSIGN_OR_RETURN(const int unfinished, CancelOnce(address));
    if (unfinished == 0) return absl::OkStatus();
    if (absl::Now() > give_up) {
      return absl::DeadlineExceededError(
          absl::StrCat(unfinished, " jobs do not end"));
    }
    absl::SleepFor(kPoll);
  }
}

absl::Status AcceptsClients(const std::string& address) {
  EK_RETURN_IF_ERROR(
      CallRaw(address, "/edgekiln.v1.Targets/ListTargets").status());
  EK_ASSIGN_OR_RETURN(const std::string health,
                      CallRaw(address, "/grpc.health.v1.Health/Check"));
  // HealthCheckResponse{status: SERVING}.
  if (health == "\x08\x01") return absl::OkStatus();
  return absl::UnavailableError("health is not SERVING");
}

}  // namespace edgekiln::chaos
