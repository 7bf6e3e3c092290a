#include "tests/chaos/kill_suite.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "client/watch.h"
#include "tests/chaos/farm.h"
#include "tests/chaos/requests.h"
#include "tests/chaos/steady_uploads.h"
#include "tests/chaos/verify.h"
#include "tests/chaos/watched_job.h"

namespace edgekiln::chaos {
namespace {

// A stage whose workers are lost again and again is given up on purpose; a
// round stays below that.
constexpr int kMaxWorkerKillsPerRound = 4;
constexpr int kMaxKillsPerRound = 8;
constexpr absl::Duration kRoundLimit = absl::Minutes(2);
constexpr absl::Duration kPoll = absl::Milliseconds(2);
// What CreateJob and the daemon's start take about.
constexpr int64_t kCreateMicroseconds = 4000;
constexpr int64_t kStartMilliseconds = 40;

constexpr int kAsks = 5;

bool IsUnavailable(const absl::StatusOr<v1::Job>& job) {
  return absl::IsUnavailable(job.status());
}

enum class Victim { kDaemon, kWorker, kBoth };

class KillSuite {
 public:
  KillSuite(const KillOptions& options, KillStatistics& statistics)
      : options_(options),
        statistics_(statistics),
        rng_(options.seed),
        work_(AllWork(options.source, options.shared)) {}

  absl::Status Run() {
    absl::Status status = RunRounds();
    if (farm_ != nullptr) statistics_.dropped = farm_->dropped();
    if (status.ok()) return status;
    for (Scratch* scratch : {&scratch_, &quiet_scratch_}) scratch->Keep();
    return absl::Status(
        status.code(),
        absl::StrCat(status.message(), "; seed ", options_.seed, ", round ",
                     statistics_.rounds, ", state and logs in ",
                     scratch_.path(), ", of the quiet farm in ",
                     quiet_scratch_.path()));
  }

 private:
  struct Round {
    std::vector<v1::CreateJobRequest> requests;
    std::vector<v1::Report> expected;
    std::vector<std::unique_ptr<WatchedJob>> jobs;
    std::unique_ptr<SteadyUploads> uploads;
    absl::Duration quiet_time;  // What one of the jobs takes undisturbed.
    int kills = 0;
    int worker_kills = 0;  // Since the daemon was started.
  };

  absl::Status RunRounds() {
    FarmOptions options{.bin = options_.bin, .workers = options_.workers};
    EK_ASSIGN_OR_RETURN(quiet_farm_, Farm::Start(options, quiet_scratch_));
    options.drop_unsynced = options_.drop_unsynced;
    EK_ASSIGN_OR_RETURN(farm_, Farm::Start(options, scratch_));
    connection_ = Connect(farm_->address(), *files_, *clock_);
    quiet_ = Connect(quiet_farm_->address(), *files_, *clock_);
    while (statistics_.kills() < options_.kills) {
      ++statistics_.rounds;
      EK_RETURN_IF_ERROR(RunRound());
    }
    EK_RETURN_IF_ERROR(CheckNoJobIsLost());
    EK_RETURN_IF_ERROR(CheckNoJobIsDoubled());
    EK_RETURN_IF_ERROR(quiet_farm_->Stop());
    EK_RETURN_IF_ERROR(farm_->Stop());
    EK_ASSIGN_OR_RETURN(const BlobCount count,
                        VerifyBlobs(farm_->blobs_folder()));
    if (count.torn > 0 && !options_.drop_unsynced) {
      return absl::DataLossError("a blob is torn");
    }
    statistics_.blobs = count.blobs;
    statistics_.blob_bytes = count.bytes;
    return absl::OkStatus();
  }

  absl::Status RunRound() {
    Round round;
    const int jobs = static_cast<int>(rng_.InRange(1, 2));
    for (int i = 0; i < jobs; ++i) {
      EK_RETURN_IF_ERROR(AddJob(round), "the quiet farm");
    }
    round.uploads = std::make_unique<SteadyUploads>(
        rng_.Next(), scratch_.At("upload"), farm_->address(), *files_, *clock_);
    for (const v1::CreateJobRequest& request : round.requests) {
      EK_ASSIGN_OR_RETURN(const v1::Job job, Create(request, round));
      ids_.push_back(job.id());
      round.jobs.push_back(std::make_unique<WatchedJob>(
          job.id(), farm_->address(), *files_, *clock_));
    }
    const absl::Time deadline = absl::Now() + kRoundLimit;
    while (!AllOver(round)) {
      if (absl::Now() > deadline) {
        return absl::DeadlineExceededError("a job does not end");
      }
      SleepAWhile(round);
      const bool enough = round.kills >= kMaxKillsPerRound ||
                          statistics_.kills() >= options_.kills;
      if (!enough) EK_RETURN_IF_ERROR(KillOnce(round));
    }
    for (size_t i = 0; i < round.jobs.size(); ++i) {
      EK_RETURN_IF_ERROR(CheckJob(round, i),
                         absl::StrCat("job ", round.jobs[i]->id(), " (",
                                      round.requests[i].model_name(), ")"));
    }
    EK_RETURN_IF_ERROR(round.uploads->Finish(*connection_), "uploads");
    statistics_.uploads += round.uploads->uploads();
    return absl::OkStatus();
  }

  // Half of the time the daemon dies while it is asked, or just after.
  absl::StatusOr<v1::Job> Create(const v1::CreateJobRequest& request,
                                 const Round& round) {
    if (rng_.Below(2) == 0) return connection_->CreateJob(request);
    std::optional<absl::StatusOr<v1::Job>> created;
    std::atomic<bool> answered{false};
    // The connection is the thread's alone until it is joined.
    std::thread asking([&] {
      // On a busy machine a restart may take longer than a client waits.
      for (int i = 0; i < kAsks && (i == 0 || IsUnavailable(*created)); ++i) {
        created = connection_->CreateJob(request);
      }
      answered = true;
    });
    const bool await_answer = rng_.Below(2) == 0;
    while (await_answer && !answered) absl::SleepFor(absl::Microseconds(50));
    absl::SleepFor(absl::Microseconds(rng_.InRange(0, kCreateMicroseconds)));
    const bool before = answered;
    absl::Status killed = KillDaemon(round);
    ++(before || answered ? statistics_.created_kills
                          : statistics_.create_kills);
    if (killed.ok()) killed = farm_->StartDaemon().status();
    asking.join();
    EK_RETURN_IF_ERROR(killed);
    EK_RETURN_IF_ERROR(created->status(), "CreateJob through a kill");
    // Not the same as asking for it again, which would make a lost one anew.
    return connection_->GetJob((*created)->id());
  }

  absl::Status KillDaemon(const Round& round) {
    const int64_t upload = round.uploads->under_way();
    EK_RETURN_IF_ERROR(farm_->KillDaemon());
    if (upload != 0 && round.uploads->under_way() == upload) {
      ++statistics_.upload_kills;
    }
    return absl::OkStatus();
  }

  // Runs a new request on the quiet farm and uploads it to the other.
  absl::Status AddJob(Round& round) {
    const Work& work = work_[rng_.Below(work_.size())];
    const std::string chip = scratch_.At("chip.txtpb");
    EK_RETURN_IF_ERROR(WriteChip(*files_, next_chip_++, chip));
    const std::string id = absl::StrCat("kill-", next_chip_);
    EK_ASSIGN_OR_RETURN(const v1::CreateJobRequest request,
                        Prepare(work, chip, id, *files_, *quiet_));
    EK_RETURN_IF_ERROR(Prepare(work, chip, id, *files_, *connection_).status());
    const absl::Time start = absl::Now();
    EK_ASSIGN_OR_RETURN(const v1::Job job, quiet_->CreateJob(request));
    const WatchedJob watched(job.id(), quiet_farm_->address(), *files_,
                             *clock_);
    while (!watched.over()) {
      if (absl::Now() - start > kRoundLimit) {
        return absl::DeadlineExceededError("a job does not end");
      }
      absl::SleepFor(kPoll);
    }
    EK_ASSIGN_OR_RETURN(v1::Report report, quiet_->GetReport(job.id(), 0));
    if (report.has_error() || report.accuracy().samples() == 0 ||
        report.bit_exact().outputs_compared() == 0) {
      return absl::InternalError("nothing was validated");
    }
    round.quiet_time = std::max(round.quiet_time, absl::Now() - start);
    round.requests.push_back(request);
    round.expected.push_back(std::move(report));
    return absl::OkStatus();
  }

  static bool AllOver(const Round& round) {
    return std::all_of(round.jobs.begin(), round.jobs.end(),
                       [](const auto& job) { return job->over(); });
  }

  // A random part of what a job takes, unless all end before.
  void SleepAWhile(const Round& round) {
    const absl::Time until = absl::Now() + 0.7 * rng_.Unit() * round.quiet_time;
    while (absl::Now() < until && !AllOver(round)) absl::SleepFor(kPoll);
  }

  absl::Status KillOnce(Round& round) {
    const std::string& id = round.jobs[rng_.Below(round.jobs.size())]->id();
    EK_ASSIGN_OR_RETURN(const v1::Job before, connection_->GetJob(id));
    if (before.state() != v1::RUNNING) return absl::OkStatus();
    auto victim = static_cast<Victim>(rng_.Below(3));
    if (victim == Victim::kWorker &&
        round.worker_kills >= kMaxWorkerKillsPerRound) {
      victim = Victim::kDaemon;
    }
    const int worker = static_cast<int>(rng_.Below(farm_->workers()));
    EK_RETURN_IF_ERROR(Strike(victim, worker, round));
    EK_ASSIGN_OR_RETURN(const v1::Job after, connection_->GetJob(id));
    ++round.kills;
    if (client::IsFinal(after.state())) {
      // Perhaps it was over in the instant between the look and the kill.
      ++statistics_.late;
    } else if (victim == Victim::kDaemon) {
      ++statistics_.daemon_kills;
    } else if (victim == Victim::kWorker) {
      ++statistics_.worker_kills;
    } else {
      ++statistics_.joint_kills;
    }
    return absl::OkStatus();
  }

  // Kills, waits for a random moment, starts again in a random order.
  absl::Status Strike(Victim victim, int worker, Round& round) {
    if (victim == Victim::kWorker) {
      farm_->KillWorker(worker);
      ++round.worker_kills;
      absl::SleepFor(absl::Milliseconds(rng_.InRange(0, 20)));
      return farm_->StartWorker(worker);
    }
    EK_RETURN_IF_ERROR(KillDaemon(round));
    round.worker_kills = 0;
    const bool both = victim == Victim::kBoth;
    const bool workers_first = rng_.Below(2) == 0;
    for (int i = 0; both && i < farm_->workers(); ++i) farm_->KillWorker(i);
    absl::SleepFor(absl::Milliseconds(rng_.InRange(0, 50)));
    if (both && workers_first) EK_RETURN_IF_ERROR(StartWorkers());
    while (rng_.Below(4) == 0) {
      EK_RETURN_IF_ERROR(farm_->KillStartingDaemon(
          absl::Milliseconds(rng_.InRange(0, kStartMilliseconds))));
      ++statistics_.starting_kills;
    }
    EK_ASSIGN_OR_RETURN(const absl::Duration took, farm_->StartDaemon());
    statistics_.slowest_restart = std::max(statistics_.slowest_restart, took);
    if (both && !workers_first) EK_RETURN_IF_ERROR(StartWorkers());
    return absl::OkStatus();
  }

  absl::Status StartWorkers() {
    for (int i = 0; i < farm_->workers(); ++i) {
      EK_RETURN_IF_ERROR(farm_->StartWorker(i));
    }
    return absl::OkStatus();
  }

  absl::Status CheckJob(Round& round, size_t index) {
    WatchedJob& watched = *round.jobs[index];
    EK_RETURN_IF_ERROR(watched.Check(*connection_, options_.drop_unsynced));
    EK_ASSIGN_OR_RETURN(const v1::Job job, connection_->GetJob(watched.id()));
    if (job.state() != v1::SUCCEEDED) {
      return absl::DataLossError(absl::StrCat(v1::JobState_Name(job.state()),
                                              ": ", job.error().message()));
    }
    EK_ASSIGN_OR_RETURN(const v1::Report report,
                        connection_->GetReport(watched.id(), 0));
    EK_RETURN_IF_ERROR(SameReport(round.expected[index], report));
    // The same request again is the same job, also after all that.
    EK_ASSIGN_OR_RETURN(const v1::Job again,
                        connection_->CreateJob(round.requests[index]));
    if (again.id() != watched.id()) {
      return absl::DataLossError("its request_id made a second job");
    }
    ++statistics_.jobs;
    statistics_.events += watched.events();
    statistics_.samples += report.accuracy().samples();
    statistics_.outputs_compared += report.bit_exact().outputs_compared();
    return absl::OkStatus();
  }

  // Everything acknowledged in all rounds is still there.
  absl::Status CheckNoJobIsLost() {
    for (const std::string& id : ids_) {
      EK_ASSIGN_OR_RETURN(const v1::Job job, connection_->GetJob(id));
      if (job.state() != v1::SUCCEEDED) {
        return absl::DataLossError(absl::StrCat(
            "job ", id, " became ", v1::JobState_Name(job.state())));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckNoJobIsDoubled() {
    v1::ListJobsRequest request;
    request.set_page_size(1000);
    size_t jobs = 0;
    do {
      EK_ASSIGN_OR_RETURN(const v1::ListJobsResponse page,
                          connection_->ListJobs(request));
      jobs += static_cast<size_t>(page.jobs_size());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    if (jobs == ids_.size()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(jobs, " jobs became of ", ids_.size(), " requests"));
  }

  const KillOptions& options_;
  KillStatistics& statistics_;
  Rng rng_;
  const std::vector<Work> work_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::unique_ptr<Clock> clock_ = NewRealClock();
  Scratch scratch_;
  Scratch quiet_scratch_;
  std::unique_ptr<Farm> farm_;        // Its programs are killed.
  std::unique_ptr<Farm> quiet_farm_;  // Left alone.
  std::unique_ptr<client::Connection> connection_;
  std::unique_ptr<client::Connection> quiet_;
  int next_chip_ = 0;
  std::vector<std::string> ids_;  // Of every acknowledged job.
};

}  // namespace

absl::Status RunKillSuite(const KillOptions& options,
                          KillStatistics& statistics) {
  return KillSuite(options, statistics).Run();
}

}  // namespace edgekiln::chaos
