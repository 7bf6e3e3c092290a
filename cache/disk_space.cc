#include "cache/disk_space.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "cache/forwarding_blob_store.h"

namespace edgekiln::cache {
namespace {

class ReservedDiskSpace : public DiskSpace {
 public:
  ReservedDiskSpace(std::string folder, int64_t reserve_bytes,
                    std::function<absl::StatusOr<int64_t>()> free_bytes)
      : folder_(std::move(folder)),
        reserve_bytes_(reserve_bytes),
        free_bytes_(std::move(free_bytes)) {}

  absl::Status Admit(int64_t bytes, absl::string_view what) override {
    const absl::StatusOr<int64_t> free = free_bytes_();
    if (!free.ok()) return absl::OkStatus();
    const int64_t room = std::max<int64_t>(0, *free - reserve_bytes_);
    if (bytes <= room) return absl::OkStatus();
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        {.fault = Fault::kInfra,
         .reason = "DISK_FULL",
         .what = absl::StrCat("the server's disk has no room for ", what),
         .where = folder_,
         .limit = absl::StrCat(FormatBytes(room), " free beyond a reserve of ",
                               FormatBytes(reserve_bytes_)),
         .need = FormatBytes(bytes),
         .fix = "free disk space, or lower --cache-limit; nothing has to be "
                "restarted"});
  }

 private:
  const std::string folder_;
  const int64_t reserve_bytes_;
  const std::function<absl::StatusOr<int64_t>()> free_bytes_;
};

class SpaceCheckingBlobStore : public ForwardingBlobStore {
 public:
  SpaceCheckingBlobStore(std::unique_ptr<BlobStore> inner, DiskSpace& space)
      : ForwardingBlobStore(std::move(inner)), space_(space) {}

  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    EK_RETURN_IF_ERROR(Admit(digest, bytes));
    return inner().Put(digest, bytes);
  }
  absl::Status PutBuffered(const Digest& digest,
                           absl::string_view bytes) override {
    EK_RETURN_IF_ERROR(Admit(digest, bytes));
    return inner().PutBuffered(digest, bytes);
  }
  // Adopt() asks for nothing: the file is on the disk already, and a rename
  // takes no room.

 private:
  absl::Status Admit(const Digest& digest, absl::string_view bytes) {
    const absl::Status room =
        space_.Admit(static_cast<int64_t>(bytes.size()), "a blob");
    // What is there already needs none.
    const bool fits = room.ok() || inner().Contains(digest).value_or(false);
    return fits ? absl::OkStatus() : room;
  }

  DiskSpace& space_;
};

}  // namespace

absl::StatusOr<int64_t> FreeBytes(const std::string& path) {
  struct statvfs info = {};
  if (statvfs(path.c_str(), &info) != 0) {
    return MakeError(absl::StatusCode::kUnavailable,
                     {.fault = Fault::kInfra,
                      .reason = "FILE_SYSTEM",
                      .what = absl::StrCat("the free disk space is not known: ",
                                           strerror(errno)),
                      .where = path,
                      .fix = "check the state folder"});
  }
  return CheckedMul(static_cast<int64_t>(info.f_bavail),
                    static_cast<int64_t>(info.f_frsize))
      .value_or(std::numeric_limits<int64_t>::max());
}

std::unique_ptr<DiskSpace> NewDiskSpace(
    std::string folder, int64_t reserve_bytes,
    std::function<absl::StatusOr<int64_t>()> free_bytes) {
  return std::make_unique<ReservedDiskSpace>(std::move(folder), reserve_bytes,
                                             std::move(free_bytes));
}

std::unique_ptr<BlobStore> NewSpaceCheckingBlobStore(
    std::unique_ptr<BlobStore> inner, DiskSpace& space) {
  return std::make_unique<SpaceCheckingBlobStore>(std::move(inner), space);
}

}  // namespace edgekiln::cache
