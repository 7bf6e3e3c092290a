#include "server/daemon/jobs/job_watchers.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/jobs/request_bounds.h"
#include "server/daemon/raw_call.h"
#include "server/daemon/rpc_status.h"
#include "server/daemon/shutting_down.h"

namespace edgekiln::server {
namespace {

// Events that one watcher holds at most, and one of the crowd: who has missed
// many there lets those pass that wait for one.
constexpr size_t kEventsAtOnce = 256;
constexpr size_t kCrowdEventsAtOnce = 32;

absl::Status TooManyWatchers(int limit) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   {.fault = Fault::kQuota,
                    .reason = "TOO_MANY_WATCHERS",
                    .what = "too many calls watch jobs of this daemon",
                    .limit = absl::StrCat(limit, " at once"),
                    .need = "one of them to end",
                    .fix = "try again in some seconds, or poll GetJob"});
}

}  // namespace

// One call. Either it waits for the journal, or it has one owner: the queue for
// turns, the thread that reads for it, or gRPC while it writes. Only
// the owner touches members that are not guarded, and ends the call.
class JobWatchers::Watcher final
    : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
      public Executor::Work,
      public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(JobWatchers& watchers, std::shared_ptr<WatchedJob> job,
          const std::string& connection, int64_t after)
      : watchers_(watchers),
        call_(watchers.activity_),
        connection_(connection),
        job_(std::move(job)),
        after_(after),
        turns_(watchers.crowd_) {}
  ~Watcher() {
    if (is_prompt_) job_->GiveBackPlace();
  }

  void Start() {
    self_ = shared_from_this();
    AwaitNews();
  }

  // Its turn begins.
  void Run() override {
    const std::shared_ptr<Watcher> self = std::move(reading_);
    has_turn_ = true;
    if (IsCancelled()) return End(WatcherLeft());
    absl::StatusOr<WatchedJob::Events> events =
        job_->After(after_, is_prompt_ ? kEventsAtOnce : kCrowdEventsAtOnce);
    if (!events.ok()) return End(events.status());
    if (events->empty()) {
      if (news_ != JobJournal::News::kEnded) return AwaitNews();
      // Over, or not a job at all.
      return End(watchers_.store_.Get(job_->id()).status());
    }
    events_ = *std::move(events);
    turns()->Count(events_.size());
    next_ = 0;
    WriteNext();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(WatcherLeft());
    after_ = events_[next_++]->sequence;
    if (next_ < events_.size()) return WriteNext();
    events_ = {};
    AwaitNews();
  }

  // Who has the watcher learns of it soon: gRPC fails the write.
  void OnCancel() override {
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
    }
    if (Take() || Withdraw()) End(WatcherLeft());
  }

  void OnDone() override {
    watchers_.journal_.Unsubscribe(job_->id(), this);
    watchers_.Leave();
    const std::shared_ptr<Watcher> last = std::move(self_);
  }

 private:
  static absl::Status WatcherLeft() {
    return absl::CancelledError("watcher left");
  }

  // What was read at once is sent at once, together with the end of the call if
  // it is there. But the first write carries the initial metadata: gRPC 1.51
  // ends it only once those have been sent, which a hint puts off for seconds.
  void WriteNext() {
    const std::shared_ptr<Watcher> self = shared_from_this();
    const WatchedJob::Event& event = *events_[next_];
    grpc::WriteOptions options;
    if (event.is_end) {
      EndTurn();
      return StartWriteAndFinish(&event.bytes, options, grpc::Status::OK);
    }
    if (std::exchange(begun_, true) && next_ + 1 < events_.size()) {
      options.set_buffer_hint();
    }
    StartWrite(&event.bytes, options);
  }

  void EndTurn() {
    if (std::exchange(has_turn_, false)) turns()->End(*this);
  }

  // Who is in no queue may leave the crowd.
  void TryToBePrompt() {
    if (is_prompt_ || !job_->TakePlace(kPromptWatchers)) return;
    is_prompt_ = true;
    std::shared_ptr<WatchTurns> own = watchers_.TurnsOf(connection_);
    MutexLock lock(mutex_);
    turns_.swap(own);
  }

  std::shared_ptr<WatchTurns> turns() {
    MutexLock lock(mutex_);
    return turns_;
  }

  // Whoever has the watcher gives it up.
  void AwaitNews() {
    const std::shared_ptr<Watcher> self = shared_from_this();
    EndTurn();
    TryToBePrompt();
    bool left = false;
    {
      MutexLock lock(mutex_);
      left = cancelled_;
      waits_ = !left;
    }
    if (left) return End(WatcherLeft());
    watchers_.journal_.Subscribe(
        job_->id(), after_, this,
        [weak = weak_from_this()](JobJournal::News news) {
          if (const auto watcher = weak.lock()) watcher->OnNews(news);
        });
    MutexLock lock(mutex_);
    left = cancelled_;
    lock.Unlock();
    // It may have ended before it had subscribed.
    if (left) watchers_.journal_.Unsubscribe(job_->id(), this);
  }

  // True for one of those who want to have it once it waits.
  bool Take() {
    MutexLock lock(mutex_);
    return std::exchange(waits_, false);
  }

  bool IsCancelled() {
    MutexLock lock(mutex_);
    return cancelled_;
  }

  // Takes it out of the queue for turns. False if it is not there.
  bool Withdraw() {
    if (!turns()->Withdraw(*this)) return false;
    reading_.reset();  // Run() will not be called.
    return true;
  }

  // The journal's thread has other things to do than to read for us.
  void OnNews(JobJournal::News news) {
    if (!Take()) return;
    if (news == JobJournal::News::kStopped) return End(ShuttingDown());
    news_ = news;
    const std::shared_ptr<Watcher> self = shared_from_this();
    reading_ = self;
    // What is in memory needs no thread that may wait for the disk.
    if (watchers_.store_.HasEventsAtHand(job_->id()) &&
        turns()->TryBegin(*this)) {
      return Run();
    }
    turns()->Begin(*this, connection_);
    // The call may have been cancelled before it was in the queue.
    if (IsCancelled() && Withdraw()) End(WatcherLeft());
  }

  void End(const absl::Status& status) {
    // OnDone() may come while Finish() has not returned.
    const std::shared_ptr<Watcher> self = shared_from_this();
    EndTurn();
    Finish(ToGrpc(status));
  }

  JobWatchers& watchers_;
  const Activity::Call call_;
  const std::string connection_;
  const std::shared_ptr<WatchedJob> job_;
  bool is_prompt_ = false;  // Has a place.
  int64_t after_;
  WatchedJob::Events events_;
  size_t next_ = 0;     // Of them: that is being written.
  bool begun_ = false;  // Something was written.
  bool has_turn_ = false;
  JobJournal::News news_ = JobJournal::News::kNone;
  std::shared_ptr<Watcher> self_;     // Until OnDone().
  std::shared_ptr<Watcher> reading_;  // From OnNews() to Run().
  Mutex mutex_;
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;  // Nobody has it.
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Changes only while it is in none of their queues.
  std::shared_ptr<WatchTurns> turns_ ABSL_GUARDED_BY(mutex_);
};

class JobWatchers::Refusal final
    : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit Refusal(const absl::Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

template <typename T, typename Make>
std::shared_ptr<T> JobWatchers::Share(Used<T>& used, const std::string& key,
                                      const Make& make) {
  std::weak_ptr<T>& known = used[key];
  if (std::shared_ptr<T> shared = known.lock()) return shared;
  const std::shared_ptr<T> made(make(), [this, &used, key](T* unused) {
    delete unused;
    MutexLock lock(mutex_);
    const auto it = used.find(key);
    // Another thread may have made a new one meanwhile.
    if (it != used.end() && it->second.expired()) used.erase(it);
  });
  known = made;
  return made;
}

std::shared_ptr<WatchedJob> JobWatchers::JobOf(const std::string& id) {
  MutexLock lock(mutex_);
  return Share(jobs_, id, [&] { return new WatchedJob(id, store_); });
}

std::shared_ptr<WatchTurns> JobWatchers::TurnsOf(const std::string& peer) {
  MutexLock lock(mutex_);
  return Share(connections_, peer, [&] { return new WatchTurns(executor_); });
}

void JobWatchers::Tick() {
  std::vector<std::shared_ptr<WatchTurns>> all;
  {
    MutexLock lock(mutex_);
    for (const auto& [peer, turns] : connections_) {
      if (auto used = turns.lock()) all.push_back(std::move(used));
    }
  }
  all.push_back(crowd_);
  for (const auto& turns : all) turns->Tick();
}

bool JobWatchers::Enter() {
  MutexLock lock(mutex_);
  if (watchers_ >= max_watchers_) return false;
  ++watchers_;
  return true;
}

void JobWatchers::Leave() {
  MutexLock lock(mutex_);
  --watchers_;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* JobWatchers::Watch(
    const grpc::ByteBuffer& request, const std::string& peer) {
  v1::WatchJobRequest wanted;
  if (absl::Status bad = ParseRequest(request, wanted); !bad.ok()) {
    return new Refusal(bad);
  }
  if (absl::Status bad = CheckBounds(wanted); !bad.ok()) {
    return new Refusal(bad);
  }
  if (!Enter()) return new Refusal(TooManyWatchers(max_watchers_));
  const auto watcher = std::make_shared<Watcher>(*this, JobOf(wanted.id()),
                                                 peer, wanted.after_sequence());
  watcher->Start();
  return watcher.get();
}

}  // namespace edgekiln::server
