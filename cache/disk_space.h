#ifndef EK_CACHE_DISK_SPACE_H_
#define EK_CACHE_DISK_SPACE_H_

// Refuses writes before the disk is full. The reserve that stays free belongs
// to the job database and to what must be written to recover.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cache/blob_store.h"

namespace edgekiln::cache {

// Thread-safe.
class DiskSpace {
 public:
  virtual ~DiskSpace() = default;
  // OK if `bytes` more can be written and the reserve still stays free. The
  // disk is asked each time: what was refused is admitted once there is room.
  // RESOURCE_EXHAUSTED (Fault::kInfra, reason DISK_FULL) naming `what`
  // otherwise.
  virtual absl::Status Admit(int64_t bytes, absl::string_view what) = 0;
};

// Bytes that an unprivileged process may still write where `path` lies.
// UNAVAILABLE naming the path.
absl::StatusOr<int64_t> FreeBytes(const std::string& path);

// `free_bytes` is asked for the room there is; if it fails everything is
// admitted, since the write itself will tell. `folder` is for the error.
std::unique_ptr<DiskSpace> NewDiskSpace(
    std::string folder, int64_t reserve_bytes,
    std::function<absl::StatusOr<int64_t>()> free_bytes);

// Wraps `inner`; blobs for which there is no room are refused. `space` must
// outlive the store.
std::unique_ptr<BlobStore> NewSpaceCheckingBlobStore(
    std::unique_ptr<BlobStore> inner, DiskSpace& space);

}  // namespace edgekiln::cache

#endif  // EK_CACHE_DISK_SPACE_H_
