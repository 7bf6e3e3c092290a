#ifndef EK_SERVER_DAEMON_JOBS_JOB_OPENING_H_
#define EK_SERVER_DAEMON_JOBS_JOB_OPENING_H_

// Opens the job database, whatever has become of it.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cache/blob_store.h"
#include "server/daemon/jobs/sqlite.h"

namespace edgekiln::server {

struct JobOpening {
  cache::BlobStore* blobs = nullptr;  // May be null.
  absl::Time now;
  bool expected = false;  // There was a database before.
};

struct OpenedJobs {
  Database database;
  // For the log, a line each: damage that was found.
  std::vector<std::string> found;
  // For those who ask for a job that is gone; "" if none can be.
  std::string loss;
};

// As JobStore::Open() has it.
absl::StatusOr<OpenedJobs> OpenJobDatabase(const std::string& path,
                                           const JobOpening& opening);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_OPENING_H_
