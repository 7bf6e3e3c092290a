#include "server/daemon/jobs/sqlite.h"

#include <sqlite3.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

constexpr int kBusyTimeoutMs = 5000;

absl::Status SqliteError(sqlite3* handle, absl::string_view doing) {
  const int code = handle == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle);
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    return MakeError(
        absl::StatusCode::kDataLoss,
        {.fault = Fault::kInfra,
         .reason = "JOB_STORE_DAMAGED",
         .what = absl::StrCat("the job database is damaged: ",
                              sqlite3_errmsg(handle)),
         .where = std::string(doing),
         .fix = "restart the daemon, which sets it aside and keeps what it can "
                "read; check the disk of the state folder"});
  }
  const bool full = code == SQLITE_FULL;
  return MakeError(
      full ? absl::StatusCode::kResourceExhausted
           : absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = full ? "DISK_FULL" : "JOB_STORE",
       .what = absl::StrCat(
           "the job store failed: ",
           handle == nullptr ? "no memory" : sqlite3_errmsg(handle)),
       .where = std::string(doing),
       .fix = full ? "free disk space" : "check the state folder"});
}

}  // namespace

void Statement::Return::operator()(sqlite3_stmt* statement) const {
  pool->Put(statement);
}

StatementPool::~StatementPool() {
  for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
}

sqlite3_stmt* StatementPool::Take(absl::string_view sql) {
  const auto it = idle_.find(sql);
  if (it == idle_.end()) return nullptr;
  sqlite3_stmt* const statement = it->second;
  idle_.erase(it);
  return statement;
}

void StatementPool::Put(sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (!idle_.emplace(sqlite3_sql(statement), statement).second) {
    sqlite3_finalize(statement);
  }
}

void Database::Closer::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

void Statement::Bind(int index, int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
}

void Statement::Bind(int index, absl::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(),
                      SQLITE_TRANSIENT);
}

absl::StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteError(sqlite3_db_handle(statement_.get()),
                     sqlite3_sql(statement_.get()));
}

absl::Status Statement::Run() { return Step().status(); }

void Statement::Reset() { sqlite3_reset(statement_.get()); }

int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string()
                         : std::string(static_cast<const char*>(data), size);
}

absl::StatusOr<Database> Database::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return SqliteError(handle, path);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  // The file may be damaged.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return database;
}

absl::StatusOr<Database> Database::OpenDamaged(const std::string& path) {
  absl::StatusOr<Database> database = Open(path);
  if (!database.ok()) return database;
  sqlite3* const handle = database->handle_.get();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  // Meant to let SQLite take a file that is shorter than its header says.
  sqlite3_exec(handle, "PRAGMA writable_schema=ON", nullptr, nullptr, nullptr);
  return database;
}

bool Database::RefusesWrites() const {
  const char* path = sqlite3_db_filename(handle_.get(), "main");
  return sqlite3_db_readonly(handle_.get(), "main") == 1 && path != nullptr &&
         access(path, W_OK) == 0;
}

absl::Status Database::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) ==
      SQLITE_OK) {
    return absl::OkStatus();
  }
  return SqliteError(handle_.get(), sql);
}

void Database::DropCache() { sqlite3_db_release_memory(handle_.get()); }

absl::StatusOr<Statement> Database::Prepare(absl::string_view sql) {
  sqlite3_stmt* statement = pool_->Take(sql);
  if (statement == nullptr &&
      sqlite3_prepare_v2(handle_.get(), sql.data(),
                         static_cast<int>(sql.size()), &statement,
                         nullptr) != SQLITE_OK) {
    return SqliteError(handle_.get(), sql);
  }
  return Statement(statement, pool_.get());
}

}  // namespace edgekiln::server
