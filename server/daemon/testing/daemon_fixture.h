#ifndef EK_SERVER_DAEMON_TESTING_DAEMON_FIXTURE_H_
#define EK_SERVER_DAEMON_TESTING_DAEMON_FIXTURE_H_

// A daemon on a state folder of the test's own, and stubs of its services.

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "edgekiln/v1/daemon.grpc.pb.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/daemon/daemon.h"
#include "server/daemon/farm/testing/fake_worker.h"

namespace edgekiln::server {

namespace bs = google::bytestream;
namespace reapi = build::bazel::remote::execution::v2;

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() {
    options_.listen = "127.0.0.1:0";
    options_.workers_listen = "127.0.0.1:0";
    options_.state_folder =
        testing::TempDir() + "daemon_" +
        testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(options_.state_folder);
    Start();
  }

  void Start() {
    absl::StatusOr<std::unique_ptr<Daemon>> daemon =
        StartDaemon(options_, *clock_, *log_);
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    const auto channel = grpc::CreateChannel(
        daemon_->client_address(), grpc::InsecureChannelCredentials());
    jobs_ = v1::Jobs::NewStub(channel);
    reports_ = v1::Reports::NewStub(channel);
    models_ = v1::Models::NewStub(channel);
    targets_ = v1::Targets::NewStub(channel);
    daemon_stub_ = v1::Daemon::NewStub(channel);
    cas_ = reapi::ContentAddressableStorage::NewStub(channel);
    bytes_ = bs::ByteStream::NewStub(channel);
  }

  void Stop() { daemon_.reset(); }

  std::unique_ptr<FakeWorker> Worker(FakeWorkerOptions options = {}) {
    options.address = daemon_->worker_address();
    options.secret_file = WorkerSecretFile(options_);
    return StartFakeWorker(options);
  }

  v1::Digest Upload(const std::string& text) {
    const Digest digest = DigestOf(text);
    reapi::BatchUpdateBlobsRequest request;
    reapi::BatchUpdateBlobsRequest::Request& blob = *request.add_requests();
    blob.mutable_digest()->set_hash(digest.hash);
    blob.mutable_digest()->set_size_bytes(digest.size_bytes);
    blob.set_data(text);
    reapi::BatchUpdateBlobsResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        cas_->BatchUpdateBlobs(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.responses(0).status().code(), 0);
    return ToProto(digest);
  }

  v1::CreateJobRequest Profile(const std::string& model = "int8 net") {
    v1::CreateJobRequest request;
    *request.mutable_model() = Upload(model);
    *request.add_targets()->mutable_digest() = Upload("conv;sram=64");
    request.add_goals(v1::PROFILE);
    return request;
  }

  v1::Job Create(const v1::CreateJobRequest& request) {
    v1::Job job;
    grpc::ClientContext context;
    const grpc::Status status = jobs_->CreateJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }

  // All events from `after` on, until the job is over.
  std::vector<v1::JobEvent> Watch(const std::string& id, int64_t after = 0) {
    v1::WatchJobRequest request;
    request.set_id(id);
    request.set_after_sequence(after);
    grpc::ClientContext context;
    const auto reader = jobs_->WatchJob(&context, request);
    std::vector<v1::JobEvent> events;
    v1::JobEvent event;
    while (reader->Read(&event)) events.push_back(event);
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return events;
  }

  // Returns once the job has said something of that kind.
  void WatchUntil(const std::string& id, v1::JobEvent::EventCase kind) {
    v1::WatchJobRequest request;
    request.set_id(id);
    grpc::ClientContext context;
    const auto reader = jobs_->WatchJob(&context, request);
    v1::JobEvent event;
    while (reader->Read(&event)) {
      if (event.event_case() == kind) break;
    }
    EXPECT_EQ(event.event_case(), kind);
    context.TryCancel();
    reader->Finish();
  }

  v1::Job Get(const std::string& id) {
    v1::GetJobRequest request;
    request.set_id(id);
    v1::Job job;
    grpc::ClientContext context;
    const grpc::Status status = jobs_->GetJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }

  // Sends `data` from `offset` on; without `finish`, breaks the stream instead.
  grpc::Status Write(const std::string& name, int64_t offset,
                     const std::string& data, bool finish,
                     int64_t* committed = nullptr) {
    grpc::ClientContext context;
    bs::WriteResponse response;
    const auto writer = bytes_->Write(&context, &response);
    constexpr size_t kPiece = 100'000;
    for (size_t at = 0; at < data.size() || at == 0; at += kPiece) {
      bs::WriteRequest request;
      if (at == 0) request.set_resource_name(name);
      request.set_write_offset(offset + static_cast<int64_t>(at));
      request.set_data(data.substr(at, kPiece));
      request.set_finish_write(finish && at + kPiece >= data.size());
      if (!writer->Write(request)) break;
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (committed != nullptr) *committed = response.committed_size();
    return status;
  }

  int64_t Committed(const std::string& name) {
    bs::QueryWriteStatusRequest request;
    request.set_resource_name(name);
    bs::QueryWriteStatusResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        bytes_->QueryWriteStatus(&context, request, &response);
    return status.ok() ? response.committed_size() : -1;
  }

  std::string Read(const Digest& digest, int64_t offset = 0,
                   int64_t limit = 0) {
    bs::ReadRequest request;
    request.set_resource_name("blobs/" + digest.ToString());
    request.set_read_offset(offset);
    request.set_read_limit(limit);
    grpc::ClientContext context;
    const auto reader = bytes_->Read(&context, request);
    std::string all;
    bs::ReadResponse response;
    while (reader->Read(&response)) all += response.data();
    const grpc::Status status = reader->Finish();
    return status.ok() ? all : "error: " + status.error_message();
  }

  const std::unique_ptr<Clock> clock_ = NewRealClock();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  DaemonOptions options_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<v1::Jobs::Stub> jobs_;
  std::unique_ptr<v1::Reports::Stub> reports_;
  std::unique_ptr<v1::Models::Stub> models_;
  std::unique_ptr<v1::Targets::Stub> targets_;
  std::unique_ptr<v1::Daemon::Stub> daemon_stub_;
  std::unique_ptr<reapi::ContentAddressableStorage::Stub> cas_;
  std::unique_ptr<bs::ByteStream::Stub> bytes_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_TESTING_DAEMON_FIXTURE_H_
