#include "tests/chaos/attack_calls.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "client/local_blob.h"
#include "client/rpc_status.h"
#include "client/watch.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"

namespace edgekiln::chaos {
namespace {

namespace reapi = build::bazel::remote::execution::v2;

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr absl::Duration kPoll = absl::Milliseconds(200);

}  // namespace

std::shared_ptr<grpc::Channel> OwnChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

void SetTimeout(grpc::ClientContext& context, absl::Duration timeout) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
}

absl::StatusOr<Digest> PutBlob(const std::shared_ptr<grpc::Channel>& channel,
                               const std::string& bytes) {
  const Digest digest = DigestOf(bytes);
  const auto stub = google::bytestream::ByteStream::NewStub(channel);
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  google::bytestream::WriteResponse response;
  const auto writer = stub->Write(&context, &response);
  google::bytestream::WriteRequest request;
  request.set_resource_name(absl::StrCat("uploads/", digest.hash.substr(0, 16),
                                         "/blobs/", digest.ToString()));
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    request.set_write_offset(static_cast<int64_t>(at));
    request.set_data(bytes.substr(at, kPieceBytes));
    request.set_finish_write(at + kPieceBytes >= bytes.size());
    if (!writer->Write(request)) break;
    request.clear_resource_name();
  }
  writer->WritesDone();
  EK_RETURN_IF_ERROR(client::FromGrpc(writer->Finish()));
  return digest;
}

absl::Status PutBlobs(const std::shared_ptr<grpc::Channel>& channel,
                      const std::vector<std::string>& blobs) {
  reapi::BatchUpdateBlobsRequest request;
  for (const std::string& bytes : blobs) {
    const Digest digest = DigestOf(bytes);
    reapi::BatchUpdateBlobsRequest::Request& blob = *request.add_requests();
    blob.mutable_digest()->set_hash(digest.hash);
    blob.mutable_digest()->set_size_bytes(digest.size_bytes);
    blob.set_data(bytes);
  }
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  reapi::BatchUpdateBlobsResponse response;
  return client::FromGrpc(
      reapi::ContentAddressableStorage::NewStub(channel)->BatchUpdateBlobs(
          &context, request, &response));
}

absl::StatusOr<v1::Job> CreateJob(const std::shared_ptr<grpc::Channel>& channel,
                                  const v1::CreateJobRequest& request) {
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  v1::Job job;
  EK_RETURN_IF_ERROR(client::FromGrpc(
      v1::Jobs::NewStub(channel)->CreateJob(&context, request, &job)));
  return job;
}

absl::Status CancelJob(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& id) {
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  v1::CancelJobRequest request;
  request.set_id(id);
  v1::Job job;
  return client::FromGrpc(
      v1::Jobs::NewStub(channel)->CancelJob(&context, request, &job));
}

absl::StatusOr<v1::Job> AwaitJob(const std::shared_ptr<grpc::Channel>& channel,
                                 const std::string& id, absl::Duration limit) {
  const auto stub = v1::Jobs::NewStub(channel);
  const absl::Time until = absl::Now() + limit;
  v1::GetJobRequest request;
  request.set_id(id);
  while (true) {
    grpc::ClientContext context;
    SetTimeout(context, kCallTimeout);
    v1::Job job;
    EK_RETURN_IF_ERROR(client::FromGrpc(stub->GetJob(&context, request, &job)));
    if (client::IsFinal(job.state()) || absl::Now() > until) return job;
    absl::SleepFor(kPoll);
  }
}

std::string ChipText(int number) {
  return absl::StrCat(
      "extends: \"dla\"\nset { name: \"pes\" value: ", 32 + 16 * (number / 128),
      " }\nset { name: \"sram_bytes\" value: ",
      int64_t{1024} * (200 + 8 * (number % 128)), " }\n");
}

absl::StatusOr<v1::Job> RunJob(const std::shared_ptr<grpc::Channel>& channel,
                               const v1::CreateJobRequest& request,
                               absl::Duration limit) {
  EK_ASSIGN_OR_RETURN(v1::Job job, CreateJob(channel, request));
  EK_ASSIGN_OR_RETURN(job, AwaitJob(channel, job.id(), limit));
  if (!client::IsFinal(job.state())) {
    EK_RETURN_IF_ERROR(CancelJob(channel, job.id()));
  }
  return job;
}

}  // namespace edgekiln::chaos
