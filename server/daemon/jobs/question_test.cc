#include "server/daemon/jobs/question.h"

#include <deque>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "cache/disk_blob_store.h"
#include "cache/stage_result_store.h"
#include "cache/testing/crashing_file_system.h"
#include "gtest/gtest.h"
#include "server/daemon/stages/testing/fake_stages.h"

namespace edgekiln::server {
namespace {

class QuestionTest : public testing::Test {
 protected:
  QuestionTest() {
    blobs_ = *cache::OpenDiskBlobStore(files_, "/s");
    results_ = *cache::OpenDiskStageResultStore(files_, "/r", *blobs_);
    leases_ = std::make_unique<Leases>(*blobs_);
    runner_ =
        std::make_unique<StageRunner>(*results_, *blobs_, *leases_, *log_);
    questions_ = std::make_unique<Questions>(
        QuestionOptions{.max_questions = 100, .worker_grace = absl::Seconds(4)},
        *runner_, *executor_, clock_);
  }

  // Tells those who wait that there is no worker.
  class Leases : public FakeLeases {
   public:
    using FakeLeases::FakeLeases;
    uint64_t Submit(LeaseRequest request, LeaseCallbacks callbacks) override {
      v1::JobEvent::Waiting why;
      why.set_cause(v1::JobEvent::Waiting::NO_WORKER);
      why.set_reason("no worker");
      callbacks.waiting(why);
      return FakeLeases::Submit(std::move(request), std::move(callbacks));
    }
  };

  Task<absl::Status> Resolve(JobContext& stages, std::string text) {
    StageCall call;
    call.name = "resolve_target";
    call.options.mutable_resolve_target();
    v1::BlobRef& input = call.inputs.emplace_back();
    input.set_role("target");
    *input.mutable_digest() = PutText(*blobs_, text);
    const auto stage = stages.Start(std::move(call));
    const auto& result = co_await ResultOf(stage);
    co_return result.status();
  }

  std::shared_ptr<Question> Ask(const std::string& text) {
    answers_.emplace_back();
    return questions_->Ask(
        [this, text](JobContext& stages, Executor&) {
          return Resolve(stages, text);
        },
        [answer = &answers_.back()](absl::Status status) {
          answer->set_value(std::move(status));
        });
  }
  absl::Status Answer() {
    absl::Status answer = answers_.front().get_future().get();
    answers_.pop_front();
    return answer;
  }

  cache::CrashingFileSystem files_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  const std::unique_ptr<Executor> executor_ = *Executor::New(2);
  FakeClock clock_;
  std::unique_ptr<cache::BlobStore> blobs_;
  std::unique_ptr<cache::StageResultStore> results_;
  std::unique_ptr<Leases> leases_;
  std::unique_ptr<StageRunner> runner_;
  std::deque<std::promise<absl::Status>> answers_;
  std::unique_ptr<Questions> questions_;
};

TEST_F(QuestionTest, IsAnsweredByStages) {
  Ask("conv;sram=64");
  EXPECT_TRUE(Answer().ok());
  Ask("nonsense");
  EXPECT_EQ(Answer().message(), "resolve_target: not a target");
}

TEST_F(QuestionTest, TooManyAreRefused) {
  leases_->Block("resolve_target");
  for (int i = 0; i < 100; ++i) Ask("conv;sram=64");
  EXPECT_EQ(Ask("conv;sram=64"), nullptr);
  const absl::Status refused = answers_.back().get_future().get();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(GetErrorDetail(refused)->reason, "TOO_MANY_QUESTIONS");
  answers_.pop_back();
  questions_->Stop();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(GetErrorDetail(Answer())->reason, "SHUTTING_DOWN");
  }
  EXPECT_EQ(Ask("conv;sram=64"), nullptr);
  EXPECT_EQ(GetErrorDetail(Answer())->reason, "SHUTTING_DOWN");
}

TEST_F(QuestionTest, EndsWithItsAsker) {
  leases_->Block("resolve_target");
  const auto question = Ask("conv;sram=64");
  question->Cancel(absl::CancelledError("left"));
  EXPECT_TRUE(absl::IsCancelled(Answer()));
  EXPECT_FALSE(leases_->Blocks());
}

TEST_F(QuestionTest, WaitsForAWorkerNoLongerThanThat) {
  leases_->Block("resolve_target");
  Ask("conv;sram=64");
  while (!leases_->Blocks()) std::this_thread::yield();
  clock_.Advance(absl::Seconds(3));
  questions_->Tick();
  EXPECT_TRUE(leases_->Blocks());
  clock_.Advance(absl::Seconds(2));
  questions_->Tick();
  const absl::Status late = Answer();
  EXPECT_TRUE(absl::IsUnavailable(late));
  EXPECT_EQ(GetErrorDetail(late)->reason, "NO_WORKER");
  EXPECT_FALSE(leases_->Blocks());
}

}  // namespace
}  // namespace edgekiln::server
