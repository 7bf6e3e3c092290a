// Everything that needs no job: questions, uploads, configuration.

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "edgekiln/v1/workers.grpc.pb.h"
#include "gmock/gmock.h"
#include "server/daemon/testing/daemon_fixture.h"
#include "server/stage_versions.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

using testing::HasSubstr;

TEST_F(DaemonTest, InspectsWithoutAJob) {
  const auto worker = Worker();
  v1::InspectModelRequest request;
  *request.mutable_model() = Upload("int8 net");
  v1::ModelDescription description;
  grpc::ClientContext context;
  const grpc::Status status =
      models_->InspectModel(&context, request, &description);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(description.layers_size(), 1);
  *request.mutable_model() = Upload("bad net");
  grpc::ClientContext bad;
  EXPECT_EQ(models_->InspectModel(&bad, request, &description).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, KnowsItsTargetsAndChecksOthers) {
  const auto worker = Worker();
  v1::ListTargetsResponse list;
  grpc::ClientContext context;
  ASSERT_TRUE(targets_->ListTargets(&context, {}, &list).ok());
  ASSERT_GT(list.targets_size(), 0);
  v1::GetTargetRequest get;
  get.set_name(list.targets(0).name());
  v1::TargetInfo info;
  grpc::ClientContext got;
  ASSERT_TRUE(targets_->GetTarget(&got, get, &info).ok());
  EXPECT_EQ(Read(*FromProto(info.digest())), info.text());
  ASSERT_GT(info.recipes_size(), 1);
  EXPECT_EQ(info.recipes(0).name(), "default");
  for (const v1::RecipeInfo& recipe : info.recipes()) {
    EXPECT_FALSE(recipe.doc().empty()) << recipe.name();
    get.set_recipe(recipe.name());
    grpc::ClientContext has;
    EXPECT_TRUE(targets_->GetTarget(&has, get, &info).ok());
  }
  get.set_recipe("seriel");
  grpc::ClientContext lacks;
  const grpc::Status unknown = targets_->GetTarget(&lacks, get, &info);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(),
              HasSubstr("need: one of: default, serial, paper; "
                        "fix: did you mean \"serial\"?"));
  get.set_recipe(std::string(65, 'a'));
  grpc::ClientContext large;
  EXPECT_EQ(targets_->GetTarget(&large, get, &info).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  get.clear_recipe();
  get.set_name("no-such-chip");
  grpc::ClientContext missing;
  EXPECT_EQ(targets_->GetTarget(&missing, get, &info).error_code(),
            grpc::StatusCode::NOT_FOUND);

  v1::ValidateTargetRequest validate;
  v1::ValidateTargetResponse answer;
  *validate.mutable_target() = Upload("nonsense");
  grpc::ClientContext bad;
  ASSERT_TRUE(targets_->ValidateTarget(&bad, validate, &answer).ok());
  EXPECT_FALSE(answer.valid());
  EXPECT_THAT(answer.problem().message(), HasSubstr("not a target"));
  *validate.mutable_target() = Upload("conv;sram=1");
  grpc::ClientContext good;
  ASSERT_TRUE(targets_->ValidateTarget(&good, validate, &answer).ok());
  EXPECT_TRUE(answer.valid());
  EXPECT_EQ(answer.recipes_size(), 3);
}

TEST_F(DaemonTest, UploadsResumeAcrossStreamsAndRestarts) {
  std::string data(1'000'000, 'x');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i % 251);
  const Digest digest = DigestOf(data);
  const std::string name = "uploads/some-uuid/blobs/" + digest.ToString();
  EXPECT_EQ(Committed(name), -1);
  ASSERT_TRUE(Write(name, 0, data.substr(0, 300'000), false).ok());
  EXPECT_EQ(Committed(name), 300'000);
  ASSERT_TRUE(Write(name, 300'000, data.substr(300'000, 200'000), false).ok());
  Stop();
  Start();
  EXPECT_EQ(Committed(name), 500'000);
  // A gap is refused; a repeated part is not.
  EXPECT_EQ(Write(name, 600'000, data.substr(600'000), true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  int64_t committed = 0;
  const grpc::Status finished =
      Write(name, 400'000, data.substr(400'000), true, &committed);
  ASSERT_TRUE(finished.ok()) << finished.error_message();
  EXPECT_EQ(committed, 1'000'000);
  EXPECT_EQ(Read(digest), data);
  EXPECT_EQ(Read(digest, 999'000, 500), data.substr(999'000, 500));
  EXPECT_EQ(Read(digest, 1'000'000), "");
  EXPECT_THAT(Read(digest, 1'000'001), HasSubstr("error"));
  // Once there, it need not be sent again, under any id.
  const std::string again = "uploads/other/blobs/" + digest.ToString();
  ASSERT_TRUE(Write(again, 0, data.substr(0, 10), false, &committed).ok());
  EXPECT_EQ(committed, 1'000'000);
}

TEST_F(DaemonTest, RefusesBytesThatAreNotWhatTheyClaim) {
  const Digest digest = DigestOf("right");
  const std::string name = "uploads/u/blobs/" + digest.ToString();
  EXPECT_EQ(Write(name, 0, "wrong", true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(Read(digest), HasSubstr("no such blob"));
  EXPECT_EQ(Write(name, 0, "right and more", true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  // The same id works once the bytes are right.
  EXPECT_TRUE(Write(name, 0, "right", true).ok());
  EXPECT_EQ(Read(digest), "right");
  const char* kBadNames[] = {"", "blobs/x/1", "uploads/u/blobs/zz/5",
                             "uploads/u/blobs", "uploads"};
  for (const char* bad : kBadNames) {
    EXPECT_EQ(Write(bad, 0, "right", true).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << bad;
  }
  const std::string huge =
      absl::StrCat("uploads/u/blobs/", digest.hash, "/99999999999");
  EXPECT_EQ(Write(huge, 0, "right", true).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, WorkersSeeNoJobsAndClientsNoSessions) {
  const auto workers = grpc::CreateChannel(daemon_->worker_address(),
                                           grpc::InsecureChannelCredentials());
  v1::ListJobsResponse page;
  grpc::ClientContext context;
  EXPECT_EQ(
      v1::Jobs::NewStub(workers)->ListJobs(&context, {}, &page).error_code(),
      grpc::StatusCode::UNIMPLEMENTED);
  const auto clients = grpc::CreateChannel(daemon_->client_address(),
                                           grpc::InsecureChannelCredentials());
  grpc::ClientContext session;
  const auto stream = v1::Workers::NewStub(clients)->Session(&session);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(SettleWorkersTest, ThereAreConnectionsForAllOrNoDaemon) {
  DaemonOptions options;
  options.max_connections = 40;
  ASSERT_TRUE(SettleWorkers(options).ok());
  EXPECT_EQ(options.max_workers, 10);
  ASSERT_TRUE(SettleWorkers(options).ok());
  EXPECT_EQ(options.max_workers, 10);
  options.max_workers = 11;
  const auto detail = GetErrorDetail(SettleWorkers(options));
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason, "BAD_CONFIG");
  EXPECT_THAT(detail->limit, HasSubstr("10 connections of workers"));
  EXPECT_THAT(detail->fix, HasSubstr("max_connections to 44"));
}

TEST(ApplyConfigTest, TakesWhatIsSetAndRefusesNegatives) {
  DaemonOptions options;
  v1::DaemonConfig config;
  config.set_listen("host:1");
  config.set_max_queued_jobs(5);
  config.set_heartbeat_ms(100);
  config.set_job_threads(2);
  config.set_max_workers(7);
  config.set_max_worker_slots(9);
  config.set_worker_secret_file("/etc/secret");
  options.state_folder = "/s";
  EXPECT_EQ(WorkerSecretFile(options), "/s/worker_secret");
  ASSERT_TRUE(ApplyConfig(config, options).ok());
  EXPECT_EQ(options.listen, "host:1");
  EXPECT_EQ(options.workers_listen, "127.0.0.1:7434");
  EXPECT_EQ(options.max_queued_jobs, 5);
  EXPECT_EQ(options.max_running_jobs, 32);
  EXPECT_EQ(options.job_threads, 2);
  EXPECT_EQ(options.max_workers, 7);
  EXPECT_EQ(options.max_worker_slots, 9);
  EXPECT_EQ(WorkerSecretFile(options), "/etc/secret");
  EXPECT_EQ(options.heartbeat, absl::Milliseconds(100));
  config.set_max_blob_bytes(-1);
  EXPECT_FALSE(ApplyConfig(config, options).ok());
}

// What workers are served, nobody else is.
TEST_F(DaemonTest, TheWorkersListenerServesWorkersOnly) {
  const Digest blob = DigestOf("model");
  Upload("model");
  const auto channel = grpc::CreateChannel(daemon_->worker_address(),
                                           grpc::InsecureChannelCredentials());
  const auto cas = reapi::ContentAddressableStorage::NewStub(channel);
  reapi::BatchReadBlobsRequest request;
  request.add_digests()->set_hash(blob.hash);
  request.mutable_digests(0)->set_size_bytes(blob.size_bytes);
  reapi::BatchReadBlobsResponse response;
  for (const std::string& session : {std::string(), std::string(32, 'x')}) {
    grpc::ClientContext context;
    if (!session.empty()) context.AddMetadata(kSessionMetadata, session);
    EXPECT_EQ(cas->BatchReadBlobs(&context, request, &response).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
  }
  const auto bytes = bs::ByteStream::NewStub(channel);
  {
    bs::ReadRequest read;
    read.set_resource_name("blobs/" + blob.ToString());
    grpc::ClientContext context;
    bs::ReadResponse piece;
    const auto reader = bytes->Read(&context, read);
    EXPECT_FALSE(reader->Read(&piece));
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  // A client of the other listener is asked nothing.
  EXPECT_EQ(Read(blob), "model");
}

TEST_F(DaemonTest, AWorkerWithoutTheSecretIsToldNothingAndGetsNothing) {
  const auto stub = v1::Workers::NewStub(grpc::CreateChannel(
      daemon_->worker_address(), grpc::InsecureChannelCredentials()));
  for (const std::string& build : {std::string("other"), BuildDigest()}) {
    grpc::ClientContext context;
    const auto stream = stub->Session(&context);
    v1::DaemonMessage challenge;
    ASSERT_TRUE(stream->Read(&challenge));
    EXPECT_EQ(challenge.challenge().nonce().size(), kNonceBytes);
    v1::WorkerMessage hello;
    hello.mutable_hello()->set_build_digest(build);
    hello.mutable_hello()->add_roles(v1::COMPILE_ROLE);
    hello.mutable_hello()->set_slots(1024);
    hello.mutable_hello()->set_nonce(std::string(kNonceBytes, 'n'));
    hello.mutable_hello()->set_proof(std::string(32, 'p'));
    stream->Write(hello);
    v1::DaemonMessage more;
    EXPECT_FALSE(stream->Read(&more));
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(status.error_message().find(BuildDigest().substr(0, 12)),
              std::string::npos);
    EXPECT_NE(status.error_message().find("--secret-file"), std::string::npos);
  }
}

TEST_F(DaemonTest, QuarantineIsListedAndReleasedByItsIdOnly) {
  v1::ListQuarantineResponse page;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(jobs_->ListQuarantine(&context, {}, &page).ok());
  }
  EXPECT_EQ(page.stages_size(), 0);
  v1::ReleaseQuarantineRequest request;
  request.set_id(std::string(64, 'a'));
  v1::QuarantinedStage stage;
  grpc::ClientContext context;
  EXPECT_EQ(jobs_->ReleaseQuarantine(&context, request, &stage).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

// What a GET of `path` answers on a Unix socket.
std::string GetOver(const std::string& socket_path, const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  socket_path.copy(to.sun_path, sizeof(to.sun_path) - 1);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  const std::string request =
      absl::StrCat("GET ", path,
                   " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  while (true) {
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    if (got <= 0) break;
    answer.append(buffer, got);
  }
  close(fd);
  return answer;
}

TEST_F(DaemonTest, SaysWhatItDoes) {
  const auto worker = Worker();
  Watch(Create(Profile()).id());
  Watch(Create(Profile()).id());  // All is at hand now.
  v1::DaemonStatus status;
  const absl::Time end = absl::Now() + absl::Seconds(30);
  // A job is told to have ended a moment before it is counted.
  while ((!status.cache().has_bytes() || status.jobs().succeeded() < 2 ||
          status.jobs().running() > 0) &&
         absl::Now() < end) {
    grpc::ClientContext context;
    ASSERT_TRUE(daemon_stub_->GetStatus(&context, {}, &status).ok());
  }
  EXPECT_EQ(status.jobs().succeeded(), 2);
  EXPECT_EQ(status.jobs().running(), 0);
  EXPECT_EQ(status.refusal(), "");
  EXPECT_EQ(status.workers_size(), 1);
  int64_t executed = 0;
  int64_t hit = 0;
  for (const v1::DaemonStatus::Stage& stage : status.stages()) {
    executed += stage.executed();
    hit += stage.hit();
  }
  EXPECT_GT(executed, 3);
  EXPECT_EQ(hit, executed);
  EXPECT_EQ(executed, status.workers(0).succeeded());
  EXPECT_GT(status.cache().bytes(), 4096);
  EXPECT_GT(status.disk().free_bytes(), 0);
  EXPECT_GT(status.process().resident_bytes(), 1'000'000);
  EXPECT_EQ(status.process().client_connections(), 1);
  EXPECT_EQ(status.process().worker_connections(), 1);
  EXPECT_GE(status.now().seconds(), status.started().seconds());
  daemon_->Drain();
  grpc::ClientContext context;
  ASSERT_TRUE(daemon_stub_->GetStatus(&context, {}, &status).ok());
  EXPECT_NE(status.refusal(), "");
}

TEST_F(DaemonTest, SaysWhatItDoesUntilItsEnd) {
  std::vector<std::thread> clients;
  std::atomic<int> answers{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      v1::DaemonStatus status;
      while (true) {
        grpc::ClientContext context;
        if (!daemon_stub_->GetStatus(&context, {}, &status).ok()) return;
        ++answers;
      }
    });
  }
  while (answers < 100) absl::SleepFor(absl::Milliseconds(1));
  Stop();
  for (std::thread& client : clients) client.join();
}

TEST_F(DaemonTest, AnswersOverHttpWhereItIsAskedTo) {
  EXPECT_EQ(daemon_->http_address(), "");
  Stop();
  char folder[] = "/tmp/ekhttpXXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = absl::StrCat(folder, "/http");
  options_.http = absl::StrCat("unix:", path);
  Start();
  EXPECT_EQ(daemon_->http_address(), options_.http);
  EXPECT_THAT(GetOver(path, "/readyz"), HasSubstr("200 OK"));
  EXPECT_THAT(GetOver(path, "/"), HasSubstr("<title>edgekiln</title>"));
  EXPECT_THAT(GetOver(path, "/v1/targets"), HasSubstr("\"dla-64-o-512k\""));
  EXPECT_THAT(GetOver(path, "/v1/jobs/none/events"),
              HasSubstr("event: failed\ndata: {\"error\":{\"code\":404"));
  daemon_->Drain();
  EXPECT_THAT(GetOver(path, "/readyz"), HasSubstr("503"));
  Stop();
  std::filesystem::remove_all(folder);
  options_.http = "0.0.0.0:0";
  EXPECT_EQ(
      GetErrorDetail(StartDaemon(options_, *clock_, *log_).status())->reason,
      "INSECURE_NETWORK");
}

}  // namespace
}  // namespace edgekiln::server
