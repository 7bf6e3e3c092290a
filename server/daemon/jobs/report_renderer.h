#ifndef EK_SERVER_DAEMON_JOBS_REPORT_RENDERER_H_
#define EK_SERVER_DAEMON_JOBS_REPORT_RENDERER_H_

// Reports of jobs as files for people and other programs (reports/).

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/jobs/answer_cache.h"

namespace edgekiln::server {

// Thread-safe. A page takes up to 100 ms of a processor, and memory, so that
// few are made at once.
class ReportRenderer {
 public:
  // At once; whoever asks for one more is refused.
  static constexpr int kMaxAtOnce = 2;
  // Of all reports of a request together, serialized.
  static constexpr int64_t kMaxReportBytes = int64_t{16} << 20;

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
  absl::StatusOr<v1::Report> Load(const std::string& id, int target,
                                  int64_t& bytes_left);

  const GetReport get_;
  cache::BlobStore& blobs_;
  std::atomic<int> running_{0};
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_REPORT_RENDERER_H_
