#ifndef EK_SERVER_DAEMON_JOBS_SQLITE_H_
#define EK_SERVER_DAEMON_JOBS_SQLITE_H_

// SQLite with our error values. A Database and its statements belong to one
// thread at a time.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace edgekiln::server {

class StatementPool;

// A prepared statement. Bind parameters from 1 on, then Step(); columns count
// from 0. Must not outlive its database.
class Statement {
 public:
  void Bind(int index, int64_t value);
  void Bind(int index, absl::string_view bytes);  // As a blob; copied.
  // True for a row, false at the end.
  absl::StatusOr<bool> Step();
  // For statements without rows.
  absl::Status Run();
  // Ready for new parameters.
  void Reset();
  int64_t Int(int column) const;
  std::string Bytes(int column) const;

 private:
  friend class Database;
  struct Return {
    StatementPool* pool;
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, StatementPool* pool)
      : statement_(statement, Return{pool}) {}

  std::unique_ptr<sqlite3_stmt, Return> statement_;
};

// Statements that nobody uses at the moment, ready for new parameters: parsing
// SQL takes longer than most of what it says.
class StatementPool {
 public:
  ~StatementPool();
  // Null if there is none.
  sqlite3_stmt* Take(absl::string_view sql);
  void Put(sqlite3_stmt* statement);

 private:
  std::map<std::string, sqlite3_stmt*, std::less<>> idle_;
};

class Database {
 public:
  // Creates the file if needed. Errors: UNAVAILABLE naming the path. Here and
  // everywhere below, DATA_LOSS says that the file is damaged.
  static absl::StatusOr<Database> Open(const std::string& path);

  // For reading what can be read of a damaged file, as one that was cut.
  static absl::StatusOr<Database> OpenDamaged(const std::string& path);

  // Whether SQLite opened a writable file read-only because of its header,
  // which is damaged or of a newer format. Call after the first read.
  bool RefusesWrites() const;

  // Statements without parameters or rows, separated by semicolons.
  absl::Status Execute(const std::string& sql);
  // Frees the pages that are kept in memory for later.
  void DropCache();
  // One statement. The same text again costs no parsing.
  absl::StatusOr<Statement> Prepare(absl::string_view sql);

 private:
  struct Closer {
    void operator()(sqlite3* handle) const;
  };
  explicit Database(sqlite3* handle)
      : handle_(handle), pool_(std::make_unique<StatementPool>()) {}

  std::unique_ptr<sqlite3, Closer> handle_;
  std::unique_ptr<StatementPool> pool_;  // Emptied before the handle closes.
};

// Runs `body`, which returns a status; all that it wrote is kept, or nothing.
template <typename Body>
absl::Status InTransaction(Database& database, const Body& body)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {  // `body` has its caller's locks.
  const auto run = [&](absl::string_view sql) -> absl::Status {
    absl::StatusOr<Statement> statement = database.Prepare(sql);
    return statement.ok() ? statement->Run() : statement.status();
  };
  absl::Status status = run("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  status = body();
  if (status.ok()) status = run("COMMIT");
  if (!status.ok()) run("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_SQLITE_H_
