#include "server/daemon/farm/testing/fake_worker.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "server/daemon/stages/testing/fake_stages.h"
#include "server/stage_versions.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

namespace reapi = build::bazel::remote::execution::v2;

// The daemon's blobs, small ones, over the network.
class RemoteBlobs : public cache::BlobStore {
 public:
  // Calls carry `session`.
  RemoteBlobs(const std::shared_ptr<grpc::Channel>& channel,
              const std::string& session)
      : stub_(reapi::ContentAddressableStorage::NewStub(channel)),
        session_(session) {}

  absl::StatusOr<bool> Contains(const Digest& digest) override {
    return Get(digest).ok();
  }

  absl::StatusOr<std::string> Get(const Digest& digest) override {
    reapi::BatchReadBlobsRequest request;
    reapi::Digest& wanted = *request.add_digests();
    wanted.set_hash(digest.hash);
    wanted.set_size_bytes(digest.size_bytes);
    reapi::BatchReadBlobsResponse response;
    grpc::ClientContext context;
    context.AddMetadata(kSessionMetadata, session_);
    const grpc::Status status =
        stub_->BatchReadBlobs(&context, request, &response);
    if (!status.ok() || response.responses(0).status().code() != 0) {
      return cache::BlobMissing(digest);
    }
    return response.responses(0).data();
  }

  absl::StatusOr<std::unique_ptr<cache::BlobReader>> OpenReader(
      const Digest&) override {
    return absl::UnimplementedError("small blobs only");
  }

  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    reapi::BatchUpdateBlobsRequest request;
    reapi::BatchUpdateBlobsRequest::Request& blob = *request.add_requests();
    blob.mutable_digest()->set_hash(digest.hash);
    blob.mutable_digest()->set_size_bytes(digest.size_bytes);
    blob.set_data(std::string(bytes));
    reapi::BatchUpdateBlobsResponse response;
    grpc::ClientContext context;
    context.AddMetadata(kSessionMetadata, session_);
    const grpc::Status status =
        stub_->BatchUpdateBlobs(&context, request, &response);
    return status.ok() ? absl::OkStatus()
                       : absl::UnavailableError(status.error_message());
  }

  absl::Status Adopt(const Digest&, const std::string&) override {
    return absl::UnimplementedError("no files here");
  }

 private:
  const std::unique_ptr<reapi::ContentAddressableStorage::Stub> stub_;
  const std::string& session_;
};

class FakeWorkerImpl : public FakeWorker {
 public:
  explicit FakeWorkerImpl(const FakeWorkerOptions& options)
      : options_(options),
        channel_(grpc::CreateChannel(options.address,
                                     grpc::InsecureChannelCredentials())),
        blobs_(channel_, session_),
        stub_(v1::Workers::NewStub(channel_)),
        stream_(stub_->Session(&context_)) {
    const std::string secret = *ReadWorkerSecret(options.secret_file);
    v1::DaemonMessage challenge;
    stream_->Read(&challenge);
    v1::WorkerMessage message;
    v1::WorkerMessage::Hello& hello = *message.mutable_hello();
    hello.set_nonce(*NewNonce());
    hello.set_proof(Proof(Side::kWorker, secret, challenge.challenge().nonce(),
                          hello.nonce()));
    hello.set_build_digest(BuildDigest());
    hello.set_name("fake");
    hello.add_roles(v1::COMPILE_ROLE);
    hello.add_roles(v1::SIMULATE_ROLE);
    hello.set_slots(options.slots);
    stream_->Write(message);
    thread_ = std::thread([this] { Serve(); });
  }

  ~FakeWorkerImpl() override {
    context_.TryCancel();
    thread_.join();
  }

  std::vector<std::string> Executed() override {
    MutexLock lock(mutex_);
    std::vector<std::string> sorted = executed_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  int Cancelled() override {
    MutexLock lock(mutex_);
    return cancelled_;
  }

 private:
  void Serve() {
    v1::DaemonMessage message;
    while (stream_->Read(&message)) {
      if (message.has_welcome()) session_ = message.welcome().session();
      if (message.has_lease()) Execute(message.lease());
      if (message.has_cancel()) {
        MutexLock lock(mutex_);
        ++cancelled_;
      }
    }
    stream_->Finish();
  }

  void Execute(const v1::DaemonMessage::Lease& lease) {
    const std::string stage(StageName(lease.options().options_case()));
    if (stage == options_.hang_on) return;
    v1::WorkerMessage answer;
    v1::WorkerMessage::Result& result = *answer.mutable_result();
    result.set_lease_id(lease.lease_id());
    result.set_fencing_token(lease.fencing_token());
    const absl::StatusOr<v1::StageResult> computed =
        RunFakeStage(lease.options(),
                     {lease.inputs().begin(), lease.inputs().end()}, blobs_);
    {
      MutexLock lock(mutex_);
      executed_.push_back(stage);
    }
    if (stage == options_.crash_on || !computed.ok()) {
      result.mutable_infra_error()->set_code(13);
      result.mutable_infra_error()->set_what(
          computed.ok() ? "the stage died of signal 11"
                        : std::string(computed.status().message()));
    } else {
      *result.mutable_result() = *computed;
    }
    stream_->Write(answer);
  }

  const FakeWorkerOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::string session_;  // Of the thread that serves.
  RemoteBlobs blobs_;
  const std::unique_ptr<v1::Workers::Stub> stub_;
  grpc::ClientContext context_;
  const std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerMessage, v1::DaemonMessage>>
      stream_;
  Mutex mutex_;
  std::vector<std::string> executed_ ABSL_GUARDED_BY(mutex_);
  int cancelled_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<FakeWorker> StartFakeWorker(const FakeWorkerOptions& options) {
  return std::make_unique<FakeWorkerImpl>(options);
}

}  // namespace edgekiln::server
