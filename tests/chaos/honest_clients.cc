#include "tests/chaos/honest_clients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace edgekiln::chaos {
namespace {

constexpr size_t kComplaints = 12;
constexpr size_t kComplaintBytes = 600;
constexpr absl::Duration kPoll = absl::Milliseconds(20);
constexpr size_t kSlowShare = 20;  // One of so many.
constexpr size_t kSlowJobs = 12;   // That are told one by one.

absl::Duration Quantile(std::vector<absl::Duration> values, double share) {
  if (values.empty()) return absl::ZeroDuration();
  const auto at =
      static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(at),
                   values.end());
  return values[at];
}

}  // namespace

HonestClients::HonestClients(HonestOptions options, FileSystem& files,
                             Clock& clock)
    : options_(std::move(options)),
      files_(files),
      clock_(clock),
      scripts_(static_cast<size_t>(options_.clients)) {}

HonestClients::~HonestClients() { Join(); }

void HonestClients::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void HonestClients::StartUndisturbed(absl::Time end) { Start(false, end); }

void HonestClients::StartDisturbed(absl::Time end) { Start(true, end); }

void HonestClients::Start(bool disturbed, absl::Time end) {
  Join();
  ++pass_;
  running_ = options_.clients;
  for (int client = 0; client < options_.clients; ++client) {
    threads_.emplace_back([this, client, disturbed, end] {
      RunClient(client, disturbed, end);
      --running_;
    });
  }
}

void HonestClients::RunClient(int client, bool disturbed, absl::Time end) {
  Rng rng(options_.seed * 1000 + static_cast<uint64_t>(client));
  std::vector<Done>& script = scripts_[static_cast<size_t>(client)];
  for (int number = 0;; ++number) {
    const auto at = static_cast<size_t>(number);
    if (disturbed && at == script.size()) return;
    HonestJob job = disturbed ? script[at].job
                              : NextJob(options_.work, client, number, rng);
    // What was uploaded once is not uploaded again.
    job.content += static_cast<uint64_t>(pass_);
    const absl::Time start = absl::Now() + job.pause;
    if (start > end) return;
    while (absl::Now() < start) absl::SleepFor(kPoll);
    HonestAnswer answer =
        DoOne(client, number, job, disturbed ? &script[at].answer : nullptr);
    if (!disturbed) script.push_back({job, std::move(answer)});
  }
}

HonestAnswer HonestClients::DoOne(int client, int number, const HonestJob& job,
                                  const HonestAnswer* expected) {
  const HonestService service = {
      .address = options_.address,
      .folder = absl::StrCat(options_.folder, "/client-", client)};
  files_.CreateDirectories(service.folder).IgnoreError();
  const std::string id = absl::StrCat("honest-", options_.seed, "-", pass_, "-",
                                      client, "-", number);
  const absl::Time start = absl::Now();
  HonestEffort effort;
  absl::StatusOr<HonestAnswer> answer =
      DoJob(job, service, id, start + options_.limit, effort, files_, clock_);
  const absl::Duration took = absl::Now() - start;
  absl::Status status = answer.status();
  const bool wrong = absl::IsDataLoss(status) ||
                     (status.ok() && expected != nullptr &&
                      !(status = SameAnswer(*expected, *answer)).ok());

  MutexLock lock(mutex_);
  // Only the undisturbed pass expects nothing.
  Tally& tally = expected == nullptr ? undisturbed_ : disturbed_;
  HonestCount& count = tally.count;
  count.refusals += effort.refusals;
  count.restarts += effort.restarts;
  if (wrong) {
    ++count.wrong;
  } else if (status.ok()) {
    ++count.right;
    effort.times.total = took;
    tally.right.push_back(
        {absl::StrCat(id, " ", KindName(job.kind), " ", job.work.name),
         effort.times});
  } else if (absl::IsDeadlineExceeded(status)) {
    ++count.late;
  } else {
    ++count.failed;
  }
  if (status.ok() || absl::IsDeadlineExceeded(status)) {
    tally.took.push_back(took);
  }
  if (!status.ok() && count.complaints.size() < kComplaints) {
    count.complaints.push_back(
        absl::StrCat(id, ": ", status.ToString().substr(0, kComplaintBytes)));
  }
  return answer.ok() ? *std::move(answer) : HonestAnswer();
}

HonestCount HonestClients::CountOf(bool disturbed) {
  MutexLock lock(mutex_);
  Tally& tally = disturbed ? disturbed_ : undisturbed_;
  HonestCount count = tally.count;
  count.p50 = Quantile(tally.took, 0.5);
  count.p99 = Quantile(tally.took, 0.99);
  std::vector<Right>& right = tally.right;
  std::stable_sort(right.begin(), right.end(),
                   [](const Right& a, const Right& b) {
                     return a.times.total > b.times.total;
                   });
  const size_t slow = (right.size() + kSlowShare - 1) / kSlowShare;
  for (size_t i = 0; i < slow; ++i) count.slowest += right[i].times;
  if (slow > 0) count.slowest /= static_cast<int64_t>(slow);
  for (size_t i = 0; i < std::min(slow, kSlowJobs); ++i) {
    count.slow_jobs.push_back(
        absl::StrCat(right[i].name, ": ", TimesText(right[i].times)));
  }
  return count;
}

}  // namespace edgekiln::chaos
