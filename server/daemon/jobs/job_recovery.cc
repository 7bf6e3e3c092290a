#include "server/daemon/jobs/job_recovery.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/jobs/job_schema.h"

namespace edgekiln::server {
namespace {

// Rows tried in a table whose last row is unknown; takes some seconds.
constexpr int64_t kMaxTriedRows = int64_t{1} << 20;

// A job that is to be looked at closely.
struct Suspect {
  int64_t row = 0;
  std::string id;
  int64_t state = 0;
  bool head_is_sound = false;
};

absl::StatusOr<std::vector<Suspect>> Suspects(Database& database) {
  EK_ASSIGN_OR_RETURN(
      Statement select,
      database.Prepare("SELECT jobs.row, id, state, head, heads.request, blobs"
                       " FROM jobs LEFT JOIN heads ON heads.row = jobs.row"
                       " ORDER BY jobs.row"));
  std::vector<Suspect> suspects;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return suspects;
    Suspect job{
        .row = select.Int(0), .id = select.Bytes(1), .state = select.Int(2)};
    job.head_is_sound =
        ReadHead(job.id, job.state, select.Bytes(3), select.Bytes(4))
            .has_value() &&
        ReadBlobs(job.id, select.Bytes(5)).has_value();
    if (!job.head_is_sound || job.state < v1::SUCCEEDED) {
      suspects.push_back(std::move(job));
    }
  }
}

// Complete, or nothing if any part is damaged.
absl::StatusOr<std::optional<v1::Job>> SoundJob(Database& database,
                                                const Suspect& suspect) {
  EK_ASSIGN_OR_RETURN(
      Statement select,
      database.Prepare("SELECT job, request FROM jobs LEFT JOIN requests"
                       " ON requests.row = jobs.row WHERE jobs.row = ?"));
  select.Bind(1, suspect.row);
  EK_ASSIGN_OR_RETURN(const bool found, select.Step());
  if (!found) return std::nullopt;
  std::optional<v1::Job> job =
      ReadJob(suspect.id, suspect.state, select.Bytes(0));
  std::optional<v1::CreateJobRequest> request =
      ReadRequest(suspect.id, select.Bytes(1));
  if (!job.has_value() || !request.has_value()) return std::nullopt;
  *job->mutable_request() = *std::move(request);
  return job;
}

// So that whoever watches the job sees it end.
absl::Status WriteEnd(Database& database, const v1::Job& job) {
  EK_ASSIGN_OR_RETURN(
      Statement last,
      database.Prepare("SELECT COALESCE(MAX(sequence), 0) FROM events"
                       " WHERE job_id = ? AND " EK_VALID_SEQUENCE));
  last.Bind(1, job.id());
  EK_RETURN_IF_ERROR(last.Step().status());
  v1::JobEvent event;
  event.set_sequence(last.Int(0) + 1);
  *event.mutable_time() = job.finished();
  event.set_state(job.state());
  EK_ASSIGN_OR_RETURN(
      Statement insert,
      database.Prepare("INSERT OR REPLACE INTO events (job_id, sequence, event)"
                       " VALUES (?, ?, ?)"));
  insert.Bind(1, job.id());
  insert.Bind(2, event.sequence());
  insert.Bind(3, EventColumn(job.id(), event));
  return insert.Run();
}

absl::Status SetRowAside(Database& database, const Suspect& suspect,
                         absl::Time now) {
  v1::Job job = DamagedJob(suspect.id);
  // Clients cannot be told of an id that is no text.
  if (job.id() != suspect.id || job.id().empty()) {
    job.set_id(absl::StrCat("damaged-", suspect.row));
  }
  *job.mutable_created() = ToTimestamp(now);
  *job.mutable_finished() = ToTimestamp(now);
  EK_ASSIGN_OR_RETURN(
      Statement keep,
      database.Prepare(
          "INSERT OR REPLACE INTO damaged (row, id, job, request)"
          " SELECT jobs.row, id, job, request FROM jobs LEFT JOIN requests"
          " ON requests.row = jobs.row WHERE jobs.row = ?"));
  keep.Bind(1, suspect.row);
  EK_RETURN_IF_ERROR(keep.Run());
  EK_ASSIGN_OR_RETURN(
      Statement update,
      database.Prepare("UPDATE jobs SET id = ?, request_id = x'', state = ?,"
                       " job = ? WHERE row = ?"));
  update.Bind(1, job.id());
  update.Bind(2, static_cast<int64_t>(job.state()));
  update.Bind(3, JobColumn(job));
  update.Bind(4, suspect.row);
  EK_RETURN_IF_ERROR(update.Run());
  EK_ASSIGN_OR_RETURN(Statement request,
                      database.Prepare("INSERT OR REPLACE INTO requests"
                                       " (row, request) VALUES (?, ?)"));
  request.Bind(1, suspect.row);
  request.Bind(2, RequestColumn(job));
  EK_RETURN_IF_ERROR(request.Run());
  EK_RETURN_IF_ERROR(
      WriteHead(database, suspect.row, job, BlobsColumn(job, {})));
  return WriteEnd(database, job);
}

struct Column {
  const char* name;
  bool is_number;
};

struct Table {
  const char* name;
  std::vector<Column> columns;
  const char* key;
};

const std::vector<Table>& Tables1() {
  static const auto& tables = *new std::vector<Table>{
      {"jobs",
       {{"row", true},
        {"id", false},
        {"request_id", false},
        {"state", true},
        {"job", false}},
       "row"},
      {"events",
       {{"job_id", false}, {"sequence", true}, {"event", false}},
       "job_id #, sequence"},
      {"reports",
       {{"job_id", false}, {"target", true}, {"report", false}},
       "job_id #, target"},
  };
  return tables;
}

const std::vector<Table>& Tables2() {
  static const auto& tables = *new std::vector<Table>{
      {"heads",
       {{"row", true}, {"head", false}, {"request", false}, {"blobs", false}},
       "row"},
      {"requests", {{"row", true}, {"request", false}}, "row"},
  };
  return tables;
}

// How rows of a table are chosen, and in which order.
std::string Selection(const Table& table, absl::string_view where,
                      absl::string_view order) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.emplace_back(column.name);
  return absl::StrCat(
      "SELECT ", absl::StrJoin(names, ", "), " FROM ", table.name, where,
      " ORDER BY ", absl::StrReplaceAll(table.key, {{"#", order}}), " ", order);
}

// Copies rows of one table.
class RowCopier {
 public:
  static absl::StatusOr<RowCopier> New(Database& from, Database& into,
                                       const Table& table) {
    std::vector<std::string> names;
    std::vector<std::string> marks;
    for (const Column& column : table.columns) {
      names.emplace_back(column.name);
      marks.emplace_back("?");
    }
    EK_ASSIGN_OR_RETURN(
        Statement insert,
        into.Prepare(absl::StrCat("INSERT OR IGNORE INTO ", table.name, " (",
                                  absl::StrJoin(names, ", "), ") VALUES (",
                                  absl::StrJoin(marks, ", "), ")")));
    return RowCopier(from, table, std::move(insert));
  }

  // Those that match, up to the first that cannot be read; false if there was
  // one. `key`: for a mark in `where`. Errors: those of the copy.
  template <typename Key>
  absl::StatusOr<bool> Copy(absl::string_view where, absl::string_view order,
                            const Key* key) {
    absl::StatusOr<Statement> select =
        from_.Prepare(Selection(table_, where, order));
    if (!select.ok()) return false;
    if (key != nullptr) select->Bind(1, *key);
    while (true) {
      const absl::StatusOr<bool> found = select->Step();
      if (!found.ok()) return false;
      if (!*found) return true;
      for (size_t i = 0; i < table_.columns.size(); ++i) {
        const int at = static_cast<int>(i);
        if (table_.columns[i].is_number) {
          insert_.Bind(at + 1, select->Int(at));
        } else {
          insert_.Bind(at + 1, select->Bytes(at));
        }
      }
      EK_RETURN_IF_ERROR(insert_.Run());
      insert_.Reset();
    }
  }

  // The same from either end.
  template <typename Key>
  absl::StatusOr<bool> CopyFromBothEnds(absl::string_view where,
                                        const Key* key) {
    EK_ASSIGN_OR_RETURN(const bool all, Copy(where, "ASC", key));
    if (all) return true;
    return Copy(where, "DESC", key);
  }

 private:
  RowCopier(Database& from, const Table& table, Statement insert)
      : from_(from), table_(table), insert_(std::move(insert)) {}

  Database& from_;
  const Table& table_;
  Statement insert_;
};

std::optional<int64_t> ReadNumber(Database& database, absl::string_view sql) {
  absl::StatusOr<Statement> select = database.Prepare(sql);
  if (!select.ok()) return std::nullopt;
  const absl::StatusOr<bool> found = select->Step();
  if (!found.ok() || !*found) return std::nullopt;
  return select->Int(0);
}

// The rows that jobs may have, from the last one on downwards.
struct RowRange {
  int64_t last = 0;
  int64_t count = 0;
};

RowRange RowsToTry(Database& from, Database& into) {
  int64_t last = 0;
  // What was given to the latest job, or else the last one that was read.
  for (const auto& [database, sql] :
       std::vector<std::pair<Database*, const char*>>{
           {&from, "SELECT seq FROM sqlite_sequence WHERE name = 'jobs'"},
           {&into, "SELECT MAX(row) FROM jobs"}}) {
    last = std::max(last, ReadNumber(*database, sql).value_or(0));
  }
  if (last == 0) last = kMaxTriedRows;
  return {last, std::min(last, kMaxTriedRows)};
}

// What lies between damaged parts: each row is looked for by its number, which
// reads only the pages on the way to it.
absl::Status CopyRowByRow(const RowRange& rows, RowCopier& copier) {
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t row = rows.last - i;
    EK_RETURN_IF_ERROR(copier.Copy(" WHERE row = ?", "ASC", &row).status());
  }
  return absl::OkStatus();
}

// The same for what belongs to jobs, of those that were found.
absl::Status CopyJobByJob(const std::vector<std::string>& jobs,
                          RowCopier& copier) {
  for (const std::string& job : jobs) {
    EK_RETURN_IF_ERROR(
        copier.CopyFromBothEnds(" WHERE job_id = ?", &job).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> JobsIn(Database& into) {
  EK_ASSIGN_OR_RETURN(Statement select, into.Prepare("SELECT id FROM jobs"));
  std::vector<std::string> jobs;
  while (true) {
    EK_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) return jobs;
    jobs.push_back(select.Bytes(0));
  }
}

// From either end up to what is damaged, and then what is between. Jobs come
// first.
absl::Status CopyTable(Database& from, Database& into, const Table& table) {
  EK_ASSIGN_OR_RETURN(RowCopier copier, RowCopier::New(from, into, table));
  EK_ASSIGN_OR_RETURN(const bool all,
                      copier.CopyFromBothEnds<int64_t>("", /*key=*/nullptr));
  // Where there is no such table, as far as SQLite can see, there is no row.
  if (all || !from.Prepare(Selection(table, "", "ASC")).ok()) {
    return absl::OkStatus();
  }
  if (table.key == absl::string_view("row")) {
    return CopyRowByRow(RowsToTry(from, into), copier);
  }
  EK_ASSIGN_OR_RETURN(const std::vector<std::string> jobs, JobsIn(into));
  return CopyJobByJob(jobs, copier);
}

}  // namespace

absl::Status SetDamagedRowsAside(Database& database, absl::Time now,
                                 std::vector<std::string>& found) {
  EK_ASSIGN_OR_RETURN(const std::vector<Suspect> suspects, Suspects(database));
  for (const Suspect& suspect : suspects) {
    EK_ASSIGN_OR_RETURN(const std::optional<v1::Job> job,
                        SoundJob(database, suspect));
    if (job.has_value() && suspect.head_is_sound) continue;
    EK_RETURN_IF_ERROR(InTransaction(database, [&]() -> absl::Status {
      if (job.has_value()) {
        return WriteHead(database, suspect.row, *job, BlobsColumn(*job, {}));
      }
      found.push_back(DamagedJob(suspect.id).id());
      return SetRowAside(database, suspect, now);
    }));
  }
  EK_ASSIGN_OR_RETURN(
      Statement orphans,
      database.Prepare("SELECT COUNT(*) FROM heads WHERE row NOT IN"
                       " (SELECT row FROM jobs)"));
  EK_RETURN_IF_ERROR(orphans.Step().status());
  if (orphans.Int(0) == 0) return absl::OkStatus();
  orphans.Reset();
  return database.Execute(
      "DELETE FROM heads WHERE row NOT IN (SELECT row FROM jobs)");
}

absl::StatusOr<int64_t> Salvage(const std::string& path, Database& into,
                                cache::BlobStore* blobs) {
  absl::StatusOr<Database> from = Database::OpenDamaged(path);
  const bool sealed = from.ok() && HasSeals(*from);
  EK_RETURN_IF_ERROR(CreateSchema(into, sealed ? kSchemaVersion : 1));
  if (from.ok()) {
    EK_RETURN_IF_ERROR(InTransaction(into, [&]() -> absl::Status {
      for (const Table& table : Tables1()) {
        EK_RETURN_IF_ERROR(CopyTable(*from, into, table));
      }
      if (!sealed) return absl::OkStatus();
      for (const Table& table : Tables2()) {
        EK_RETURN_IF_ERROR(CopyTable(*from, into, table));
      }
      return absl::OkStatus();
    }));
  }
  EK_RETURN_IF_ERROR(PrepareSchema(into, blobs));
  EK_ASSIGN_OR_RETURN(Statement count,
                      into.Prepare("SELECT COUNT(*) FROM jobs"));
  EK_RETURN_IF_ERROR(count.Step().status());
  return count.Int(0);
}

}  // namespace edgekiln::server
