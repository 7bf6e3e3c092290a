#ifndef EK_SERVER_DAEMON_JOBS_JOB_SCHEMA_H_
#define EK_SERVER_DAEMON_JOBS_JOB_SCHEMA_H_

// The tables of the job database, and how those of older versions become them.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/jobs/sqlite.h"

namespace edgekiln::server {

inline constexpr int64_t kSchemaVersion = 2;

// Makes the tables of that version in an empty database.
absl::Status CreateSchema(Database& database, int64_t version);

// Whether the rows have checksums, as since version 2; also where the database
// does not say which version it has, or some of its tables are damaged.
bool HasSeals(Database& database);

// Writes what lists show of a job, in place of what was there. `blobs`: see
// BlobsColumn().
absl::Status WriteHead(Database& database, int64_t row, const v1::Job& job,
                       const std::string& blobs);

// Creates the tables, or brings those of version 1 up to date; reads the
// structure of what is there once, unless it is very large. What became too
// large for an answer goes to `blobs` (null: it stays). Errors: DATA_LOSS
// (damaged), UNAVAILABLE (JOB_STORE_NEWER), those of writing.
absl::Status PrepareSchema(Database& database, cache::BlobStore* blobs);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_SCHEMA_H_
