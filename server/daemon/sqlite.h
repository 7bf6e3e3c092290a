#ifndef EK_SERVER_DAEMON_SQLITE_H_
#define EK_SERVER_DAEMON_SQLITE_H_

// SQLite with our error values. A Database and its statements belong to one
// thread at a time.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace edgekiln::server {

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
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

class Database {
 public:
  // Creates the file if needed. Errors: UNAVAILABLE naming the path.
  static absl::StatusOr<Database> Open(const std::string& path);

  // Statements without parameters or rows, separated by semicolons.
  absl::Status Execute(const std::string& sql);
  absl::StatusOr<Statement> Prepare(absl::string_view sql);

 private:
  struct Closer {
    void operator()(sqlite3* handle) const;
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}

  std::unique_ptr<sqlite3, Closer> handle_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_SQLITE_H_
