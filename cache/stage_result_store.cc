#include "cache/stage_result_store.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/sized_lru.h"
#include "base/status_macros.h"
#include "cache/set_aside.h"
#include "cache/shard_flags.h"

namespace edgekiln::cache {
namespace {

constexpr absl::string_view kMagic = "EKSTAGE2";
constexpr size_t kHashBytes = 64;
// Summaries list layers and tensors; blobs hold everything large.
constexpr int64_t kMaxFileBytes = 64 << 20;
// Of results that are kept in memory, and what one takes beside its own.
constexpr int64_t kMaxKnownBytes = 32 << 20;
constexpr int64_t kKnownBytes = 512;
// Size of a result in memory, as a multiple of that of its file.
constexpr int64_t kSpread = 4;

absl::Status ResultMissing(const std::string& key) {
  return absl::NotFoundError(absl::StrCat("no result for stage key ", key));
}

// Of the key, too: a file under another one's name is no result.
std::string HashOf(absl::string_view key, absl::string_view payload) {
  Sha256 hash;
  hash.Update(key);
  hash.Update(payload);
  return hash.Finish().hash;
}

// The serialized result inside a file, or empty with `ok` false.
bool Unwrap(absl::string_view key, absl::string_view file,
            absl::string_view* payload) {
  if (!absl::StartsWith(file, kMagic)) return false;
  file.remove_prefix(kMagic.size());
  if (file.size() < kHashBytes) return false;
  const absl::string_view hash = file.substr(0, kHashBytes);
  *payload = file.substr(kHashBytes);
  return HashOf(key, *payload) == hash;
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
    EK_RETURN_IF_ERROR(EnsureFolder(files_, root_));
    EK_ASSIGN_OR_RETURN(const std::vector<std::string> shards,
                        files_.List(root_));
    for (const std::string& shard : shards) RemoveTemporaries(shard);
    return files_.SyncDirectory(root_);
  }

  absl::StatusOr<v1::StageResult> Get(const std::string& key) override {
    EK_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
    // Before it is read: what changes while it is has another time.
    absl::StatusOr<FileInfo> info = files_.Stat(path);
    if (absl::IsNotFound(info.status())) return ResultMissing(key);
    absl::StatusOr<std::string> file = files_.Read(path, kMaxFileBytes);
    if (absl::IsNotFound(file.status())) return ResultMissing(key);
    absl::string_view payload;
    v1::StageResult result;
    const bool sound =
        file.ok() && Unwrap(key, *file, &payload) &&
        result.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
    if (!sound) {
      // It can be made again: no reason to fail whoever asks.
      if (file.ok() || IsUnreadable(file.status())) Discard(files_, path);
      return ResultMissing(key);
    }
    EK_ASSIGN_OR_RETURN(const bool complete, HasOutputs(result));
    if (!complete) return ResultMissing(key);
    // What is in memory is good, also if the file has just gone.
    if (info.ok()) {
      if (evictor_ != nullptr) evictor_->Used(path, *info);
      Keep(key, *info,
           std::make_shared<const absl::StatusOr<v1::StageResult>>(result));
    }
    return result;
  }

  SharedStageResult Recall(const std::string& key) override {
    const std::shared_ptr<const Known> known = Find(key);
    if (known == nullptr) return nullptr;
    const absl::StatusOr<std::string> path = PathOf(key);
    if (!path.ok()) return nullptr;
    absl::StatusOr<FileInfo> info = files_.Stat(*path);
    if (!info.ok() || info->modified != known->modified ||
        info->size_bytes != known->size_bytes) {
      return nullptr;
    }
    if (!IsKnownToBeWhole(**known->result)) return nullptr;
    if (evictor_ != nullptr) {
      if (!evictor_->Used(*path, *info)) return nullptr;
      if (info->modified != known->modified) Touch(key, *known, *info);
    }
    return known->result;
  }

  absl::Status Put(const std::string& key, SharedStageResult result) override {
    EK_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
    const std::string payload = (*result)->SerializeAsString();
    const std::string file =
        absl::StrCat(kMagic, HashOf(key, payload), payload);
    if (evictor_ != nullptr) {
      evictor_->Added(static_cast<int64_t>(file.size()));
    }
    std::atomic<bool>& shard_exists = shard_exists_.Of(key);
    if (!shard_exists) {
      // Where it fails, so does writing.
      files_.CreateDirectories(ParentPath(path)).IgnoreError();
      shard_exists = true;
    }
    absl::Status written = WriteBuffered(files_, path, file);
    if (!written.ok() && !absl::IsResourceExhausted(written)) {
      // Somebody has removed the shard, or something strange is in its place.
      const absl::StatusOr<FileInfo> strange = files_.Stat(path);
      if (strange.ok() && strange->is_directory) Discard(files_, path);
      EK_RETURN_IF_ERROR(EnsureFolder(files_, ParentPath(path)));
      written = WriteBuffered(files_, path, file);
    }
    EK_RETURN_IF_ERROR(written);
    const absl::StatusOr<FileInfo> info = files_.Stat(path);
    if (info.ok()) Keep(key, *info, std::move(result));
    return absl::OkStatus();
  }

  void HalveMemory() override {
    MutexLock lock(mutex_);
    known_.Halve();
  }

 private:
  // A result, and the file that it was read from or written to.
  struct Known {
    SharedStageResult result;
    absl::Time modified;
    int64_t size_bytes = 0;
  };

  std::shared_ptr<const Known> Find(const std::string& key) {
    MutexLock lock(mutex_);
    return known_.Get(key);
  }

  void Touch(const std::string& key, const Known& known, const FileInfo& info) {
    auto touched = std::make_shared<Known>(known);
    touched->modified = info.modified;
    const int64_t bytes = kSpread * info.size_bytes + kKnownBytes;
    MutexLock lock(mutex_);
    known_.Erase(key);
    known_.Put(key, std::move(touched), bytes);
  }

  void Keep(const std::string& key, const FileInfo& info,
            SharedStageResult result) {
    const Known known{.result = std::move(result),
                      .modified = info.modified,
                      .size_bytes = info.size_bytes};
    Touch(key, known, info);
  }

  absl::StatusOr<bool> HasOutputs(const v1::StageResult& result) {
    for (const v1::BlobRef& output : result.outputs()) {
      EK_ASSIGN_OR_RETURN(const bool present,
                          blobs_.Contains({output.digest().hash(),
                                           output.digest().size_bytes()}));
      if (!present) return false;
    }
    return true;
  }

  // Without reading any blob.
  bool IsKnownToBeWhole(const v1::StageResult& result) {
    return std::all_of(
        result.outputs().begin(), result.outputs().end(),
        [this](const v1::BlobRef& output) {
          const absl::StatusOr<std::optional<bool>> present =
              blobs_.ContainsIfKnown(
                  {output.digest().hash(), output.digest().size_bytes()});
          return present.ok() && present->value_or(false);
        });
  }

  // What a crash left of writing.
  void RemoveTemporaries(const std::string& shard) {
    const std::string folder = JoinPath(root_, shard);
    const absl::StatusOr<std::vector<std::string>> names = files_.List(folder);
    if (!names.ok()) return;  // Not a folder.
    for (const std::string& name : *names) {
      if (!IsTemporaryName(name)) continue;
      files_.Remove(JoinPath(folder, name)).IgnoreError();
    }
  }

  absl::StatusOr<std::string> PathOf(const std::string& key) const {
    EK_RETURN_IF_ERROR(ValidateDigest({key, 0}), "stage key");
    return absl::StrCat(root_, "/", key.substr(0, 2), "/", key);
  }

  FileSystem& files_;
  const std::string root_;
  BlobStore& blobs_;
  Evictor* const evictor_;
  ShardFlags shard_exists_;  // May be gone again.
  Mutex mutex_;
  SizedLru<std::string, std::shared_ptr<const Known>> known_
      ABSL_GUARDED_BY(mutex_){kMaxKnownBytes};
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
