#ifndef EK_SERVER_DAEMON_IDLE_MEMORY_H_
#define EK_SERVER_DAEMON_IDLE_MEMORY_H_

#include "absl/time/time.h"
#include "base/clock.h"
#include "cache/blob_store.h"
#include "cache/stage_result_store.h"
#include "server/daemon/jobs/job_store.h"

namespace edgekiln::server {

// Gives back what a daemon that has nothing to do keeps: first freed memory to
// the kernel, later half of the caches. Not thread-safe; what it is made of
// must outlive it.
class IdleMemory {
 public:
  IdleMemory(cache::BlobStore& blobs, cache::StageResultStore& results,
             JobStore& jobs, Clock& clock);

  // To be called now and then; `idle`: since when nobody has asked for
  // anything.
  void Return(absl::Duration idle);

 private:
  cache::BlobStore& blobs_;
  cache::StageResultStore& results_;
  JobStore& jobs_;
  Clock& clock_;
  absl::Duration returned_;
  absl::Duration halved_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_IDLE_MEMORY_H_
