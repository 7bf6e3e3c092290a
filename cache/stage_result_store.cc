#include "cache/stage_result_store.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::cache {
namespace {

constexpr absl::string_view kMagic = "EKSTAGE1";
constexpr size_t kHashBytes = 64;
// Summaries list layers and tensors; blobs hold everything large.
constexpr int64_t kMaxFileBytes = 64 << 20;

absl::Status ResultMissing(const std::string& key) {
  return absl::NotFoundError(absl::StrCat("no result for stage key ", key));
}

// The serialized result inside a file, or empty with `ok` false.
bool Unwrap(absl::string_view file, absl::string_view* payload) {
  if (!absl::StartsWith(file, kMagic)) return false;
  file.remove_prefix(kMagic.size());
  if (file.size() < kHashBytes) return false;
  const absl::string_view hash = file.substr(0, kHashBytes);
  *payload = file.substr(kHashBytes);
  return DigestOf(*payload).hash == hash;
}

class DiskStageResultStore : public StageResultStore {
 public:
  DiskStageResultStore(FileSystem& files, std::string root, BlobStore& blobs,
                       Evictor* evictor)
      : files_(files),
        root_(std::move(root)),
        blobs_(blobs),
        evictor_(evictor) {}

  absl::Status Open() {
    EK_RETURN_IF_ERROR(files_.CreateDirectories(root_));
    return files_.SyncDirectory(root_);
  }

  absl::StatusOr<v1::StageResult> Get(const std::string& key) override {
    EK_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
    absl::StatusOr<std::string> file = files_.Read(path, kMaxFileBytes);
    if (absl::IsNotFound(file.status())) return ResultMissing(key);
    absl::string_view payload;
    v1::StageResult result;
    const bool sound =
        file.ok() && Unwrap(*file, &payload) &&
        result.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
    if (!sound) {
      if (!file.ok() && !absl::IsInvalidArgument(file.status())) {
        return file.status();
      }
      files_.Remove(path).IgnoreError();
      return ResultMissing(key);
    }
    for (const v1::BlobRef& output : result.outputs()) {
      EK_ASSIGN_OR_RETURN(const bool present,
                          blobs_.Contains({output.digest().hash(),
                                           output.digest().size_bytes()}));
      if (!present) return ResultMissing(key);
    }
    if (evictor_ != nullptr) {
      // What is in memory is good, also if the file has just gone.
      const absl::StatusOr<FileInfo> info = files_.Stat(path);
      if (info.ok()) evictor_->Used(path, *info);
    }
    return result;
  }

  absl::Status Put(const std::string& key,
                   const v1::StageResult& result) override {
    EK_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
    const std::string payload = result.SerializeAsString();
    const std::string file =
        absl::StrCat(kMagic, DigestOf(payload).hash, payload);
    if (evictor_ != nullptr) {
      evictor_->Added(static_cast<int64_t>(file.size()));
    }
    const absl::Status written = WriteAtomically(files_, path, file);
    if (!absl::IsNotFound(written)) return written;
    // The first result of its shard.
    EK_RETURN_IF_ERROR(files_.CreateDirectories(ParentPath(path)));
    EK_RETURN_IF_ERROR(files_.SyncDirectory(root_));
    return WriteAtomically(files_, path, file);
  }

 private:
  absl::StatusOr<std::string> PathOf(const std::string& key) const {
    EK_RETURN_IF_ERROR(ValidateDigest({key, 0}), "stage key");
    return absl::StrCat(root_, "/", key.substr(0, 2), "/", key);
  }

  FileSystem& files_;
  const std::string root_;
  BlobStore& blobs_;
  Evictor* const evictor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StageResultStore>> OpenDiskStageResultStore(
    FileSystem& files, const std::string& root, BlobStore& blobs,
    Evictor* evictor) {
  auto store =
      std::make_unique<DiskStageResultStore>(files, root, blobs, evictor);
  EK_RETURN_IF_ERROR(store->Open(), "opening the stage results");
  return store;
}

}  // namespace edgekiln::cache
