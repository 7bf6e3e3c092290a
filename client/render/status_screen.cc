#include "client/render/status_screen.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/format_bytes.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr size_t kShownStages = 2;  // Of one worker.
constexpr int kMaxShownName = 32;

using Lines = std::vector<std::string>;
using Stage = v1::DaemonStatus::Stage;

absl::Time ToTime(const google::protobuf::Timestamp& stamp) {
  return absl::FromUnixSeconds(stamp.seconds()) +
         absl::Nanoseconds(stamp.nanos());
}

bool IsOver(const v1::Job& job) { return job.state() > v1::RUNNING; }

Stage Sum(const v1::DaemonStatus& status) {
  Stage sum;
  for (const Stage& stage : status.stages()) {
    sum.set_executed(sum.executed() + stage.executed());
    sum.set_hit(sum.hit() + stage.hit());
    sum.set_joined(sum.joined() + stage.joined());
    sum.set_failed(sum.failed() + stage.failed());
  }
  return sum;
}

// Between two moments of the same life of the daemon; 0 if there are none.
double SecondsSince(const StatusScreen& screen) {
  if (screen.before == nullptr ||
      screen.before->started().seconds() != screen.status.started().seconds()) {
    return 0;
  }
  return absl::ToDoubleSeconds(ToTime(screen.status.now()) -
                               ToTime(screen.before->now()));
}

std::string HeadText(const StatusScreen& screen, const Style& style) {
  const v1::DaemonStatus& status = screen.status;
  const absl::Duration up = absl::Floor(
      ToTime(status.now()) - ToTime(status.started()), absl::Seconds(1));
  const std::string ready =
      status.refusal().empty()
          ? style.Green("takes jobs")
          : style.Red(
                absl::StrCat("takes no jobs: ", CleanText(status.refusal())));
  return absl::StrCat(style.Bold(CleanText(screen.server)), "  up ",
                      FormatTimeSpan(up), "  ", ready);
}

std::string JobsText(const v1::DaemonStatus::Jobs& jobs) {
  std::string text = absl::StrCat(
      GroupDigits(jobs.running()), " of ", GroupDigits(jobs.max_running()),
      " running, ", GroupDigits(jobs.queued()), " queued; ",
      GroupDigits(jobs.succeeded()), " succeeded, ", GroupDigits(jobs.failed()),
      " failed, ", GroupDigits(jobs.cancelled()), " cancelled");
  const int sweeps = jobs.sweeps_running() + jobs.sweeps_queued();
  if (sweeps > 0)
    absl::StrAppend(&text, "; ", Count(sweeps, "sweep", "sweeps"));
  return text;
}

std::string StagesText(const StatusScreen& screen) {
  const Stage sum = Sum(screen.status);
  const int64_t asked = sum.executed() + sum.hit() + sum.joined();
  std::string text = absl::StrCat(GroupDigits(sum.executed()), " executed, ",
                                  GroupDigits(sum.hit()), " from the cache, ",
                                  GroupDigits(sum.joined()), " shared");
  if (asked > 0) {
    absl::StrAppend(
        &text, " (",
        FormatPercent(
            static_cast<double>(sum.hit()) / static_cast<double>(asked), 1),
        " hits)");
  }
  if (sum.failed() > 0) {
    absl::StrAppend(&text, ", ", GroupDigits(sum.failed()), " failed");
  }
  const double seconds = SecondsSince(screen);
  if (seconds > 0) {
    const Stage before = Sum(*screen.before);
    const int64_t fresh =
        asked - before.executed() - before.hit() - before.joined();
    absl::StrAppend(&text, "; ",
                    absl::StrFormat("%.0f per second",
                                    static_cast<double>(fresh) / seconds));
  }
  return text;
}

std::string WorkersText(const v1::DaemonStatus& status) {
  std::string text = absl::StrCat(
      Count(status.workers_total(), "worker", "workers"), ", ",
      GroupDigits(status.used_slots()), " of ",
      Count(status.slots(), "slot", "slots"), " busy; ",
      Count(status.waiting_leases(), "stage waits", "stages wait"));
  if (status.quarantined() > 0) {
    absl::StrAppend(&text, ", ", GroupDigits(status.quarantined()),
                    " in quarantine");
  }
  return text;
}

std::string CacheText(const v1::DaemonStatus& status) {
  const v1::DaemonStatus::Cache& cache = status.cache();
  std::string text =
      cache.has_bytes() ? FormatBytes(cache.bytes()) : "being counted";
  if (cache.limit_bytes() > 0) {
    absl::StrAppend(&text, " of ", FormatBytes(cache.limit_bytes()));
  }
  if (cache.evicted_files() > 0) {
    absl::StrAppend(&text, ", ", FormatBytes(cache.evicted_bytes()),
                    " evicted");
  }
  return absl::StrCat(text, "; ", FormatBytes(status.disk().free_bytes()),
                      " of the disk free");
}

std::string DaemonText(const StatusScreen& screen) {
  const v1::DaemonStatus::Process& process = screen.status.process();
  std::string text = FormatBytes(process.resident_bytes());
  const double seconds = SecondsSince(screen);
  if (seconds > 0) {
    const double used =
        process.cpu_seconds() - screen.before->process().cpu_seconds();
    absl::StrAppend(&text, ", ", FormatPercent(used / seconds, 0), " CPU");
  }
  return absl::StrCat(
      text, ", ", GroupDigits(process.threads()), " threads, ",
      GroupDigits(process.open_files()), " of ",
      GroupDigits(process.max_open_files()), " files; ",
      Count(process.client_connections(), "client", "clients"), ", ",
      Count(screen.status.jobs().watchers(), "watcher", "watchers"));
}

Lines Split(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

Lines Head(const StatusScreen& screen, const Style& style) {
  Table table({{""}, {""}});
  table.AddRow({"jobs", JobsText(screen.status.jobs())});
  table.AddRow({"stages", StagesText(screen)});
  table.AddRow({"workers", WorkersText(screen.status)});
  table.AddRow({"cache", CacheText(screen.status)});
  table.AddRow({"daemon", DaemonText(screen)});
  Lines lines = Split(table.Render(style));
  std::string head = HeadText(screen, style);
  if (style.width() > 0 &&
      TextWidth(HeadText(screen, Style::Plain())) > style.width()) {
    head = ClipEnd(HeadText(screen, Style::Plain()), style.width());
  }
  lines.insert(lines.begin(), std::move(head));
  return lines;
}

std::string RolesText(const v1::DaemonStatus::Worker& worker) {
  std::vector<std::string> roles;
  for (const int role : worker.roles()) {
    if (role == v1::COMPILE_ROLE) roles.push_back("compile");
    if (role == v1::SIMULATE_ROLE) roles.push_back("simulate");
  }
  return absl::StrJoin(roles, ",");
}

std::string DoesText(const v1::DaemonStatus::Worker& worker) {
  if (worker.leases().empty())
    return worker.used_slots() > 0 ? "cancelled stages" : "idle";
  std::vector<std::string> stages;
  for (const v1::DaemonStatus::Lease& lease : worker.leases()) {
    if (stages.size() == kShownStages) break;
    stages.push_back(
        absl::StrCat(CleanText(lease.stage()), " ",
                     FormatTimeSpan(absl::Seconds(lease.seconds()))));
  }
  const int more = worker.used_slots() - static_cast<int>(stages.size());
  if (more > 0) stages.push_back(absl::StrCat(more, " more"));
  return absl::StrJoin(stages, ", ");
}

Lines Workers(const v1::DaemonStatus& status, const Style& style) {
  if (status.workers().empty()) return {};
  Table table({{.title = "WORKER"},
               {.title = "ROLES", .drop = 2},
               {.title = "SLOTS", .align = Align::kRight},
               {.title = "DONE", .align = Align::kRight, .drop = 1},
               {.title = "FAILED", .align = Align::kRight, .drop = 1},
               {.title = "RUNS"}});
  for (const v1::DaemonStatus::Worker& worker : status.workers()) {
    table.AddRow({ClipMiddle(CleanText(worker.name()), kMaxShownName),
                  RolesText(worker),
                  absl::StrCat(worker.used_slots(), "/", worker.slots()),
                  GroupDigits(worker.succeeded()), GroupDigits(worker.failed()),
                  DoesText(worker)});
  }
  return Split(table.Render(style));
}

std::string NoteText(const v1::Job& job) {
  if (job.has_error()) return CleanText(job.error().what());
  if (job.has_waiting()) {
    return absl::StrCat("waits: ", CleanText(job.waiting().reason()));
  }
  return "";
}

std::string TargetsText(const v1::Job& job) {
  std::vector<std::string> names;
  for (const v1::TargetRef& target : job.request().targets()) {
    names.push_back(CleanText(target.name()));
  }
  return absl::StrJoin(names, ",");
}

std::string AgeText(const v1::Job& job, absl::Time now) {
  const absl::Time end = job.has_finished() ? ToTime(job.finished()) : now;
  return FormatTimeSpan(
      std::max(end - ToTime(job.created()), absl::ZeroDuration()));
}

// At most `rows` of them, those that are not over first.
Lines Jobs(const StatusScreen& screen, size_t rows, const Style& style) {
  std::vector<const v1::Job*> shown;
  for (const v1::Job& job : screen.jobs.jobs()) shown.push_back(&job);
  std::stable_partition(shown.begin(), shown.end(),
                        [](const v1::Job* job) { return !IsOver(*job); });
  if (shown.size() > rows) shown.resize(rows);
  if (shown.empty()) return {};
  Table table({{.title = "JOB", .whole = true},
               {.title = "STATE", .whole = true},
               {.title = "MODEL"},
               {.title = "TARGETS", .drop = 2},
               {.title = "AGE", .align = Align::kRight, .drop = 1},
               {.title = "NOTE", .drop = 3}});
  const absl::Time now = ToTime(screen.status.now());
  for (const v1::Job* job : shown) {
    table.AddRow(
        {job->id(), absl::AsciiStrToLower(v1::JobState_Name(job->state())),
         ClipMiddle(CleanText(job->request().model_name()), kMaxShownName),
         ClipMiddle(TargetsText(*job), kMaxShownName), AgeText(*job, now),
         ClipEnd(NoteText(*job), 60)});
  }
  return Split(table.Render(style));
}

// With an empty line before them, if there are any and there is room for that,
// the titles and one row.
void Append(Lines more, size_t height, Lines& lines) {
  if (more.empty() || lines.size() + 3 > height) return;
  more.resize(std::min(more.size(), height - lines.size() - 1));
  lines.emplace_back();
  lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> StatusLines(const StatusScreen& screen, int height,
                                     const Style& style) {
  const size_t room =
      height > 0 ? static_cast<size_t>(height) : std::string::npos;
  Lines lines = Head(screen, style);
  lines.resize(std::min(lines.size(), room));
  Append(Workers(screen.status, style), room, lines);
  const size_t used = lines.size() + 2;  // An empty line and the titles.
  if (used < room) Append(Jobs(screen, room - used, style), room, lines);
  return lines;
}

}  // namespace edgekiln::client
