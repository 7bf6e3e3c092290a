#include "tests/chaos/attack_suite.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/local_blob.h"
#include "proto/convert.h"
#include "tests/chaos/aftermath.h"
#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attack_process.h"
#include "tests/chaos/cpu_account.h"
#include "tests/chaos/farm.h"
#include "tests/chaos/hostile_models.h"
#include "tests/chaos/plain_connection.h"

namespace edgekiln::chaos {
namespace {

constexpr int kWorkers = 2;
constexpr double kUndisturbedShare = 0.25;
constexpr absl::Duration kPoll = absl::Milliseconds(100);
constexpr absl::Duration kProgressEvery = absl::Seconds(5);
constexpr absl::Duration kLookEvery = absl::Milliseconds(500);
constexpr absl::Duration kRecoveryLimit = absl::Seconds(12);
// Clients that have left are not the daemon's, but it learns that late; and it
// gives back memory once it has had a moment's rest.
constexpr absl::Duration kRest = absl::Seconds(4);
// The daemon's caches in memory are full before anything is measured, as they
// would be after a day.
constexpr int kCachedBlobs = 96;
constexpr int kBlobsAtOnce = 3;  // Below the limit of a batch.
// Of jobs that are over; what one weighs is its model's description.
constexpr int kCachedAnswers = 24;
constexpr int kCachedLayers = 1500;
constexpr int kCachedNameBytes = 500;
constexpr int64_t kCachedBlobBytes = 1'000'000;

// A small service: what is large on a large one is exhausted here within a
// minute.
FarmOptions FarmUnderAttack(const AttackOptions& options) {
  FarmOptions farm;
  farm.bin = options.bin;
  farm.workers = kWorkers;
  farm.listening = Listening::kTcp;
  farm.http = true;
  farm.max_descriptors = 1024;
  farm.config = "lease_timeout_ms: 15000\n";
  farm.worker_arguments = {"--slots", "2", "--memory-limit", "1GiB"};
  return farm;
}

class AttackSuite {
 public:
  AttackSuite(const AttackOptions& options, AttackResult& result)
      : options_(options), result_(result), rng_(options.seed) {}

  absl::Status Run() {
    const absl::Status status = RunPhases();
    if (!status.ok() || options_.keep || !result_.Passed(false)) {
      scratch_.Keep();
      result_.kept = scratch_.path();
      if (options_.decoy) {
        decoy_scratch_.Keep();
        absl::StrAppend(&result_.kept, " ", decoy_scratch_.path());
      }
    }
    return status;
  }

 private:
  absl::Status RunPhases() {
    EK_ASSIGN_OR_RETURN(farm_,
                        Farm::Start(FarmUnderAttack(options_), scratch_));
    if (options_.decoy) {
      EK_ASSIGN_OR_RETURN(
          decoy_, Farm::Start(FarmUnderAttack(options_), decoy_scratch_));
    }
    const auto work = HonestWork(options_.source, options_.shared);
    HonestOptions honest;
    honest.clients = options_.clients;
    honest.seed = options_.seed;
    honest.work = work;
    honest.folder = scratch_.At("honest");
    honest.address = farm_->address();
    clients_ = std::make_unique<HonestClients>(honest, *files_, *clock_);
    EK_RETURN_IF_ERROR(FillCaches(), "filling the daemon's caches");
    EK_RETURN_IF_ERROR(RunUndisturbed());
    EK_ASSIGN_OR_RETURN(result_.before, UsageOf(farm_->daemon_pid()));
    RunAttack();
    result_.disturbed = clients_->disturbed();
    Judge();
    return absl::OkStatus();
  }

  // Those of small blobs and of answers, of which there are many after a day.
  absl::Status FillCaches() {
    const auto channel = OwnChannel(farm_->address());
    for (int i = 0; i < kCachedAnswers; ++i) {
      EK_ASSIGN_OR_RETURN(
          const Digest model,
          PutBlob(channel, LongNamesModel(kCachedLayers, kCachedNameBytes,
                                          rng_.Next())));
      v1::CreateJobRequest request;
      *request.mutable_model() = ToProto(model);
      request.add_goals(v1::INSPECT);
      EK_ASSIGN_OR_RETURN(const v1::Job job, CreateJob(channel, request));
      // Asking again is what makes an answer worth keeping.
      EK_RETURN_IF_ERROR(
          AwaitJob(channel, job.id(), absl::Seconds(30)).status());
    }
    for (int i = 0; i < kCachedBlobs; i += kBlobsAtOnce) {
      std::vector<std::string> blobs;
      for (int k = 0; k < kBlobsAtOnce; ++k) {
        blobs.push_back(RandomBytes(kCachedBlobBytes, rng_));
      }
      EK_RETURN_IF_ERROR(PutBlobs(channel, blobs));
    }
    return absl::OkStatus();
  }

  absl::Status RunUndisturbed() {
    Say("undisturbed");
    started_ = absl::Now();
    BeginAccount();
    clients_->StartUndisturbed(started_ + kUndisturbedShare * options_.length);
    while (!clients_->over()) Step();
    clients_->Join();
    result_.undisturbed_cpu = EndAccount();
    result_.undisturbed = clients_->undisturbed();
    const HonestCount& count = result_.undisturbed;
    if (count.jobs() == 0 || count.right < count.jobs()) {
      return absl::UnavailableError(absl::StrCat(
          "undisturbed, only ", count.right, " of ", count.jobs(),
          " jobs succeeded",
          count.complaints.empty() ? "" : ": " + count.complaints.front()));
    }
    // As afterwards: its channel to itself is open then.
    const int http = StartConnecting(farm_->http_address());
    if (http >= 0) {
      if (SendAll(http, "GET /v1/targets HTTP/1.0\r\n\r\n")) AnswerOf(http);
      close(http);
    }
    // To look at all jobs costs memory, too.
    EK_RETURN_IF_ERROR(CancelEverything(farm_->address()), "listing jobs");
    absl::SleepFor(kRest);
    return absl::OkStatus();
  }

  // What was computed is computed again: results may be removed at any time.
  // Fresh workers have nothing ready, as they had not before.
  absl::Status Forget() {
    std::error_code error;
    const std::string results = JoinPath(farm_->state_folder(), "results");
    std::filesystem::recursive_directory_iterator it(results, error), end;
    for (; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (it->is_regular_file(ignored)) {
        std::filesystem::remove(it->path(), ignored);
      }
    }
    LookAtProcessors();
    for (int i = 0; i < kWorkers; ++i) {
      farm_->KillWorker(i);
      EK_RETURN_IF_ERROR(farm_->StartWorker(i));
    }
    return absl::OkStatus();
  }

  void RunAttack() {
    Say("attack");
    PeakUsage usage(farm_->daemon_pid());
    usage_ = &usage;
    absl::Status status = StartAttackers();
    BeginAccount();
    const absl::Time end = started_ + options_.length;
    while (status.ok() && absl::Now() < end && farm_->DaemonRuns()) {
      ++result_.passes;
      status = Forget();
      clients_->StartDisturbed(end);
      while (!clients_->over()) Step();
      clients_->Join();
    }
    CheckThat("attackers", status.ok() && AttackersRun(),
              status.ok() ? "each attacked to the end" : status.ToString());
    result_.disturbed_cpu = EndAccount();
    for (const auto& attacker : attackers_) attacker->Kill();
    usage.Stop();
    usage_ = nullptr;
    result_.peak = usage.peak();
    for (const auto& attacker : attackers_) {
      const Tally& tally = attacker->tally();
      result_.attackers.push_back({std::string(attacker->attacker().name),
                                   tally.actions, tally.refusals,
                                   tally.unanswered, tally.breaches});
    }
    Say("aftermath");
  }

  absl::Status StartAttackers() {
    if (options_.control) return absl::OkStatus();
    const Farm& attacked = options_.decoy ? *decoy_ : *farm_;
    for (const Attacker& attacker : Attackers()) {
      if (!options_.only.empty() &&
          std::find(options_.only.begin(), options_.only.end(),
                    attacker.name) == options_.only.end()) {
        continue;
      }
      const AttackTarget target = {
          .address = attacked.address(),
          .workers_address = attacked.workers_address(),
          .http_address = attacked.http_address(),
          .folder = scratch_.At(absl::StrCat("attack-", attacker.name)),
          .seed = rng_.Next()};
      EK_ASSIGN_OR_RETURN(auto process, AttackProcess::Start(attacker, target));
      attackers_.push_back(std::move(process));
    }
    return absl::OkStatus();
  }

  bool AttackersRun() {
    return std::all_of(attackers_.begin(), attackers_.end(),
                       [](const auto& attacker) { return attacker->Runs(); });
  }

  void Judge() {
    const HonestCount& honest = result_.disturbed;
    CheckThat("honest jobs",
              honest.right > 0 && honest.wrong + honest.failed == 0,
              absl::StrCat(honest.right, " of ", honest.jobs(), " right, ",
                           honest.wrong, " wrong, ", honest.failed, " failed"));
    CheckThat("in time", honest.late == 0, absl::StrCat(honest.late, " late"),
              /*timing=*/true);
    // A daemon that is deaf answers none.
    CheckThat("most in time", 2 * honest.late <= honest.jobs(),
              absl::StrCat(honest.late, " of ", honest.jobs(), " late"));
    CheckThat("restarts", honest.restarts == 0,
              absl::StrCat(honest.restarts,
                           " stages of honest jobs had to begin again"));
    CheckThat(
        "threads", result_.peak.threads <= kMaxThreads,
        absl::StrCat(result_.peak.threads, " at most, limit ", kMaxThreads));
    CheckThat("workers", result_.workers_peak_rss_bytes <= kMaxWorkersRssBytes,
              absl::StrFormat(
                  "%.0f MB at most, limit %.0f MB",
                  static_cast<double>(result_.workers_peak_rss_bytes) / 1e6,
                  static_cast<double>(kMaxWorkersRssBytes) / 1e6));
    int64_t breaches = 0;
    for (const AttackerCount& count : result_.attackers) {
      breaches += count.breaches;
    }
    CheckThat("breaches", breaches == 0, absl::StrCat(breaches));
    CheckThat("p99", result_.slowdown() <= kMaxSlowdown,
              absl::StrFormat("%.2fx of undisturbed, limit %.0fx",
                              result_.slowdown(), kMaxSlowdown),
              /*timing=*/true);
    const bool lives = farm_->DaemonRuns();
    CheckThat("daemon", lives, lives ? "runs" : "ended; see daemon.log");
    if (!lives) return;
    JudgeRecovery();
    CheckAfterwards();
  }

  void JudgeRecovery() {
    const absl::Status cancelled = CancelEverything(farm_->address());
    CheckThat("cleaning up", cancelled.ok(),
              cancelled.ok() ? "every job listed and cancelled"
                             : cancelled.ToString());
    const absl::Time start = absl::Now();
    const auto bound = [](double before) { return before * kMaxGrowth; };
    const double rss = bound(static_cast<double>(result_.before.rss_bytes));
    const double descriptors = bound(result_.before.descriptors);
    bool rss_back = false;
    bool descriptors_back = false;
    do {
      const absl::StatusOr<Usage> usage = UsageOf(farm_->daemon_pid());
      if (!usage.ok()) break;
      result_.after = *usage;
      rss_back = static_cast<double>(usage->rss_bytes) <= rss;
      descriptors_back = usage->descriptors <= descriptors;
      result_.recovery = absl::Now() - start;
      if (rss_back && descriptors_back) break;
      absl::SleepFor(kPoll);
    } while (absl::Now() - start < kRecoveryLimit);
    CheckThat(
        "memory", rss_back,
        absl::StrFormat("%.1f MB before, %.1f MB after",
                        static_cast<double>(result_.before.rss_bytes) / 1e6,
                        static_cast<double>(result_.after.rss_bytes) / 1e6),
        /*timing=*/true);
    CheckThat(
        "memory, at least most of it",
        static_cast<double>(result_.after.rss_bytes) <=
            static_cast<double>(result_.before.rss_bytes) * kMaxGrowthAnywhere,
        absl::StrCat("at most ", kMaxGrowthAnywhere, "x"));
    CheckThat("descriptors", descriptors_back,
              absl::StrCat(result_.before.descriptors, " before, ",
                           result_.after.descriptors, " after"));
  }

  // New clients, new workers, new work.
  void CheckAfterwards() {
    const absl::Status accepts = AcceptsClients(farm_->address());
    CheckThat("new clients", accepts.ok(),
              accepts.ok() ? "are accepted" : accepts.ToString());
    absl::Status works = Forget();
    if (works.ok()) {
      HonestJob job;
      job.kind = HonestJob::Kind::kValidate;
      job.work = HonestWork(options_.source, options_.shared).back();
      job.chip = 1;
      HonestEffort effort;
      works =
          DoJob(job,
                {.address = farm_->address(), .folder = scratch_.At("honest")},
                "afterwards", absl::Now() + absl::Seconds(30), effort, *files_,
                *clock_)
              .status();
    }
    CheckThat(
        "new workers", works.ok(),
        works.ok() ? "are accepted, and a job succeeds" : works.ToString());
  }

  void CheckThat(absl::string_view name, bool passed, absl::string_view text,
                 bool timing = false) {
    result_.checks.push_back(
        {std::string(name), passed, timing, std::string(text)});
  }

  void Say(absl::string_view phase) {
    phase_ = std::string(phase);
    said_ = absl::InfinitePast();
  }

  // A moment of the run; a line now and then.
  void Step() {
    absl::SleepFor(kPoll);
    if (absl::Now() - looked_ > kLookEvery) {
      looked_ = absl::Now();
      LookAtProcessors();
      if (usage_ != nullptr) {
        result_.workers_peak_rss_bytes = std::max(
            result_.workers_peak_rss_bytes, RssOfTrees(farm_->worker_pids()));
      }
    }
    if (!options_.progress || absl::Now() - said_ < kProgressEvery) return;
    said_ = absl::Now();
    const HonestCount count = phase_ == "undisturbed" ? clients_->undisturbed()
                                                      : clients_->disturbed();
    std::string line =
        absl::StrFormat("%4.0f s  %s: %d jobs, %d wrong, %d failed, %d late",
                        absl::ToDoubleSeconds(said_ - started_), phase_,
                        count.jobs(), count.wrong, count.failed, count.late);
    if (usage_ != nullptr) {
      const Usage now = usage_->now();
      absl::StrAppendFormat(&line,
                            "; daemon %.0f MB, %d descriptors, %d threads",
                            static_cast<double>(now.rss_bytes) / 1e6,
                            now.descriptors, now.threads);
    }
    options_.progress(line);
  }

  void BeginAccount() {
    account_.emplace();
    account_since_ = absl::Now();
    all_since_ = CpuTimeOfAll();
    LookAtProcessors();
  }

  CpuUse EndAccount() {
    LookAtProcessors();
    CpuUse use;
    const absl::Duration length = absl::Now() - account_since_;
    absl::Duration others = CpuTimeOfAll() - all_since_;
    for (const auto& [group, used] : account_->UsedByGroup()) {
      use[group] = absl::FDivDuration(used, length);
      others -= used;
    }
    use["others"] = absl::FDivDuration(others, length);
    account_.reset();
    return use;
  }

  void LookAtProcessors() {
    if (!account_.has_value()) return;
    account_->Look("honest", {getpid()});
    std::vector<pid_t> attackers;
    for (const auto& attacker : attackers_) {
      attackers.push_back(attacker->process());
    }
    account_->Look("attackers", attackers);
    for (const Farm* farm : {farm_.get(), decoy_.get()}) {
      if (farm == nullptr) continue;
      const std::string prefix = farm == farm_.get() ? "" : "decoy's ";
      account_->Look(prefix + "daemon", {farm->daemon_pid()});
      account_->Look(prefix + "workers", farm->worker_pids());
      account_->LookBelow(prefix + "stages", farm->worker_pids());
    }
  }

  const AttackOptions& options_;
  AttackResult& result_;
  Rng rng_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  const std::unique_ptr<Clock> clock_ = NewRealClock();
  Scratch scratch_;
  Scratch decoy_scratch_;
  std::unique_ptr<Farm> farm_;
  std::unique_ptr<Farm> decoy_;  // Null unless there is one.
  std::unique_ptr<HonestClients> clients_;
  std::vector<std::unique_ptr<AttackProcess>> attackers_;
  PeakUsage* usage_ = nullptr;  // Under attack.
  std::string phase_;
  absl::Time started_ = absl::Now();
  absl::Time said_ = absl::InfinitePast();
  absl::Time looked_ = absl::InfinitePast();  // At the workers.
  std::optional<CpuAccount> account_;         // While honest clients work.
  absl::Time account_since_;
  absl::Duration all_since_;
};

}  // namespace

double AttackResult::slowdown() const {
  if (undisturbed.p99 <= absl::ZeroDuration()) return 0;
  return absl::FDivDuration(disturbed.p99, undisturbed.p99);
}

bool AttackResult::Passed(bool with_timing) const {
  return !checks.empty() &&
         std::all_of(checks.begin(), checks.end(), [&](const Check& check) {
           return check.passed || (check.timing && !with_timing);
         });
}

absl::Status RunAttackSuite(const AttackOptions& options,
                            AttackResult& result) {
  return AttackSuite(options, result).Run();
}

}  // namespace edgekiln::chaos
