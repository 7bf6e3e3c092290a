#include "server/daemon/farm/workers_service.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "cache/disk_blob_store.h"
#include "cache/testing/crashing_file_system.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/daemon/farm/dispatcher.h"
#include "server/daemon/farm/worker_gate.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

constexpr char kSecret[] = "secret";

class WorkersServiceTest : public testing::Test {
 protected:
  WorkersServiceTest()
      : dispatcher_(Dispatching(), *clock_, *log_),
        gate_(Entrance(), *clock_, *log_),
        service_(NewWorkersService(gate_, dispatcher_, *blobs_)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::Workers::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                            grpc::InsecureChannelCredentials()));
  }
  ~WorkersServiceTest() override { dispatcher_.Shutdown(); }

  static DispatcherOptions Dispatching() {
    DispatcherOptions options;
    options.build_digest = "build";
    return options;
  }
  static WorkerGateOptions Entrance() {
    WorkerGateOptions options;
    options.secret = kSecret;
    return options;
  }

  using Stream = grpc::ClientReaderWriter<v1::WorkerMessage, v1::DaemonMessage>;

  // Up to the daemon's welcome, which names the session.
  static std::string Enter(Stream& stream) {
    v1::DaemonMessage message;
    EXPECT_TRUE(stream.Read(&message));
    v1::WorkerMessage answer;
    v1::WorkerMessage::Hello& hello = *answer.mutable_hello();
    hello.set_nonce(*NewNonce());
    hello.set_proof(Proof(Side::kWorker, kSecret, message.challenge().nonce(),
                          hello.nonce()));
    hello.set_build_digest("build");
    hello.add_roles(v1::COMPILE_ROLE);
    hello.set_slots(3);
    EXPECT_TRUE(stream.Write(answer));
    EXPECT_TRUE(stream.Read(&message));
    return message.welcome().session();
  }

  const std::unique_ptr<Clock> clock_ = NewRealClock();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  Dispatcher dispatcher_;
  WorkerGate gate_;
  cache::CrashingFileSystem files_;
  const std::unique_ptr<cache::BlobStore> blobs_ =
      *cache::OpenDiskBlobStore(files_, "/s");
  const std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Workers::Stub> stub_;
};

// What it was sent, or has made, is not sent again.
TEST_F(WorkersServiceTest, ASessionCarriesSmallBlobsOnce) {
  grpc::ClientContext context;
  const auto stream = stub_->Session(&context);
  Enter(*stream);
  for (const char* const bytes : {"sent", "made"}) {
    ASSERT_TRUE(blobs_->Put(DigestOf(bytes), bytes).ok());
  }
  std::vector<uint64_t> leases;
  const auto carried_with = [&](const std::string& input) {
    LeaseRequest request;
    request.stage = "tile";
    *request.inputs.emplace_back().mutable_digest() = ToProto(DigestOf(input));
    LeaseCallbacks callbacks;
    callbacks.done = [](const absl::StatusOr<LeaseOutcome>&) {};
    leases.push_back(
        dispatcher_.Submit(std::move(request), std::move(callbacks)));
    v1::DaemonMessage message;
    EXPECT_TRUE(stream->Read(&message));
    return std::vector<std::string>(message.lease().carried().begin(),
                                    message.lease().carried().end());
  };
  EXPECT_EQ(carried_with("sent"), std::vector<std::string>{"sent"});
  EXPECT_EQ(carried_with("sent"), std::vector<std::string>{});
  // Of a lease that is over: refused, but noted.
  v1::WorkerMessage result;
  *result.mutable_result()->mutable_result()->add_outputs()->mutable_digest() =
      ToProto(DigestOf("made"));
  ASSERT_TRUE(stream->Write(result));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (dispatcher_.refused_results() == 0 &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(carried_with("made"), std::vector<std::string>{});
  for (const uint64_t lease : leases) dispatcher_.Cancel(lease);
  context.TryCancel();
  stream->Finish();
}

// The lease is larger than what travels before somebody reads.
TEST_F(WorkersServiceTest, AStreamThatReadsNoMoreEndsAllTheSame) {
  grpc::ClientContext context;
  const auto stream = stub_->Session(&context);
  const std::string session = Enter(*stream);
  ASSERT_TRUE(gate_.CheckSession(session).ok());
  LeaseRequest request;
  request.stage = "tile";
  request.role = v1::COMPILE_ROLE;
  request.inputs.emplace_back().set_role(std::string(6 << 20, 'x'));
  LeaseCallbacks callbacks;
  callbacks.done = [](const absl::StatusOr<LeaseOutcome>&) {};
  const uint64_t lease =
      dispatcher_.Submit(std::move(request), std::move(callbacks));
  EXPECT_EQ(dispatcher_.LeasesOut(), 1);
  ASSERT_TRUE(stream->WritesDone());
  // Its session lasts as long as the handler.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (gate_.CheckSession(session).ok() &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(gate_.CheckSession(session).ok());
  EXPECT_EQ(dispatcher_.LeasesOut(), 0);
  context.TryCancel();
  stream->Finish();
  dispatcher_.Cancel(lease);
}

}  // namespace
}  // namespace edgekiln::server
