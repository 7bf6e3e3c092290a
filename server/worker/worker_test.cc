// A worker against a daemon of a few lines, over real gRPC.

#include "server/worker/worker.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mutex.h"
#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/stage_versions.h"
#include "server/worker/run_program.h"
#include "server/worker/testing/test_child.h"
#include "server/worker_secret.h"
#include "tests/support/skip.h"

namespace edgekiln::server {
namespace {

namespace reapi = build::bazel::remote::execution::v2;

// Blobs in memory.
class FakeStore final : public reapi::ContentAddressableStorage::Service,
                        public google::bytestream::ByteStream::Service {
 public:
  Digest Add(const std::string& bytes) {
    MutexLock lock(mutex_);
    blobs_[DigestOf(bytes).hash] = bytes;
    return DigestOf(bytes);
  }
  std::string Get(const std::string& hash) {
    MutexLock lock(mutex_);
    return blobs_[hash];
  }
  // With which calls came.
  std::set<std::string> sessions() {
    MutexLock lock(mutex_);
    return sessions_;
  }
  int batch_reads() {
    MutexLock lock(mutex_);
    return batch_reads_;
  }

  grpc::Status FindMissingBlobs(
      grpc::ServerContext* context,
      const reapi::FindMissingBlobsRequest* request,
      reapi::FindMissingBlobsResponse* response) override {
    Note(context);
    MutexLock lock(mutex_);
    for (const auto& digest : request->blob_digests()) {
      if (blobs_.count(digest.hash()) > 0) continue;
      *response->add_missing_blob_digests() = digest;
    }
    return grpc::Status::OK;
  }
  grpc::Status BatchUpdateBlobs(
      grpc::ServerContext* context,
      const reapi::BatchUpdateBlobsRequest* request,
      reapi::BatchUpdateBlobsResponse* response) override {
    Note(context);
    MutexLock lock(mutex_);
    for (const auto& blob : request->requests()) {
      blobs_[blob.digest().hash()] = blob.data();
      *response->add_responses()->mutable_digest() = blob.digest();
    }
    return grpc::Status::OK;
  }
  grpc::Status BatchReadBlobs(
      grpc::ServerContext* context, const reapi::BatchReadBlobsRequest* request,
      reapi::BatchReadBlobsResponse* response) override {
    Note(context);
    MutexLock lock(mutex_);
    ++batch_reads_;
    for (const auto& digest : request->digests()) {
      auto& blob = *response->add_responses();
      *blob.mutable_digest() = digest;
      const auto it = blobs_.find(digest.hash());
      if (it == blobs_.end()) {
        blob.mutable_status()->set_code(grpc::StatusCode::NOT_FOUND);
      } else {
        blob.set_data(it->second);
      }
    }
    return grpc::Status::OK;
  }
  grpc::Status Read(
      grpc::ServerContext* context,
      const google::bytestream::ReadRequest* request,
      grpc::ServerWriter<google::bytestream::ReadResponse>* writer) override {
    Note(context);
    const std::string bytes = Get(request->resource_name().substr(6, 64));
    for (size_t at = 0; at < bytes.size(); at += 1 << 20) {
      google::bytestream::ReadResponse response;
      response.set_data(bytes.substr(at, 1 << 20));
      writer->Write(response);
    }
    return grpc::Status::OK;
  }
  grpc::Status Write(
      grpc::ServerContext* context,
      grpc::ServerReader<google::bytestream::WriteRequest>* reader,
      google::bytestream::WriteResponse* response) override {
    Note(context);
    google::bytestream::WriteRequest request;
    std::string bytes;
    while (reader->Read(&request)) {
      if (request.write_offset() != static_cast<int64_t>(bytes.size())) {
        return {grpc::StatusCode::INVALID_ARGUMENT, "gap"};
      }
      bytes += request.data();
    }
    response->set_committed_size(static_cast<int64_t>(bytes.size()));
    Add(bytes);
    return grpc::Status::OK;
  }

 private:
  void Note(grpc::ServerContext* context) {
    const auto found = context->client_metadata().find(kSessionMetadata);
    MutexLock lock(mutex_);
    sessions_.insert(
        found == context->client_metadata().end()
            ? "none"
            : std::string(found->second.data(), found->second.size()));
  }

  Mutex mutex_;
  std::map<std::string, std::string> blobs_ ABSL_GUARDED_BY(mutex_);
  int batch_reads_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::string> sessions_ ABSL_GUARDED_BY(mutex_);
};

const std::string kSecret(32, '\xab');
constexpr char kSession[] = "session";

// Hands everything a worker sends to the test, and the other way round.
class FakeWorkers final : public v1::Workers::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::DaemonMessage, v1::WorkerMessage>;

  void Refuse(const grpc::Status& status) {
    MutexLock lock(mutex_);
    refusal_ = status;
  }

  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override {
    {
      MutexLock lock(mutex_);
      if (!refusal_.ok()) return refusal_;
      stream_ = stream;
      context_ = context;
    }
    const std::string nonce(kNonceBytes, 'd');
    v1::DaemonMessage challenge;
    challenge.mutable_challenge()->set_nonce(nonce);
    Send(challenge);
    v1::WorkerMessage message;
    if (!stream->Read(&message)) return grpc::Status::CANCELLED;
    const v1::WorkerMessage::Hello& hello = message.hello();
    EXPECT_TRUE(
        IsProof(hello.proof(), Side::kWorker, kSecret, nonce, hello.nonce()));
    v1::DaemonMessage welcome;
    welcome.mutable_welcome()->set_heartbeat_ms(100);
    welcome.mutable_welcome()->set_session(kSession);
    welcome.mutable_welcome()->set_proof(Proof(
        Side::kDaemon, impostor ? "guess" : kSecret, nonce, hello.nonce()));
    Send(welcome);
    do {
      MutexLock lock(mutex_);
      received_.push_back(message);
      changed_.NotifyAll();
    } while (stream->Read(&message));
    MutexLock lock(mutex_);
    stream_ = nullptr;
    return grpc::Status::OK;
  }

  void Send(const v1::DaemonMessage& message) {
    MutexLock lock(mutex_);
    ASSERT_NE(stream_, nullptr);
    stream_->Write(message);
  }

  void Drop() {
    MutexLock lock(mutex_);
    context_->TryCancel();
  }

  std::atomic<bool> impostor{false};  // Does not know the secret.

  // The next message of that kind; others are dropped.
  v1::WorkerMessage Await(v1::WorkerMessage::MessageCase kind) {
    MutexLock lock(mutex_);
    while (true) {
      const auto end =
          std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (received_.empty() && changed_.WaitUntil(lock, end)) {
      }
      if (received_.empty()) {
        ADD_FAILURE() << "the worker is silent";
        return {};
      }
      v1::WorkerMessage message = received_.front();
      received_.pop_front();
      if (message.message_case() == kind) return message;
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  grpc::Status refusal_ ABSL_GUARDED_BY(mutex_);
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::deque<v1::WorkerMessage> received_ ABSL_GUARDED_BY(mutex_);
};

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(
        static_cast<reapi::ContentAddressableStorage::Service*>(&store_));
    builder.RegisterService(
        static_cast<google::bytestream::ByteStream::Service*>(&store_));
    builder.RegisterService(&workers_);
    server_ = builder.BuildAndStart();
    secret_file_ =
        absl::StrCat(testing::TempDir(), "worker_test_secret.", getpid());
    std::ofstream(secret_file_, std::ios::trunc)
        << absl::BytesToHexString(kSecret);
    EXPECT_EQ(chmod(secret_file_.c_str(), 0600), 0);
    options_ = {.address = "127.0.0.1:" + std::to_string(port),
                .roles = {v1::COMPILE_ROLE},
                .secret_file = secret_file_,
                .slots = 2,
                .child = TestChild()};
    worker_ = NewWorker(options_, *log_);
  }

  void Start() {
    thread_ = std::thread([this] { status_ = worker_->Run(); });
  }

  absl::Status Join() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }

  ~WorkerTest() override {
    worker_->Stop();
    Join().IgnoreError();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  v1::DaemonMessage Import(uint64_t id, const Digest& model) {
    v1::DaemonMessage message;
    v1::DaemonMessage::Lease& lease = *message.mutable_lease();
    lease.set_lease_id(id);
    lease.set_fencing_token(id + 1);
    lease.mutable_options()->mutable_import();
    v1::BlobRef& input = *lease.add_inputs();
    input.set_role("model");
    *input.mutable_digest() = ToProto(model);
    return message;
  }

  v1::DaemonMessage Forever(uint64_t id) {
    v1::DaemonMessage message;
    message.mutable_lease()->set_lease_id(id);
    message.mutable_lease()->mutable_options()->mutable_partition();
    return message;
  }

  const std::unique_ptr<Clock> clock_ = NewRealClock();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  std::string secret_file_;
  WorkerOptions options_;
  FakeStore store_;
  FakeWorkers workers_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Worker> worker_;
  std::thread thread_;
  absl::Status status_;
};

using Message = v1::WorkerMessage;

TEST_F(WorkerTest, SaysHello) {
  Start();
  const auto hello = workers_.Await(Message::kHello).hello();
  EXPECT_EQ(hello.build_digest(), BuildDigest());
  EXPECT_EQ(hello.slots(), 2);
  ASSERT_EQ(hello.roles_size(), 1);
  EXPECT_EQ(hello.roles(0), v1::COMPILE_ROLE);
  EXPECT_EQ(hello.compilers_size(), 0);
}

TEST_F(WorkerTest, TellsOfItsCompilers) {
  const InstalledCompilers found = InstalledCompilers::Find(SearchPath());
  const auto& list = found.list();
  if (list.empty()) EK_SKIP("there is no C compiler");
  options_.find_compilers = [&] { return found; };
  worker_ = NewWorker(options_, *log_);
  Start();
  const auto hello = workers_.Await(Message::kHello).hello();
  ASSERT_EQ(hello.compilers_size(), static_cast<int>(list.size()));
  EXPECT_EQ(hello.compilers(0).SerializeAsString(),
            list[0].SerializeAsString());
}

TEST_F(WorkerTest, ExecutesWithSmallAndBigBlobs) {
  Start();
  workers_.Await(Message::kHello);
  for (const size_t size : {size_t{1000}, size_t{9 << 20}}) {
    const std::string model(size, 'm');
    workers_.Send(Import(size, store_.Add(model)));
    const auto result = workers_.Await(Message::kResult).result();
    ASSERT_EQ(result.lease_id(), size);
    EXPECT_EQ(result.fencing_token(), size + 1);
    ASSERT_EQ(result.result().outputs_size(), 1)
        << result.infra_error().message();
    // A small one comes with the result.
    EXPECT_EQ(result.outputs_size(), size == 1000 ? 1 : 0);
    const std::string output =
        result.outputs_size() == 1
            ? result.outputs(0)
            : store_.Get(result.result().outputs(0).digest().hash());
    EXPECT_EQ(output, "graph of " + model);
  }
}

TEST_F(WorkerTest, KeepsBlobsItHasSeen) {
  Start();
  workers_.Await(Message::kHello);
  const Digest model = store_.Add("model");
  for (const uint64_t id : {1, 2}) {
    workers_.Send(Import(id, model));
    EXPECT_TRUE(workers_.Await(Message::kResult).result().has_result());
  }
  EXPECT_EQ(store_.batch_reads(), 1);
}

TEST_F(WorkerTest, HeartbeatsWhileItHoldsALease) {
  Start();
  workers_.Await(Message::kHello);
  workers_.Send(Forever(5));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(workers_.Await(Message::kProgress).progress().lease_id(), 5u);
  }
}

TEST_F(WorkerTest, CancelIsAnswered) {
  Start();
  workers_.Await(Message::kHello);
  workers_.Send(Forever(5));
  workers_.Await(Message::kProgress);
  v1::DaemonMessage cancel;
  cancel.mutable_cancel()->set_lease_id(5);
  workers_.Send(cancel);
  EXPECT_EQ(workers_.Await(Message::kResult).result().infra_error().reason(),
            "STAGE_CANCELLED");
}

TEST_F(WorkerTest, ConnectsAgainAndForgetsItsLeases) {
  Start();
  workers_.Await(Message::kHello);
  workers_.Send(Forever(5));
  workers_.Send(Forever(6));
  workers_.Await(Message::kProgress);
  workers_.Drop();
  workers_.Await(Message::kHello);
  // Both slots are free again, and what was lost is not answered.
  workers_.Send(Import(7, store_.Add("model")));
  EXPECT_EQ(workers_.Await(Message::kResult).result().lease_id(), 7u);
}

TEST_F(WorkerTest, AnotherBuildIsFinal) {
  workers_.Refuse({grpc::StatusCode::FAILED_PRECONDITION, "another build"});
  Start();
  EXPECT_EQ(Join().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(WorkerTest, TakesNothingFromADaemonWithoutTheSecret) {
  workers_.impostor = true;
  Start();
  const absl::Status status = Join();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
}

TEST_F(WorkerTest, NeedsASecretThatNobodyElseKnows) {
  ASSERT_EQ(chmod(secret_file_.c_str(), 0644), 0);
  Start();
  EXPECT_TRUE(absl::IsPermissionDenied(Join()));
}

TEST_F(WorkerTest, ToBeRefusedForTheSecretIsFinal) {
  workers_.Refuse({grpc::StatusCode::UNAUTHENTICATED, "no worker of mine"});
  Start();
  EXPECT_TRUE(absl::IsUnauthenticated(Join()));
}

TEST_F(WorkerTest, BlobCallsCarryTheSession) {
  Start();
  workers_.Await(Message::kHello);
  for (const size_t size : {size_t{1000}, size_t{9 << 20}}) {
    workers_.Send(Import(size, store_.Add(std::string(size, 'm'))));
    EXPECT_TRUE(workers_.Await(Message::kResult).result().has_result());
  }
  EXPECT_EQ(store_.sessions(), std::set<std::string>{kSession});
}

TEST_F(WorkerTest, StopsWhileExecuting) {
  Start();
  workers_.Await(Message::kHello);
  workers_.Send(Forever(5));
  workers_.Await(Message::kProgress);
  worker_->Stop();
  EXPECT_TRUE(Join().ok());
}

}  // namespace
}  // namespace edgekiln::server
