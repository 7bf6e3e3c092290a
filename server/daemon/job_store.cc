#include "server/daemon/job_store.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kSchemaVersion = 1;

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

constexpr char kSelectJob[] =
    "SELECT job, (SELECT COALESCE(MAX(sequence), 0) FROM events"
    " WHERE job_id = jobs.id), row FROM jobs ";

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
  return writer_.Execute(absl::StrCat("PRAGMA user_version=", kSchemaVersion));
}

absl::Status JobStore::InsertJob(const v1::Job& job,
                                 const v1::JobEvent& first_event) {
  EK_ASSIGN_OR_RETURN(
      Statement insert,
      writer_.Prepare("INSERT INTO jobs (id, request_id, state, job)"
                      " VALUES (?, ?, ?, ?)"));
  insert.Bind(1, job.id());
  insert.Bind(2, job.request().request_id());
  insert.Bind(3, job.state());
  insert.Bind(4, job.SerializeAsString());
  EK_RETURN_IF_ERROR(insert.Run());
  JobUpdate update;
  update.job_id = job.id();
  update.events.push_back(first_event);
  return ApplyOne(update);
}

absl::StatusOr<v1::Job> JobStore::Create(const v1::Job& job,
                                         const v1::JobEvent& first_event) {
  std::lock_guard lock(write_mutex_);
  if (!job.request().request_id().empty()) {
    EK_ASSIGN_OR_RETURN(
        Statement select,
        writer_.Prepare(absl::StrCat(kSelectJob, "WHERE request_id = ?")));
    select.Bind(1, job.request().request_id());
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (found) return JobOf(select);
  }
  EK_RETURN_IF_ERROR(writer_.Execute("BEGIN IMMEDIATE"));
  absl::Status status = InsertJob(job, first_event);
  if (status.ok()) status = writer_.Execute("COMMIT");
  if (!status.ok()) {
    writer_.Execute("ROLLBACK").IgnoreError();
    return status;
  }
  v1::Job stored = job;
  stored.set_last_sequence(first_event.sequence());
  return stored;
}

absl::Status JobStore::ApplyOne(const JobUpdate& update) {
  if (!update.events.empty()) {
    EK_ASSIGN_OR_RETURN(
        Statement insert,
        writer_.Prepare("INSERT INTO events (job_id, sequence, event)"
                        " VALUES (?, ?, ?)"));
    for (const v1::JobEvent& event : update.events) {
      insert.Bind(1, update.job_id);
      insert.Bind(2, event.sequence());
      insert.Bind(3, event.SerializeAsString());
      EK_RETURN_IF_ERROR(insert.Run());
      insert.Reset();
    }
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
  if (!update.has_job) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(
      Statement statement,
      writer_.Prepare("UPDATE jobs SET state = ?, job = ? WHERE id = ?"));
  statement.Bind(1, update.job.state());
  statement.Bind(2, update.job.SerializeAsString());
  statement.Bind(3, update.job_id);
  return statement.Run();
}

absl::Status JobStore::Transaction(const std::vector<JobUpdate>& updates) {
  EK_RETURN_IF_ERROR(writer_.Execute("BEGIN IMMEDIATE"));
  for (const JobUpdate& update : updates) {
    EK_RETURN_IF_ERROR(ApplyOne(update), absl::StrCat("job ", update.job_id));
  }
  return writer_.Execute("COMMIT");
}

absl::Status JobStore::Apply(const std::vector<JobUpdate>& updates) {
  std::lock_guard lock(write_mutex_);
  absl::Status status = Transaction(updates);
  if (!status.ok()) writer_.Execute("ROLLBACK").IgnoreError();
  return status;
}

absl::StatusOr<v1::Job> JobStore::Get(const std::string& id) {
  std::lock_guard lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(Statement select, reader_.Prepare(absl::StrCat(
                                            kSelectJob, "WHERE id = ?")));
  select.Bind(1, id);
  EK_ASSIGN_OR_RETURN(const bool found, select.Step());
  if (!found) return NoJob(id);
  return JobOf(select);
}

absl::StatusOr<v1::Report> JobStore::GetReport(const std::string& id,
                                               int target) {
  std::lock_guard lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(
      Statement select,
      reader_.Prepare(
          "SELECT report FROM reports WHERE job_id = ? AND target = ?"));
  select.Bind(1, id);
  select.Bind(2, static_cast<int64_t>(target));
  EK_ASSIGN_OR_RETURN(const bool found, select.Step());
  if (!found) {
    return MakeError(absl::StatusCode::kNotFound,
                     {.fault = Fault::kUser,
                      .reason = "NO_REPORT",
                      .what = "there is no report yet for that target",
                      .where = absl::StrCat("job ", id, ", target ", target),
                      .fix = "watch the job until it has finished"});
  }
  v1::Report report;
  if (!report.ParseFromString(select.Bytes(0))) return Damaged("report");
  return report;
}

absl::StatusOr<JobPage> JobStore::List(int page_size, int64_t before) {
  std::lock_guard lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(
      Statement select,
      reader_.Prepare(absl::StrCat(
          kSelectJob, "WHERE ?1 = 0 OR row < ?1 ORDER BY row DESC LIMIT ?2")));
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
  std::lock_guard lock(read_mutex_);
  EK_ASSIGN_OR_RETURN(Statement select,
                      reader_.Prepare(absl::StrCat(
                          kSelectJob, "WHERE state < 3 ORDER BY row")));
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
  std::lock_guard lock(read_mutex_);
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
