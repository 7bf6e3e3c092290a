#include "server/daemon/jobs/job_watchers.h"

#include <grpcpp/grpcpp.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "gtest/gtest.h"
#include "tests/support/process_threads.h"

namespace edgekiln::server {
namespace {

int64_t WakeUpsOfThisProcess() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

class WatchService final
    : public v1::Jobs::WithRawCallbackMethod_WatchJob<v1::Jobs::Service> {
 public:
  explicit WatchService(JobWatchers& watchers) : watchers_(watchers) {}
  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchJob(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* request) override {
    return watchers_.Watch(*request, context->peer());
  }

 private:
  JobWatchers& watchers_;
};

// A call whose answers come to a queue that many calls share.
struct Call {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncReader<v1::JobEvent>> reader;
  v1::JobEvent event;
  grpc::Status status;
  int64_t last = 0;  // Sequence.
  enum { kStarting, kReading, kFinishing } state = kStarting;
};

// A store, a journal and a server that lets jobs be watched.
class JobWatchersTest : public testing::Test {
 protected:
  JobWatchersTest() {
    const std::string folder =
        testing::TempDir() + "job_watchers_" +
        testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    store_ = *JobStore::Open(folder + "/jobs.db");
    journal_ = std::make_unique<JobJournal>(*store_, *clock_, *log_);
    watchers_ = std::make_unique<JobWatchers>(*store_, *journal_, *executor_,
                                              activity_, /*max_watchers=*/2000);
    service_ = std::make_unique<WatchService>(*watchers_);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::Jobs::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                            grpc::InsecureChannelCredentials()));
    v1::Job job;
    job.set_id("job");
    job.set_state(v1::QUEUED);
    journal_->Create(job, v1::JobEvent(), [](const absl::Status&) {});
    journal_->Flush();
    ticker_ = std::thread([this] {
      while (!stopping_) {
        if (!paused_) watchers_->Tick();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  }

  ~JobWatchersTest() override {
    journal_->Stop();
    // Who still waits for a turn gets it.
    paused_ = false;
    server_->Shutdown(std::chrono::system_clock::now());
    stopping_ = true;
    ticker_.join();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  std::unique_ptr<Call> Watch(const std::string& job = "job") {
    auto call = std::make_unique<Call>();
    v1::WatchJobRequest request;
    request.set_id(job);
    call->reader =
        stub_->AsyncWatchJob(&call->context, request, &queue_, call.get());
    return call;
  }

  // For what comes only if the code is right.
  static constexpr std::chrono::seconds kPatience{20};

  // Waits until no more calls are under way.
  void UntilUnderWay(int most) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    while (watchers_->count() > most) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up)
          << watchers_->count() << " calls are under way";
      std::this_thread::yield();
    }
  }

  // Handles answers until `enough` calls have seen event `sequence`, or their
  // end if that is 0.
  void Until(int enough, int64_t sequence) {
    int got = 0;
    while (got < enough) {
      void* tag = nullptr;
      bool ok = false;
      ASSERT_EQ(queue_.AsyncNext(&tag, &ok,
                                 std::chrono::system_clock::now() + kPatience),
                grpc::CompletionQueue::GOT_EVENT)
          << got << " of " << enough << " have seen " << sequence;
      if (Handle(*static_cast<Call*>(tag), ok) == sequence) ++got;
    }
  }

  // Handles answers until none has come for that long.
  void UntilQuiet(std::chrono::milliseconds quiet) {
    void* tag = nullptr;
    bool ok = false;
    while (
        queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + quiet) ==
        grpc::CompletionQueue::GOT_EVENT) {
      Handle(*static_cast<Call*>(tag), ok);
    }
  }

  // The sequence number of the event that came, 0 for the end of the call, -1
  // for nothing of interest.
  static int64_t Handle(Call& call, bool ok) {
    if (call.state == Call::kFinishing) return 0;
    const bool has_event = call.state == Call::kReading && ok;
    if (has_event) {
      EXPECT_EQ(call.event.sequence(), call.last + 1);
      call.last = call.event.sequence();
    }
    call.state = ok ? Call::kReading : Call::kFinishing;
    if (ok) {
      call.reader->Read(&call.event, &call);
    } else {
      call.reader->Finish(&call.status, &call);
    }
    return has_event ? call.last : -1;
  }

  void FinishJob() {
    v1::Job job;
    job.set_id("job");
    job.set_state(v1::SUCCEEDED);
    v1::JobEvent last;
    last.set_state(v1::SUCCEEDED);
    journal_->Finish(job, {}, last, nullptr);
  }

  const std::unique_ptr<Clock> clock_ = NewRealClock();
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  const std::unique_ptr<Executor> executor_ = *Executor::New(2);
  Activity activity_{*clock_};
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<JobJournal> journal_;
  std::unique_ptr<JobWatchers> watchers_;
  std::unique_ptr<WatchService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Jobs::Stub> stub_;
  grpc::CompletionQueue queue_;
  std::atomic<bool> paused_{false};
  std::atomic<bool> stopping_{false};
  std::thread ticker_;
};

TEST_F(JobWatchersTest, ThousandsTakeNoThreadsAndSleepWhileNothingHappens) {
  constexpr int kWatchers = 2000;
  std::vector<std::unique_ptr<Call>> calls;
  calls.push_back(Watch());
  Until(1, 1);
  const int threads = tests::ThreadsOfThisProcess();
  for (int i = 1; i < kWatchers; ++i) calls.push_back(Watch());
  Until(kWatchers - 1, 1);
  // gRPC may add some of its own.
  EXPECT_LE(tests::ThreadsOfThisProcess(), threads + 16);
  const int64_t wake_ups = WakeUpsOfThisProcess();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  // Polling was ten thousand.
  EXPECT_LT(WakeUpsOfThisProcess() - wake_ups, 1000);
  // One too many is refused, and told why.
  auto refused = Watch();
  Until(1, 0);
  EXPECT_EQ(refused->status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(refused->status.error_message().find("2000 at once"),
            std::string::npos);
  FinishJob();
  Until(kWatchers, 0);
  for (const auto& call : calls) {
    EXPECT_TRUE(call->status.ok()) << call->status.error_message();
    EXPECT_EQ(call->last, 2);
  }
  EXPECT_LE(tests::ThreadsOfThisProcess(), threads + 16);
}

TEST_F(JobWatchersTest, EveryEventComesOnceAndInOrder) {
  std::vector<std::unique_ptr<Call>> calls;
  constexpr int kEvents = 2000;  // Several batches.
  for (int i = 0; i < 10; ++i) {
    calls.push_back(Watch());
    for (int n = 0; n < kEvents / 10; ++n) {
      journal_->Append("job", v1::JobEvent());
    }
  }
  FinishJob();
  Until(10, 0);
  for (const auto& call : calls) {
    EXPECT_TRUE(call->status.ok());
    EXPECT_EQ(call->last, kEvents + 2);
  }
  // Afterwards they come from the store alone.
  const auto late = Watch();
  Until(1, 0);
  EXPECT_EQ(late->last, kEvents + 2);
  const auto unknown = Watch("nobody knows");
  Until(1, 0);
  EXPECT_EQ(unknown->status.error_code(), grpc::StatusCode::NOT_FOUND);
}

// Those who leave are forgotten at once, not when the job says something.
TEST_F(JobWatchersTest, WhoLeavesMakesRoom) {
  constexpr int kWatchers = 2000;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < kWatchers; ++i) calls.push_back(Watch());
    Until(kWatchers, 1);
    for (const auto& call : calls) call->context.TryCancel();
    Until(kWatchers, 0);
    for (const auto& call : calls) {
      EXPECT_EQ(call->status.error_code(), grpc::StatusCode::CANCELLED);
    }
    while (activity_.IdleFor() == absl::ZeroDuration()) {
      std::this_thread::yield();
    }
  }
}

// Those beyond are sent what the ticks allow, the others everything at once.
TEST_F(JobWatchersTest, FewWatchersOfAJobAreServedBesideACrowd) {
  constexpr int kPrompt = JobWatchers::kPromptWatchers;
  constexpr int kCrowd = 100;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < kPrompt; ++i) calls.push_back(Watch());
  Until(kPrompt, 1);
  for (int i = 0; i < kCrowd; ++i) calls.push_back(Watch());
  Until(kCrowd, 1);
  paused_ = true;
  constexpr int kEvents = 40;
  for (int n = 0; n < kEvents; ++n) journal_->Append("job", v1::JobEvent());
  Until(kPrompt, kEvents + 1);
  UntilQuiet(std::chrono::milliseconds(200));
  int64_t sent = 0;
  for (int i = 0; i < kCrowd; ++i) sent += calls[kPrompt + i]->last - 1;
  // What is left of one tick, perhaps another one; turns that have begun end.
  EXPECT_LE(sent, 2 * JobWatchers::kCrowdEvents + 8 * kEvents);
  // A crowd that leaves is forgotten all the same.
  for (int i = 0; i < kCrowd; ++i) calls[kPrompt + i]->context.TryCancel();
  Until(kCrowd, 0);
  UntilUnderWay(kPrompt);
  FinishJob();
  Until(kPrompt, 0);
  for (int i = 0; i < kPrompt; ++i) EXPECT_EQ(calls[i]->last, kEvents + 2);
}

// A place that becomes free is taken by one of the crowd, once it has nothing
// to read.
TEST_F(JobWatchersTest, PlacesOfThoseWhoLeaveAreTaken) {
  constexpr int kPrompt = JobWatchers::kPromptWatchers;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < kPrompt; ++i) calls.push_back(Watch());
  Until(kPrompt, 1);
  calls.push_back(Watch());
  Until(1, 1);
  for (int i = 0; i < kPrompt; ++i) calls[i]->context.TryCancel();
  Until(kPrompt, 0);
  UntilUnderWay(1);
  journal_->Append("job", v1::JobEvent());
  Until(1, 2);
  // More than a crowd is sent in two ticks, of which none comes.
  paused_ = true;
  constexpr int64_t kEvents = 3 * JobWatchers::kCrowdEvents;
  for (int64_t n = 0; n < kEvents; ++n) journal_->Append("job", v1::JobEvent());
  Until(1, kEvents + 2);
}

TEST_F(JobWatchersTest, TheEndOfTheJournalEndsThem) {
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(Watch());
  Until(100, 1);
  std::thread stopper([&] { journal_->Stop(); });
  Until(100, 0);
  stopper.join();
  calls.push_back(Watch());
  Until(1, 0);
  for (const auto& call : calls) {
    EXPECT_EQ(call->status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_NE(call->status.error_message().find("shutting down"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace edgekiln::server
