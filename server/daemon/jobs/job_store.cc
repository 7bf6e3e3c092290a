#include "server/daemon/jobs/job_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/jobs/job_opening.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/jobs/whole_answer.h"
#include "server/sweep/cells.h"

namespace edgekiln::server {
namespace {

// A transaction must not hold up those of running jobs for long.
constexpr int64_t kForgetAtOnce = 100;
// Rows that a look at all jobs reads while others wait.
constexpr int64_t kRowsAtOnce = 100;

#define EK_LAST_SEQUENCE                                                  \
  "(SELECT COALESCE(MAX(sequence), 0) FROM events WHERE job_id = jobs.id" \
  " AND " EK_VALID_SEQUENCE ")"

// A complete job.
#define EK_SELECT_JOB                                          \
  "SELECT id, state, job, requests.request, " EK_LAST_SEQUENCE \
  " FROM jobs LEFT JOIN requests ON requests.row = jobs.row "

// What begins with "sweep/", see sweep/cells.h: "0" follows "/".
#define EK_IS_CELL                     \
  "(jobs.request_id > x'73776565702f'" \
  " AND jobs.request_id < x'737765657030')"
#define EK_SELECT_HEAD                                                 \
  "SELECT jobs.row, id, state, head, heads.request, " EK_LAST_SEQUENCE \
  " FROM jobs JOIN heads ON heads.row = jobs.row "

v1::Job JobOf(const Statement& row) {
  const std::string id = row.Bytes(0);
  std::optional<v1::Job> job = ReadJob(id, row.Int(1), row.Bytes(2));
  std::optional<v1::CreateJobRequest> request = ReadRequest(id, row.Bytes(3));
  if (!job.has_value() || !request.has_value()) {
    job = DamagedJob(id);
  } else {
    *job->mutable_request() = *std::move(request);
  }
  job->set_last_sequence(row.Int(4));
  return *std::move(job);
}

v1::Job HeadOf(const Statement& row) {
  const std::string id = row.Bytes(1);
  std::optional<v1::Job> job =
      ReadHead(id, row.Int(2), row.Bytes(3), row.Bytes(4));
  if (!job.has_value()) job = DamagedJob(id);
  job->set_last_sequence(row.Int(5));
  return *std::move(job);
}

}  // namespace

std::string JobStore::JobKey(const std::string& id) {
  return absl::StrCat("job ", id);
}

std::string JobStore::ReportKey(const std::string& id, int target) {
  return absl::StrCat("report ", id, " ", target);
}

absl::StatusOr<std::unique_ptr<JobStore>> JobStore::Open(
    const std::string& path, const JobStoreOptions& options) {
  std::unique_ptr<JobStore> store(new JobStore(path));
  EK_RETURN_IF_ERROR(store->OpenFiles(options), absl::StrCat("opening ", path));
  return store;
}

absl::Status JobStore::OpenFiles(const JobStoreOptions& options) {
  blobs_ = options.blobs;
  JobOpening opening;
  opening.blobs = options.blobs;
  opening.expected = options.expected;
  opening.now =
      options.clock != nullptr ? options.clock->Now() : NewRealClock()->Now();
  EK_ASSIGN_OR_RETURN(OpenedJobs opened, OpenJobDatabase(path_, opening));
  if (options.log != nullptr) {
    for (const std::string& line : opened.found) options.log->Error(line);
  }
  loss_ = std::move(opened.loss);
  {
    MutexLock lock(write_mutex_);
    writer_ = std::move(opened.database);
  }
  {
    MutexLock lock(read_mutex_);
    EK_ASSIGN_OR_RETURN(reader_, Database::Open(path_));
  }
  {
    MutexLock lock(list_mutex_);
    EK_ASSIGN_OR_RETURN(lister_, Database::Open(path_));
  }
  return watch_.Check();
}

absl::Status JobStore::NoJob(const std::string& id) const {
  return MakeError(
      absl::StatusCode::kNotFound,
      {.fault = Fault::kUser,
       .reason = "JOB_UNKNOWN",
       .what = loss_.empty() ? "there is no such job"
                             : absl::StrCat("the job is gone: ", loss_),
       .where = absl::StrCat("job ", id),
       .fix = "`edgekiln jobs list` shows those there are"});
}

absl::Status JobStore::Noted(absl::Status status) {
  if (absl::IsDataLoss(status)) {
    MutexLock lock(damage_mutex_);
    if (damage_.ok()) damage_ = status;
  }
  return status;
}

void JobStore::DropPages() {
  {
    MutexLock lock(write_mutex_);
    if (writer_.has_value()) writer_->DropCache();
  }
  {
    MutexLock lock(read_mutex_);
    if (reader_.has_value()) reader_->DropCache();
  }
  MutexLock lock(list_mutex_);
  if (lister_.has_value()) lister_->DropCache();
}

absl::Status JobStore::CheckFiles() {
  {
    MutexLock lock(damage_mutex_);
    if (!damage_.ok()) return damage_;
  }
  return watch_.Check();
}

absl::StatusOr<std::vector<v1::Job>> JobStore::ToForget(
    const Retention& retention, absl::Time now) {
  EK_ASSIGN_OR_RETURN(
      Statement count,
      writer_->Prepare("SELECT COUNT(*) FROM jobs WHERE state >= 3"
                       " AND NOT " EK_IS_CELL));
  EK_RETURN_IF_ERROR(count.Step().status());
  int64_t excess = count.Int(0) - retention.max_jobs;
  EK_ASSIGN_OR_RETURN(
      Statement select,
      // Cells go after their sweep.
      writer_->Prepare(EK_SELECT_HEAD
                       "WHERE state >= 3 AND NOT (" EK_IS_CELL
                       " AND EXISTS (SELECT 1 FROM jobs AS sweep WHERE"
                       " sweep.id = substr(jobs.request_id, 7, 17)))"
                       " ORDER BY jobs.row LIMIT ?"));
  select.Bind(1, kForgetAtOnce);
  std::vector<v1::Job> jobs;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return jobs;
    v1::Job job = HeadOf(select);
    job.set_id(select.Bytes(1));
    const absl::Duration age =
        now - absl::FromUnixSeconds(job.finished().seconds());
    // Of a damaged one nobody knows its age.
    const bool young =
        age <= retention.max_age || job.error().reason() == kJobDamaged;
    if (age <= retention.grace) continue;
    const bool is_cell = SweepOfCell(job.request().request_id()).has_value();
    if (excess <= 0 && young && !is_cell) continue;
    if (!is_cell) --excess;
    jobs.push_back(std::move(job));
  }
}

absl::Status JobStore::Delete(const std::vector<v1::Job>& jobs) {
  for (const v1::Job& job : jobs) {
    for (const char* sql :
         {"DELETE FROM events WHERE job_id = ?",
          "DELETE FROM reports WHERE job_id = ?",
          "DELETE FROM heads WHERE row = (SELECT row FROM jobs WHERE id = ?)",
          "DELETE FROM requests WHERE row ="
          " (SELECT row FROM jobs WHERE id = ?)",
          "DELETE FROM damaged WHERE row ="
          " (SELECT row FROM jobs WHERE id = ?)",
          "DELETE FROM jobs WHERE id = ?"}) {
      EK_ASSIGN_OR_RETURN(Statement statement, writer_->Prepare(sql));
      statement.Bind(1, job.id());
      EK_RETURN_IF_ERROR(statement.Run(), absl::StrCat("job ", job.id()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> JobStore::Forget(const Retention& retention,
                                     absl::Time now) {
  EK_RETURN_IF_ERROR(CheckFiles());
  MutexLock lock(write_mutex_);
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs,
                      ToForget(retention, now));
  if (jobs.empty()) return 0;
  const auto body = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    return Delete(jobs);
  };
  EK_RETURN_IF_ERROR(Noted(InTransaction(*writer_, body)));
  for (const v1::Job& job : jobs) {
    answers_.Forget(JobKey(job.id()));
    events_.Forget(job.id());
    recent_.Drop(job.id());
    for (int target = 0; target < job.reports(); ++target) {
      answers_.Forget(ReportKey(job.id(), target));
    }
  }
  return static_cast<int>(jobs.size());
}

absl::StatusOr<v1::Job> JobStore::Get(const std::string& id) {
  MutexLock lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(Statement select,
                      reader_->Prepare(EK_SELECT_JOB "WHERE id = ?"));
  select.Bind(1, id);
  EK_ASSIGN_OR_RETURN(const bool found, select.Step());
  if (!found) return NoJob(id);
  return JobOf(select);
}

absl::StatusOr<v1::CreateJobRequest> JobStore::GetRequest(
    const std::string& id) {
  EK_ASSIGN_OR_RETURN(v1::Job job, Get(id));
  if (job.error().reason() == kJobDamaged) {
    return MakeError(absl::StatusCode::kDataLoss, {.fault = Fault::kInfra,
                                                   .reason = kJobDamaged,
                                                   .what = job.error().what(),
                                                   .where = job.error().where(),
                                                   .fix = job.error().fix()});
  }
  return std::move(*job.mutable_request());
}

absl::StatusOr<Answer> JobStore::FinishedJob(const std::string& id) {
  const std::string key = JobKey(id);
  if (Answer known = answers_.Find(key)) return known;
  EK_ASSIGN_OR_RETURN(const v1::Job job, Get(id));
  if (job.state() < v1::SUCCEEDED) return Answer();
  return answers_.Keep(key, job.SerializeAsString());
}

absl::StatusOr<std::optional<v1::Job>> JobStore::FindByRequest(
    const std::string& request_id) {
  MutexLock lock(read_mutex_);
  // The second condition names the index.
  EK_ASSIGN_OR_RETURN(
      Statement select,
      reader_->Prepare(EK_SELECT_JOB
                       "WHERE request_id = ? AND length(request_id) > 0"));
  select.Bind(1, request_id);
  EK_ASSIGN_OR_RETURN(const bool found, select.Step());
  if (!found) return std::nullopt;
  return JobOf(select);
}

absl::StatusOr<Answer> JobStore::GetReport(const std::string& id, int target) {
  const std::string key = ReportKey(id, target);
  if (Answer known = answers_.Find(key)) return known;
  {
    MutexLock lock(read_mutex_);
    EK_ASSIGN_OR_RETURN(
        Statement select,
        reader_->Prepare(
            "SELECT report FROM reports WHERE job_id = ? AND target = ?"));
    select.Bind(1, id);
    select.Bind(2, target);
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (found) {
      std::optional<std::string> report =
          ReadReport(id, target, select.Bytes(0));
      if (!report.has_value()) return ReportDamaged(id, target);
      return answers_.Keep(key, *std::move(report));
    }
  }
  EK_RETURN_IF_ERROR(Get(id).status());
  return MakeError(absl::StatusCode::kNotFound,
                   {.fault = Fault::kUser,
                    .reason = "NO_REPORT",
                    .what = "this target has no report yet",
                    .where = absl::StrCat("job ", id, ", target ", target),
                    .fix = "watch the job until it has finished"});
}

absl::StatusOr<JobPage> JobStore::List(int page_size, int64_t before,
                                       const std::string& sweep) {
  MutexLock lock(list_mutex_);
  EK_ASSIGN_OR_RETURN(
      Statement select,
      lister_->Prepare(sweep.empty() ? EK_SELECT_HEAD
                           "WHERE (?1 = 0 OR jobs.row < ?1) AND NOT"
                           " " EK_IS_CELL " ORDER BY jobs.row DESC LIMIT ?2"
                                     : EK_SELECT_HEAD
                           "WHERE (?1 = 0 OR jobs.row < ?1)"
                           " AND request_id > ?3 AND request_id < ?4"
                           " ORDER BY jobs.row DESC LIMIT ?2"));
  if (!sweep.empty()) {
    // What begins with "sweep/ID/": "0" follows "/".
    const std::string begin = absl::StrCat(kCellPrefix, sweep);
    select.Bind(3, absl::StrCat(begin, "/"));
    select.Bind(4, absl::StrCat(begin, "0"));
  }
  select.Bind(1, before);
  select.Bind(2, static_cast<int64_t>(page_size) + 1);
  JobPage page;
  int64_t last = 0;
  int64_t bytes = 0;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return page;
    v1::Job job = HeadOf(select);
    // With what it takes in the list.
    bytes += static_cast<int64_t>(job.ByteSizeLong()) + 8;
    if (static_cast<int>(page.jobs.size()) == page_size ||
        (bytes > kMaxAnswerBytes && !page.jobs.empty())) {
      page.next = last;
      return page;
    }
    page.jobs.push_back(std::move(job));
    last = select.Int(0);
  }
}

absl::StatusOr<std::vector<v1::Job>> JobStore::Unfinished() {
  MutexLock lock(list_mutex_);
  EK_ASSIGN_OR_RETURN(
      Statement select,
      // Not by the index of these: where it is damaged, jobs would be missing
      // from it, and run for ever without anybody at work.
      lister_->Prepare(EK_SELECT_HEAD "WHERE +state < 3 ORDER BY jobs.row"));
  std::vector<v1::Job> jobs;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return jobs;
    v1::Job job = HeadOf(select);
    // The next start sets it aside.
    if (job.state() >= v1::SUCCEEDED) continue;
    jobs.push_back(std::move(job));
  }
}

absl::Status JobStore::ForEachBlob(
    const std::function<void(const std::string& name)>& tell) {
  int64_t row = 0;
  while (true) {
    int64_t read = 0;
    MutexLock lock(list_mutex_);
    EK_ASSIGN_OR_RETURN(
        Statement select,
        lister_->Prepare("SELECT jobs.row, id, blobs FROM jobs"
                         " JOIN heads ON heads.row = jobs.row"
                         " WHERE jobs.row > ? ORDER BY jobs.row LIMIT ?"));
    select.Bind(1, row);
    select.Bind(2, kRowsAtOnce);
    while (true) {
      EK_ASSIGN_OR_RETURN(const bool found, select.Step());
      if (!found) break;
      ++read;
      row = select.Int(0);
      const auto names = ReadBlobs(select.Bytes(1), select.Bytes(2));
      if (!names.has_value()) continue;
      for (const std::string& name : *names) tell(name);
    }
    if (read < kRowsAtOnce) return absl::OkStatus();
  }
}

absl::StatusOr<std::vector<v1::JobEvent>> JobStore::Events(
    const std::string& id, int64_t after, int limit) {
  if (const auto all = events_.Find(id)) {
    // Numbered from 1 on, without gaps.
    const auto count = static_cast<int64_t>(all->size());
    const int64_t from = std::clamp<int64_t>(after, 0, count);
    const int64_t to = from + std::min<int64_t>(limit, count - from);
    return std::vector<v1::JobEvent>(all->begin() + from, all->begin() + to);
  }
  std::vector<v1::JobEvent> events = recent_.After(id, after, limit);
  if (!events.empty()) return events;
  MutexLock lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(
      Statement select,
      reader_->Prepare("SELECT sequence, event FROM events WHERE job_id = ?"
                       " AND sequence > ? AND " EK_VALID_SEQUENCE
                       " ORDER BY sequence LIMIT ?"));
  select.Bind(1, id);
  select.Bind(2, after);
  select.Bind(3, static_cast<int64_t>(limit));
  int64_t last = after;
  size_t bytes = 0;
  while (bytes < kMaxEventsBytes) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) break;
    const int64_t sequence = select.Int(0);
    // In a damaged table: who goes on after it would come here for ever.
    if (sequence <= last) continue;
    last = sequence;
    const std::string stored = select.Bytes(1);
    bytes += stored.size();
    events.push_back(ReadEvent(id, sequence, stored));
  }
  return events;
}

}  // namespace edgekiln::server
