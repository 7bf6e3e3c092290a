#include "server/daemon/jobs/job_schema.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/jobs/whole_answer.h"

namespace edgekiln::server {
namespace {

// What SQLite checks at each start takes about a second for this.
constexpr int64_t kMaxCheckedBytes = int64_t{256} << 20;
// Rows of events that are read before they are written.
constexpr int kEventsAtOnce = 1000;

// Of a job of version 1, whose rows have no checksum. Rows that say more are
// damaged, and are set aside like those that do not parse.
constexpr int kMaxReports = 65536;

// `job` is a sealed Job without its request, `state` its state for look-ups.
// The texts are compared with those in the file: they stay as they are.
constexpr char kSchema1[] = R"sql(
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

// Tables of their own: a list reads heads alone, and a new state of a job does
// not write its request again. `row` is that of the job. `damaged` has what was
// replaced as it did not match its checksum.
constexpr char kSchema2[] = R"sql(
CREATE TABLE heads (
  row INTEGER PRIMARY KEY,
  head BLOB NOT NULL,
  request BLOB NOT NULL,
  blobs BLOB NOT NULL);
CREATE TABLE requests (
  row INTEGER PRIMARY KEY,
  request BLOB NOT NULL);
CREATE TABLE damaged (
  row INTEGER PRIMARY KEY,
  id BLOB,
  job BLOB,
  request BLOB);
)sql";

absl::Status Damaged(absl::string_view what) {
  return MakeError(absl::StatusCode::kDataLoss,
                   {.fault = Fault::kInfra,
                    .reason = "JOB_STORE_DAMAGED",
                    .what = std::string(what),
                    .fix = "check the disk of the state folder"});
}

absl::StatusOr<int64_t> Number(Database& database, absl::string_view sql) {
  EK_ASSIGN_OR_RETURN(Statement select, database.Prepare(sql));
  EK_RETURN_IF_ERROR(select.Step().status());
  return select.Int(0);
}

absl::StatusOr<std::string> TextOfSchema(Database& database) {
  EK_ASSIGN_OR_RETURN(
      Statement select,
      database.Prepare("SELECT type || name || tbl_name || COALESCE(sql, '')"
                       " FROM sqlite_master ORDER BY type, name"));
  std::string all;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return all;
    absl::StrAppend(&all, select.Bytes(0), ";");
  }
}

// DATA_LOSS unless the tables are those of that version.
absl::Status CheckTables(Database& database, int64_t version) {
  EK_ASSIGN_OR_RETURN(Database fresh, Database::Open(":memory:"));
  EK_RETURN_IF_ERROR(CreateSchema(fresh, version));
  EK_ASSIGN_OR_RETURN(const std::string wanted, TextOfSchema(fresh));
  EK_ASSIGN_OR_RETURN(const std::string actual, TextOfSchema(database));
  if (actual == wanted) return absl::OkStatus();
  return Damaged("the job database does not have its tables");
}

absl::Status CheckStructure(Database& database) {
  EK_ASSIGN_OR_RETURN(const int64_t pages,
                      Number(database, "PRAGMA page_count"));
  EK_ASSIGN_OR_RETURN(const int64_t page, Number(database, "PRAGMA page_size"));
  if (pages > kMaxCheckedBytes / page) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(Statement check,
                      database.Prepare("PRAGMA quick_check(1)"));
  EK_RETURN_IF_ERROR(check.Step().status());
  const std::string found = check.Bytes(0);
  check.Reset();
  if (found != "ok") {
    return Damaged(absl::StrCat("the job database is damaged: ", found));
  }
  // Jobs are found through indexes, which the former does not compare with
  // what they are of.
  EK_ASSIGN_OR_RETURN(Statement indexes,
                      database.Prepare("PRAGMA integrity_check(jobs)"));
  EK_RETURN_IF_ERROR(indexes.Step().status());
  const bool sound = indexes.Bytes(0) == "ok";
  indexes.Reset();
  if (sound) return absl::OkStatus();
  const absl::Status rebuilt = database.Execute("REINDEX jobs");
  return rebuilt.ok() ? rebuilt
                      : Damaged("the indexes of the job database are damaged");
}

absl::Status Run(Database& database, absl::string_view sql, absl::string_view a,
                 int64_t b, absl::string_view c) {
  EK_ASSIGN_OR_RETURN(Statement statement, database.Prepare(sql));
  statement.Bind(1, a);
  statement.Bind(2, b);
  statement.Bind(3, c);
  return statement.Run();
}

// Reports of a job of version 1, made to fit and sealed.
absl::StatusOr<std::vector<v1::Report>> MigrateReports(
    Database& database, const v1::Job& job, cache::BlobStore* blobs) {
  std::vector<v1::Report> reports(job.reports());
  for (int target = 0; target < job.reports(); ++target) {
    EK_ASSIGN_OR_RETURN(
        Statement select,
        database.Prepare(
            "SELECT report FROM reports WHERE job_id = ? AND target = ?"));
    select.Bind(1, job.id());
    select.Bind(2, static_cast<int64_t>(target));
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    v1::Report& report = reports[target];
    // What does not parse keeps its bytes, which no seal matches.
    if (!found || !report.ParseFromString(select.Bytes(0))) continue;
    select.Reset();
    if (blobs != nullptr) EK_RETURN_IF_ERROR(FitAnswer(report, *blobs));
    EK_RETURN_IF_ERROR(
        Run(database,
            "UPDATE reports SET report = ?3 WHERE job_id = ?1 AND target = ?2",
            job.id(), target,
            ReportColumn(job.id(), target, report.SerializeAsString())));
  }
  return reports;
}

absl::Status MigrateJob(Database& database, int64_t row, v1::Job job,
                        cache::BlobStore* blobs) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Report> reports,
                      MigrateReports(database, job, blobs));
  std::string names = BlobsColumn(job, reports);
  v1::Job stored = job;
  stored.clear_request();
  if (blobs != nullptr &&
      static_cast<int64_t>(stored.ByteSizeLong()) > kMaxJobBytes) {
    EK_RETURN_IF_ERROR(FitFinished(job, *blobs));
    *stored.mutable_whole() = job.whole();
    names = BlobsColumn(stored, reports);
  }
  EK_ASSIGN_OR_RETURN(
      Statement update,
      database.Prepare("UPDATE jobs SET state = ?, job = ? WHERE row = ?"));
  update.Bind(1, static_cast<int64_t>(job.state()));
  update.Bind(2, JobColumn(job));
  update.Bind(3, row);
  EK_RETURN_IF_ERROR(update.Run());
  EK_ASSIGN_OR_RETURN(
      Statement request,
      database.Prepare("INSERT INTO requests (row, request) VALUES (?, ?)"));
  request.Bind(1, row);
  request.Bind(2, RequestColumn(job));
  EK_RETURN_IF_ERROR(request.Run());
  return WriteHead(database, row, job, names);
}

// One job in memory at a time.
absl::Status MigrateJobs(Database& database, cache::BlobStore* blobs) {
  for (int64_t row = 0;;) {
    v1::Job job;
    bool parsed = false;
    {
      EK_ASSIGN_OR_RETURN(Statement select,
                          database.Prepare("SELECT row, id, state, job"
                                           " FROM jobs WHERE row > ?"
                                           " ORDER BY row LIMIT 1"));
      select.Bind(1, row);
      EK_ASSIGN_OR_RETURN(const bool found, select.Step());
      if (!found) return absl::OkStatus();
      row = select.Int(0);
      const std::string column = select.Bytes(3);
      // A sealed one is of version 2, in a file whose other tables are damaged.
      // It may parse all the same: as a job without a request.
      parsed = !ReadJob(select.Bytes(1), select.Int(2), column).has_value() &&
               job.ParseFromString(column) && job.reports() >= 0 &&
               job.reports() <= kMaxReports;
    }
    if (!parsed) continue;
    EK_RETURN_IF_ERROR(MigrateJob(database, row, std::move(job), blobs));
  }
}

absl::Status MigrateEvents(Database& database) {
  std::string id;
  int64_t sequence = 0;
  while (true) {
    struct Row {
      std::string id;
      int64_t sequence;
      std::string event;
    };
    std::vector<Row> rows;
    {
      EK_ASSIGN_OR_RETURN(
          Statement select,
          database.Prepare("SELECT job_id, sequence, event FROM events"
                           " WHERE (job_id, sequence) > (?, ?)"
                           " AND " EK_VALID_SEQUENCE
                           " ORDER BY job_id, sequence LIMIT ?"));
      select.Bind(1, id);
      select.Bind(2, sequence);
      select.Bind(3, static_cast<int64_t>(kEventsAtOnce));
      while (true) {
        EK_ASSIGN_OR_RETURN(const bool found, select.Step());
        if (!found) break;
        rows.push_back({select.Bytes(0), select.Int(1), select.Bytes(2)});
      }
    }
    if (rows.empty()) return absl::OkStatus();
    for (const Row& row : rows) {
      id = row.id;
      sequence = row.sequence;
      v1::JobEvent event;
      if (!event.ParseFromString(row.event)) continue;
      event.set_sequence(sequence);
      EK_RETURN_IF_ERROR(Run(
          database,
          "UPDATE events SET event = ?3 WHERE job_id = ?1 AND sequence = ?2",
          id, sequence, EventColumn(id, event)));
    }
  }
}

absl::Status Migrate(Database& database, cache::BlobStore* blobs) {
  return InTransaction(database, [&]() -> absl::Status {
    EK_RETURN_IF_ERROR(database.Execute(kSchema2));
    EK_RETURN_IF_ERROR(MigrateJobs(database, blobs),
                       "bringing jobs up to date");
    EK_RETURN_IF_ERROR(MigrateEvents(database), "bringing events up to date");
    return database.Execute(
        absl::StrCat("PRAGMA user_version=", kSchemaVersion));
  });
}

}  // namespace

absl::Status CreateSchema(Database& database, int64_t version) {
  return InTransaction(database, [&]() -> absl::Status {
    EK_RETURN_IF_ERROR(database.Execute(kSchema1));
    if (version > 1) EK_RETURN_IF_ERROR(database.Execute(kSchema2));
    return database.Execute(absl::StrCat("PRAGMA user_version=", version));
  });
}

absl::Status WriteHead(Database& database, int64_t row, const v1::Job& job,
                       const std::string& blobs) {
  EK_ASSIGN_OR_RETURN(
      Statement head,
      database.Prepare("INSERT OR REPLACE INTO heads"
                       " (row, head, request, blobs) VALUES (?, ?, ?, ?)"));
  head.Bind(1, row);
  head.Bind(2, HeadColumn(job));
  head.Bind(3, RequestHeadColumn(job));
  head.Bind(4, blobs);
  return head.Run();
}

bool HasSeals(Database& database) {
  const absl::StatusOr<int64_t> tables =
      Number(database,
             "SELECT COUNT(*) FROM sqlite_master"
             " WHERE name IN ('heads', 'requests', 'damaged')");
  return tables.ok() && *tables > 0;
}

absl::Status PrepareSchema(Database& database, cache::BlobStore* blobs) {
  EK_ASSIGN_OR_RETURN(const int64_t version,
                      Number(database, "PRAGMA user_version"));
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
  EK_ASSIGN_OR_RETURN(const int64_t tables,
                      Number(database, "SELECT COUNT(*) FROM sqlite_master"));
  if (database.RefusesWrites()) {
    return Damaged("the header of the job database forbids to write it");
  }
  if (version == 0 && tables == 0) {
    return CreateSchema(database, kSchemaVersion);
  }
  // Opening an existing store writes nothing: the disk may be full.
  EK_RETURN_IF_ERROR(CheckTables(database, version));
  EK_RETURN_IF_ERROR(CheckStructure(database));
  return version == kSchemaVersion ? absl::OkStatus()
                                   : Migrate(database, blobs);
}

}  // namespace edgekiln::server
