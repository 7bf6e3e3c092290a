#include "server/daemon/jobs/job_store.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/util/time_util.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kSchemaVersion = 1;
// A transaction must not hold up those of running jobs for long.
constexpr int64_t kForgetAtOnce = 100;

// `job` holds the Job message, `state` its state for look-ups.
constexpr char kSchema[] = R"sql(
CREATE TABLE IF NOT EXISTS jobs (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE,
  request_id BLOB NOT NULL,
  state INTEGER NOT NULL,
  job BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS jobs_by_request
  ON jobs (request_id) WHERE length(request_id) > 0;
CREATE INDEX IF NOT EXISTS jobs_unfinished ON jobs (row) WHERE state < 3;
CREATE INDEX IF NOT EXISTS jobs_finished ON jobs (row) WHERE state >= 3;
CREATE TABLE IF NOT EXISTS events (
  job_id BLOB NOT NULL,
  sequence INTEGER NOT NULL,
  event BLOB NOT NULL,
  PRIMARY KEY (job_id, sequence)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (
  job_id BLOB NOT NULL,
  target INTEGER NOT NULL,
  report BLOB NOT NULL,
  PRIMARY KEY (job_id, target)) WITHOUT ROWID;
)sql";

#define EK_SELECT_JOB                                          \
  "SELECT job, (SELECT COALESCE(MAX(sequence), 0) FROM events" \
  " WHERE job_id = jobs.id), row FROM jobs "

absl::Status NoJob(const std::string& id) {
  return MakeError(absl::StatusCode::kNotFound,
                   {.fault = Fault::kUser,
                    .reason = "JOB_UNKNOWN",
                    .what = "there is no such job",
                    .where = absl::StrCat("job ", id),
                    .fix = "`edgekiln jobs list` shows those there are"});
}

absl::Status Damaged(absl::string_view what) {
  return MakeError(absl::StatusCode::kDataLoss,
                   {.fault = Fault::kInfra,
                    .reason = "JOB_STORE",
                    .what = absl::StrCat("a stored ", what, " does not parse"),
                    .fix = "check the disk of the state folder"});
}

std::string JobKey(const std::string& id) { return absl::StrCat("job ", id); }

std::string ReportKey(const std::string& id, int target) {
  return absl::StrCat("report ", id, " ", target);
}

absl::StatusOr<v1::Job> JobOf(const Statement& row) {
  v1::Job job;
  if (!job.ParseFromString(row.Bytes(0))) return Damaged("job");
  job.set_last_sequence(row.Int(1));
  return job;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobStore>> JobStore::Open(
    const std::string& path) {
  EK_ASSIGN_OR_RETURN(Database writer, Database::Open(path));
  EK_RETURN_IF_ERROR(
      writer.Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  EK_ASSIGN_OR_RETURN(Database reader, Database::Open(path));
  std::unique_ptr<JobStore> store(
      new JobStore(std::move(writer), std::move(reader)));
  EK_RETURN_IF_ERROR(store->Migrate(), absl::StrCat("opening ", path));
  return store;
}

absl::Status JobStore::Migrate() {
  MutexLock lock(write_mutex_);
  int64_t version = 0;
  {
    EK_ASSIGN_OR_RETURN(Statement pragma,
                        writer_.Prepare("PRAGMA user_version"));
    EK_RETURN_IF_ERROR(pragma.Step().status());
    version = pragma.Int(0);
  }
  if (version > kSchemaVersion) {
    return MakeError(
        absl::StatusCode::kUnavailable,
        {.fault = Fault::kInfra,
         .reason = "JOB_STORE_NEWER",
         .what = "the state folder was written by a newer edgekiln",
         .limit = absl::StrCat("this one reads format ", kSchemaVersion),
         .need = absl::StrCat("format ", version),
         .fix = "use the newer edgekilnd, or another --state folder"});
  }
  EK_RETURN_IF_ERROR(writer_.Execute(kSchema));
  // Opening an existing store writes nothing: the disk may be full.
  if (version == kSchemaVersion) return absl::OkStatus();
  return writer_.Execute(absl::StrCat("PRAGMA user_version=", kSchemaVersion));
}

absl::Status JobStore::WriteJob(const JobUpdate& update) {
  if (update.is_new) {
    EK_ASSIGN_OR_RETURN(
        Statement insert,
        writer_.Prepare("INSERT INTO jobs (id, request_id, state, job)"
                        " VALUES (?, ?, ?, ?)"));
    insert.Bind(1, update.job_id);
    insert.Bind(2, update.job.request().request_id());
    insert.Bind(3, update.job.state());
    insert.Bind(4, update.job.SerializeAsString());
    return insert.Run();
  }
  EK_ASSIGN_OR_RETURN(
      Statement statement,
      writer_.Prepare("UPDATE jobs SET state = ?, job = ? WHERE id = ?"));
  statement.Bind(1, update.job.state());
  statement.Bind(2, update.job.SerializeAsString());
  statement.Bind(3, update.job_id);
  return statement.Run();
}

absl::Status JobStore::ApplyOne(const JobUpdate& update) {
  if (update.has_job) EK_RETURN_IF_ERROR(WriteJob(update));
  for (const v1::JobEvent& event : update.events) {
    EK_ASSIGN_OR_RETURN(
        Statement insert,
        writer_.Prepare("INSERT INTO events (job_id, sequence, event)"
                        " VALUES (?, ?, ?)"));
    insert.Bind(1, update.job_id);
    insert.Bind(2, event.sequence());
    insert.Bind(3, event.SerializeAsString());
    EK_RETURN_IF_ERROR(insert.Run());
  }
  for (size_t target = 0; target < update.reports.size(); ++target) {
    EK_ASSIGN_OR_RETURN(
        Statement insert,
        writer_.Prepare("INSERT OR REPLACE INTO reports"
                        " (job_id, target, report) VALUES (?, ?, ?)"));
    insert.Bind(1, update.job_id);
    insert.Bind(2, static_cast<int64_t>(target));
    insert.Bind(3, update.reports[target].SerializeAsString());
    EK_RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status JobStore::WriteAll(const std::vector<JobUpdate>& updates) {
  for (const JobUpdate& update : updates) {
    EK_RETURN_IF_ERROR(ApplyOne(update), absl::StrCat("job ", update.job_id));
  }
  return absl::OkStatus();
}

absl::Status JobStore::Run(absl::string_view sql) {
  EK_ASSIGN_OR_RETURN(Statement statement, writer_.Prepare(sql));
  return statement.Run();
}

template <typename Body>
absl::Status JobStore::Transaction(const Body& body) {
  EK_RETURN_IF_ERROR(Run("BEGIN IMMEDIATE"));
  absl::Status status = body();
  if (status.ok()) status = Run("COMMIT");
  if (!status.ok()) Run("ROLLBACK").IgnoreError();
  return status;
}

absl::Status JobStore::Apply(const std::vector<JobUpdate>& updates) {
  MutexLock lock(write_mutex_);
  return Transaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    return WriteAll(updates);
  });
}

absl::StatusOr<std::vector<v1::Job>> JobStore::ToForget(
    const Retention& retention, absl::Time now) {
  EK_ASSIGN_OR_RETURN(
      Statement count,
      writer_.Prepare("SELECT COUNT(*) FROM jobs WHERE state >= 3"));
  EK_RETURN_IF_ERROR(count.Step().status());
  int64_t excess = count.Int(0) - retention.max_jobs;
  EK_ASSIGN_OR_RETURN(
      Statement select,
      writer_.Prepare(EK_SELECT_JOB "WHERE state >= 3 ORDER BY row LIMIT ?"));
  select.Bind(1, kForgetAtOnce);
  std::vector<v1::Job> jobs;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return jobs;
    EK_ASSIGN_OR_RETURN(v1::Job job, JobOf(select));
    const absl::Duration age =
        now - absl::FromUnixSeconds(job.finished().seconds());
    if (age <= retention.grace) continue;
    if (excess <= 0 && age <= retention.max_age) continue;
    --excess;
    jobs.push_back(std::move(job));
  }
}

absl::Status JobStore::Delete(const std::vector<v1::Job>& jobs) {
  for (const v1::Job& job : jobs) {
    for (const char* sql : {"DELETE FROM events WHERE job_id = ?",
                            "DELETE FROM reports WHERE job_id = ?",
                            "DELETE FROM jobs WHERE id = ?"}) {
      EK_ASSIGN_OR_RETURN(Statement statement, writer_.Prepare(sql));
      statement.Bind(1, job.id());
      EK_RETURN_IF_ERROR(statement.Run(), absl::StrCat("job ", job.id()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> JobStore::Forget(const Retention& retention,
                                     absl::Time now) {
  MutexLock lock(write_mutex_);
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs,
                      ToForget(retention, now));
  if (jobs.empty()) return 0;
  const auto body = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
    return Delete(jobs);
  };
  EK_RETURN_IF_ERROR(Transaction(body));
  for (const v1::Job& job : jobs) {
    answers_.Forget(JobKey(job.id()));
    for (int target = 0; target < job.reports(); ++target) {
      answers_.Forget(ReportKey(job.id(), target));
    }
  }
  return static_cast<int>(jobs.size());
}

absl::StatusOr<v1::Job> JobStore::Get(const std::string& id) {
  MutexLock lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(Statement select,
                      reader_.Prepare(EK_SELECT_JOB "WHERE id = ?"));
  select.Bind(1, id);
  EK_ASSIGN_OR_RETURN(const bool found, select.Step());
  if (!found) return NoJob(id);
  return JobOf(select);
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
      reader_.Prepare(EK_SELECT_JOB
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
        reader_.Prepare(
            "SELECT report FROM reports WHERE job_id = ? AND target = ?"));
    select.Bind(1, id);
    select.Bind(2, target);
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (found) return answers_.Keep(key, select.Bytes(0));
  }
  EK_RETURN_IF_ERROR(Get(id).status());
  return MakeError(absl::StatusCode::kNotFound,
                   {.fault = Fault::kUser,
                    .reason = "NO_REPORT",
                    .what = "there is no report yet for that target",
                    .where = absl::StrCat("job ", id, ", target ", target),
                    .fix = "watch the job until it has finished"});
}

absl::StatusOr<JobPage> JobStore::List(int page_size, int64_t before) {
  MutexLock lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(
      Statement select,
      reader_.Prepare(EK_SELECT_JOB
                      "WHERE ?1 = 0 OR row < ?1 ORDER BY row DESC LIMIT ?2"));
  select.Bind(1, before);
  select.Bind(2, static_cast<int64_t>(page_size) + 1);
  JobPage page;
  int64_t last = 0;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return page;
    if (static_cast<int>(page.jobs.size()) == page_size) {
      page.next = last;
      return page;
    }
    EK_ASSIGN_OR_RETURN(v1::Job job, JobOf(select));
    page.jobs.push_back(std::move(job));
    last = select.Int(2);
  }
}

absl::StatusOr<std::vector<v1::Job>> JobStore::Unfinished() {
  MutexLock lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(
      Statement select,
      reader_.Prepare(EK_SELECT_JOB "WHERE state < 3 ORDER BY row"));
  std::vector<v1::Job> jobs;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return jobs;
    EK_ASSIGN_OR_RETURN(v1::Job job, JobOf(select));
    jobs.push_back(std::move(job));
  }
}

absl::StatusOr<std::vector<v1::JobEvent>> JobStore::Events(
    const std::string& id, int64_t after, int limit) {
  MutexLock lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(
      Statement select,
      reader_.Prepare("SELECT event FROM events WHERE job_id = ?"
                      " AND sequence > ? ORDER BY sequence LIMIT ?"));
  select.Bind(1, id);
  select.Bind(2, after);
  select.Bind(3, static_cast<int64_t>(limit));
  std::vector<v1::JobEvent> events;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return events;
    v1::JobEvent event;
    if (!event.ParseFromString(select.Bytes(0))) return Damaged("event");
    events.push_back(std::move(event));
  }
}

}  // namespace edgekiln::server
