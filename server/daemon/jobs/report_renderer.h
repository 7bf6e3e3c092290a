#ifndef EK_SERVER_DAEMON_JOBS_REPORT_RENDERER_H_
#define EK_SERVER_DAEMON_JOBS_REPORT_RENDERER_H_

// Reports of jobs as files for people and other programs (reports/).

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/jobs/answer_cache.h"

namespace edgekiln::server {

// Thread-safe. A page takes up to 100 ms of a processor, and memory, so that
// few are made at once; further requests wait for a moment.
class ReportRenderer {
 public:
  static constexpr int kMaxAtOnce = 2;
  static constexpr int kMaxWaiting = 16;
  static constexpr absl::Duration kPatience = absl::Seconds(2);
  // Of all reports of a request together, serialized.
  static constexpr int64_t kMaxReportBytes = int64_t{8} << 20;

  // JobStore::GetReport().
  using GetReport =
      std::function<absl::StatusOr<Answer>(const std::string& id, int target)>;
  // `blobs`, which must outlive it, has the complete reports of which the store
  // has only a part.
  ReportRenderer(GetReport get, cache::BlobStore& blobs)
      : get_(std::move(get)), blobs_(blobs) {}

  // Errors: those of RenderReport in jobs.proto.
  absl::StatusOr<v1::RenderedReport> Render(
      const v1::RenderReportRequest& request);

 private:
  // For the reports of a request.
  struct Room {
    int64_t limit_bytes = 0;
    int64_t used_bytes = 0;
  };

  // OK once it may begin; Leave() then ends it. TOO_MANY_RENDERS.
  absl::Status Enter();
  void Leave();
  absl::StatusOr<v1::Report> Load(const std::string& id, int target,
                                  Room& room);

  const GetReport get_;
  cache::BlobStore& blobs_;
  Mutex mutex_;
  CondVar changed_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_REPORT_RENDERER_H_
