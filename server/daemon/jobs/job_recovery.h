#ifndef EK_SERVER_DAEMON_JOBS_JOB_RECOVERY_H_
#define EK_SERVER_DAEMON_JOBS_JOB_RECOVERY_H_

// What is done about a damaged job database: single rows are set aside in it,
// and of a file that SQLite cannot use, the rows that can be read are copied.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cache/blob_store.h"
#include "server/daemon/jobs/sqlite.h"

namespace edgekiln::server {

// Looks at the heads of all jobs and at all of the unfinished ones. A job that
// is damaged becomes FAILED with reason JOB_DAMAGED, its bytes are kept in the
// table `damaged`; `found` says which. Writes nothing if nothing is damaged.
absl::Status SetDamagedRowsAside(Database& database, absl::Time now,
                                 std::vector<std::string>& found);

// Fills the new database `into` with what can be read of the file at `path`,
// of whatever version. Returns how many jobs. Errors: those of `into`.
absl::StatusOr<int64_t> Salvage(const std::string& path, Database& into,
                                cache::BlobStore* blobs);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_RECOVERY_H_
