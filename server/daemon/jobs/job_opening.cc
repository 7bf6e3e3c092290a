#include "server/daemon/jobs/job_opening.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "server/daemon/jobs/job_files.h"
#include "server/daemon/jobs/job_recovery.h"
#include "server/daemon/jobs/job_schema.h"
#include "server/daemon/jobs/wal_check.h"

namespace edgekiln::server {
namespace {

// Pages that the writer keeps in memory: with SQLite's own 2 MiB each job reads
// as many pages as it writes.
constexpr int kCacheKib = 16 << 10;

std::string When(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M", time, absl::UTCTimeZone());
}

class Opener {
 public:
  Opener(const std::string& path, const JobOpening& opening)
      : path_(path),
        new_path_(absl::StrCat(path, ".new")),
        mark_(absl::StrCat(path, ".made")),
        opening_(opening),
        files_(NewPosixFileSystem()) {}

  absl::StatusOr<OpenedJobs> Open() {
    EK_RETURN_IF_ERROR(MoveStrangeFiles(*files_, path_));
    EK_RETURN_IF_ERROR(EndSalvage());
    EK_RETURN_IF_ERROR(TellOfLoss());
    TellOfLostTransactions();
    absl::StatusOr<Database> database = OpenSound();
    if (absl::IsDataLoss(database.status())) {
      EK_RETURN_IF_ERROR(Replace(database.status()));
      database = OpenSound();
    }
    EK_RETURN_IF_ERROR(database.status());
    Mark();
    return OpenedJobs{.database = *std::move(database),
                      .found = std::move(found_),
                      .loss = std::move(loss_)};
  }

 private:
  // What a process left that died while it replaced a damaged database: of the
  // two files, the one that was complete goes on.
  absl::Status EndSalvage() {
    if (!HasBytes(new_path_)) return absl::OkStatus();
    if (!HasBytes(path_)) return TakeNew();
    return RemoveNew();
  }

  absl::Status TakeNew() {
    EK_RETURN_IF_ERROR(files_->Rename(new_path_, path_));
    return files_->SyncDirectory(ParentPath(path_));
  }

  absl::Status RemoveNew() {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      const absl::Status removed = files_->Remove(new_path_ + suffix);
      if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    }
    return absl::OkStatus();
  }

  // A database that was there and is not, or is empty.
  absl::Status TellOfLoss() {
    if (HasBytes(path_)) return absl::OkStatus();
    const bool left = HasBytes(absl::StrCat(path_, "-wal"));
    if (!left && !opening_.expected && !HasBytes(mark_)) {
      return absl::OkStatus();
    }
    std::string aside;
    EK_RETURN_IF_ERROR(SetDatabaseAside(*files_, path_, &aside));
    loss_ = absl::StrCat(
        "the job database was missing or empty when the "
        "daemon started at ",
        When(opening_.now), "; the jobs in it are lost");
    found_.push_back(absl::StrCat(
        path_, ": ", loss_,
        aside.empty() ? "" : absl::StrCat("; what was left is ", aside),
        "; stop the daemon and put a copy in its place if there is one"));
    return absl::OkStatus();
  }

  // Once SQLite has opened the log, nobody can tell any more.
  void TellOfLostTransactions() {
    const WalCheck check = CheckWal(absl::StrCat(path_, "-wal"));
    if (check.lost == 0) return;
    log_damaged_ = true;
    const std::string copy = CopyLogAside(path_);
    const std::string kept =
        copy.empty() ? std::string() : absl::StrCat("; a copy of it is ", copy);
    if (check.lost == 1) {
      found_.push_back(absl::StrCat(
          path_,
          "-wal: its last transaction is damaged: what it said is lost, "
          "unless the machine lost power while it was written",
          kept));
      return;
    }
    loss_ = absl::StrCat(
        "the log of the job database was damaged when the "
        "daemon started at ",
        When(opening_.now), "; its last ", check.lost,
        " transactions are lost");
    found_.push_back(absl::StrCat(path_, "-wal: data loss: ", loss_, ", ",
                                  check.sound, " could be read", kept));
  }

  absl::StatusOr<Database> OpenSound() {
    EK_ASSIGN_OR_RETURN(Database database, Database::Open(path_));
    EK_RETURN_IF_ERROR(
        database.Execute("PRAGMA cell_size_check=ON; PRAGMA journal_mode=WAL;"
                         " PRAGMA synchronous=FULL;"));
    if (log_damaged_) {
      // What lies behind the damage must not be found, and told of, again.
      EK_RETURN_IF_ERROR(database.Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
      log_damaged_ = false;
    }
    EK_RETURN_IF_ERROR(
        database.Execute(absl::StrCat("PRAGMA cache_size=-", kCacheKib, ";")));
    EK_RETURN_IF_ERROR(PrepareSchema(database, opening_.blobs));
    std::vector<std::string> damaged;
    EK_RETURN_IF_ERROR(SetDamagedRowsAside(database, opening_.now, damaged));
    for (const std::string& id : damaged) {
      found_.push_back(absl::StrCat("job ", id, " is damaged in ", path_,
                                    ": it has failed with JOB_DAMAGED; its "
                                    "bytes are in the table 'damaged'"));
    }
    return database;
  }

  // Another database takes the place of one that SQLite cannot use, with what
  // can be read of it. Done in a file of its own, so that at every moment one
  // of them is complete.
  absl::Status Replace(const absl::Status& why) {
    EK_RETURN_IF_ERROR(RemoveNew());
    int64_t jobs = 0;
    {
      EK_ASSIGN_OR_RETURN(Database database, Database::Open(new_path_));
      EK_RETURN_IF_ERROR(database.Execute("PRAGMA synchronous=FULL;"));
      EK_ASSIGN_OR_RETURN(jobs, Salvage(path_, database, opening_.blobs),
                          "copying what can be read");
    }
    std::string aside;
    EK_RETURN_IF_ERROR(SetDatabaseAside(*files_, path_, &aside));
    EK_RETURN_IF_ERROR(TakeNew());
    loss_ = absl::StrCat(
        "the job database was damaged when the daemon started "
        "at ",
        When(opening_.now), "; ", jobs, " jobs could be read");
    found_.push_back(absl::StrCat(path_, ": ", loss_, "; the damaged one is ",
                                  aside, "; ", why.message()));
    return absl::OkStatus();
  }

  // From here on it is known that there was a database. A full disk is no
  // reason not to start.
  void Mark() {
    if (HasBytes(mark_)) return;
    WriteAtomically(*files_, mark_, "edgekiln made jobs.db in this folder\n")
        .IgnoreError();
  }

  const std::string path_;
  const std::string new_path_;
  const std::string mark_;
  const JobOpening opening_;
  const std::unique_ptr<FileSystem> files_;
  std::vector<std::string> found_;
  std::string loss_;
  bool log_damaged_ = false;
};

}  // namespace

absl::StatusOr<OpenedJobs> OpenJobDatabase(const std::string& path,
                                           const JobOpening& opening) {
  return Opener(path, opening).Open();
}

}  // namespace edgekiln::server
