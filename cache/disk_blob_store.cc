#include "cache/disk_blob_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/sized_lru.h"
#include "base/status_macros.h"
#include "cache/set_aside.h"
#include "cache/shard_flags.h"

namespace edgekiln::cache {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;
// Of those whose bytes were seen to be right.
constexpr int64_t kMaxVerified = 1 << 17;

// A blob that is opened again within that time is not hashed again. Bytes are
// read from the file after the hash was checked in either case.
constexpr std::chrono::seconds kLookIsFresh{10};

using SteadyTime = std::chrono::steady_clock::time_point;

// A blob whose bytes were right when its file was last modified at that time.
struct Known {
  absl::Time modified;
  bool synced = false;  // Its file and its name, in this process.
  SteadyTime looked = SteadyTime::min();  // At the bytes in the file.
};

class FileReader : public BlobReader {
 public:
  // Whether a file that was last modified at that time holds the blob.
  using IsRight = std::function<absl::StatusOr<bool>(absl::Time modified)>;

  // The file was right when it was last modified at `modified`.
  FileReader(FileSystem& files, std::string path, Digest digest,
             absl::Time modified, IsRight is_right)
      : files_(files),
        path_(std::move(path)),
        digest_(std::move(digest)),
        modified_(modified),
        is_right_(std::move(is_right)) {}

  absl::StatusOr<std::string> Read(int64_t offset, int64_t max_bytes) override {
    if (offset < 0 || offset >= digest_.size_bytes) return std::string();
    const absl::StatusOr<FileInfo> info = files_.Stat(path_);
    if (absl::IsNotFound(info.status())) return BlobMissing(digest_);
    EK_RETURN_IF_ERROR(info.status());
    if (info->size_bytes != digest_.size_bytes) return BlobMissing(digest_);
    // The evictor changes the time of files that are used, too.
    if (info->modified != modified_) {
      EK_ASSIGN_OR_RETURN(const bool right, is_right_(info->modified));
      if (!right) return BlobMissing(digest_);
      modified_ = info->modified;
    }
    auto bytes = files_.ReadRange(path_, offset, max_bytes);
    if (absl::IsNotFound(bytes.status())) return BlobMissing(digest_);
    return bytes;
  }

 private:
  FileSystem& files_;
  const std::string path_;
  const Digest digest_;
  absl::Time modified_;
  const IsRight is_right_;
};

class DiskBlobStore : public BlobStore {
 public:
  DiskBlobStore(FileSystem& files, std::string root, Evictor* evictor)
      : files_(files),
        root_(std::move(root)),
        tmp_(JoinPath(root_, "tmp")),
        evictor_(evictor) {}

  absl::Status Open() {
    EK_RETURN_IF_ERROR(EnsureFolder(files_, root_));
    EK_RETURN_IF_ERROR(EnsureFolder(files_, tmp_));
    EK_ASSIGN_OR_RETURN(std::vector<std::string> left, files_.List(tmp_));
    for (const std::string& name : left) {
      // What is not of our making may stay.
      files_.Remove(JoinPath(tmp_, name)).IgnoreError();
    }
    return files_.SyncDirectory(root_);
  }

  // A file that was not read since it last changed is read now: what is said
  // to be here is not sent again, so it must be right.
  absl::StatusOr<bool> Contains(const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const std::optional<FileInfo> info, Find(digest));
    if (!info.has_value()) return false;
    if (IsVerified(digest, info->modified)) return true;
    return Verify(digest, info->modified);
  }

  absl::StatusOr<std::optional<bool>> ContainsIfKnown(
      const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const std::optional<FileInfo> info, Find(digest));
    if (!info.has_value()) return std::optional<bool>(false);
    if (!IsVerified(digest, info->modified)) return std::optional<bool>();
    return std::optional<bool>(true);
  }

  absl::StatusOr<std::string> Get(const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const std::optional<FileInfo> info, Find(digest));
    if (!info.has_value()) return BlobMissing(digest);
    const std::string path = PathOf(digest);
    absl::StatusOr<std::string> bytes = files_.Read(path, digest.size_bytes);
    if (absl::IsNotFound(bytes.status())) return BlobMissing(digest);
    if (!bytes.ok() && !IsUnreadable(bytes.status())) return bytes.status();
    if (!bytes.ok() || DigestOf(*bytes) != digest) {
      Remove(digest);
      return BlobMissing(digest);
    }
    if (!IsVerified(digest, info->modified)) {
      Remember(digest, {info->modified});
    }
    return bytes;
  }

  absl::StatusOr<std::unique_ptr<BlobReader>> OpenReader(
      const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const std::optional<FileInfo> info, Find(digest));
    if (!info.has_value()) return BlobMissing(digest);
    const auto is_right =
        [this, digest](absl::Time modified) -> absl::StatusOr<bool> {
      if (IsFresh(digest, modified)) return true;
      return Verify(digest, modified);
    };
    EK_ASSIGN_OR_RETURN(const bool right, is_right(info->modified));
    if (!right) return BlobMissing(digest);
    return std::make_unique<FileReader>(files_, PathOf(digest), digest,
                                        info->modified, is_right);
  }

  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    return Store(digest, bytes, /*sync=*/true);
  }

  absl::Status PutBuffered(const Digest& digest,
                           absl::string_view bytes) override {
    return Store(digest, bytes, /*sync=*/false);
  }

  // What an earlier process has left may be in no better state than what was
  // buffered: to sync what is durable already costs next to nothing.
  absl::Status Sync(const Digest& digest) override {
    EK_RETURN_IF_ERROR(ValidateDigest(digest));
    const std::string path = PathOf(digest);
    const absl::StatusOr<FileInfo> info = files_.Stat(path);
    if (absl::IsNotFound(info.status())) return BlobMissing(digest);
    EK_RETURN_IF_ERROR(info.status());
    const std::shared_ptr<const Known> known = KnownOf(digest);
    if (known != nullptr && known->synced &&
        known->modified == info->modified) {
      return absl::OkStatus();
    }
    const absl::Status synced = files_.SyncFile(path);
    if (absl::IsNotFound(synced)) return BlobMissing(digest);
    if (!synced.ok()) {
      Remove(digest);
      return synced;
    }
    return SyncName(digest, *info);
  }

  absl::Status Adopt(const Digest& digest, const std::string& path) override {
    EK_RETURN_IF_ERROR(ValidateDigest(digest));
    return Place(digest, path, /*sync=*/true);
  }

 private:
  // The file of a blob as it was changed last, which somebody reads.
  using LookKey = std::pair<std::string, absl::Time>;
  struct Look {
    std::optional<absl::StatusOr<bool>> right;  // At its end; as mutex_ has it.
  };

  std::string PathOf(const Digest& digest) const {
    return absl::StrCat(root_, "/", digest.hash.substr(0, 2), "/",
                        BlobFileName(digest));
  }

  absl::Status Store(const Digest& digest, absl::string_view bytes, bool sync) {
    EK_RETURN_IF_ERROR(VerifyDigest(digest, bytes));
    EK_ASSIGN_OR_RETURN(const std::optional<FileInfo> info, Find(digest));
    if (info.has_value()) {
      // Whoever uploads what was there may have a reason. What stages make is
      // sent unasked; reading verifies it in any case.
      bool right = !sync && IsVerified(digest, info->modified);
      if (!right) {
        EK_ASSIGN_OR_RETURN(right, Verify(digest, info->modified));
      }
      if (right) return sync ? Sync(digest) : absl::OkStatus();
    }
    const std::string path = JoinPath(tmp_, absl::StrCat("put-", next_++));
    const absl::Status written = Write(path, bytes, sync);
    if (!written.ok()) {
      Discard(files_, path);
      return Annotate(written, absl::StrCat("storing ", digest.ToString()));
    }
    return Place(digest, path, sync);
  }

  // Gives the file at `path`, which holds the blob, its name.
  absl::Status Place(const Digest& digest, const std::string& path, bool sync) {
    const std::string target = PathOf(digest);
    std::atomic<bool>& shard_exists = shard_exists_.Of(digest.hash);
    if (!shard_exists) {
      // Where it fails, so does renaming.
      files_.CreateDirectories(ParentPath(target)).IgnoreError();
      shard_exists = true;
    }
    absl::Status renamed = files_.Rename(path, target);
    if (!renamed.ok()) {
      // Somebody has removed the shard, or something strange is in its place.
      const absl::StatusOr<FileInfo> strange = files_.Stat(target);
      if (strange.ok() && strange->is_directory) Discard(files_, target);
      shard_is_durable_.Of(digest.hash) = false;
      EK_RETURN_IF_ERROR(EnsureFolder(files_, ParentPath(target)));
      renamed = files_.Rename(path, target);
    }
    if (!renamed.ok()) {
      Discard(files_, path);
      return Annotate(renamed, absl::StrCat("storing ", digest.ToString()));
    }
    // Its writer has hashed it.
    const absl::StatusOr<FileInfo> info = files_.Stat(target);
    if (info.ok()) Remember(digest, {info->modified});
    if (evictor_ != nullptr) evictor_->Added(digest.size_bytes);
    if (!sync) return absl::OkStatus();
    EK_RETURN_IF_ERROR(info.status());
    return SyncName(digest, *info);
  }

  // Of a file whose contents are durable.
  absl::Status SyncName(const Digest& digest, const FileInfo& info) {
    EK_RETURN_IF_ERROR(files_.SyncDirectory(ParentPath(PathOf(digest))));
    std::atomic<bool>& shard_is_durable = shard_is_durable_.Of(digest.hash);
    if (!shard_is_durable) {
      EK_RETURN_IF_ERROR(files_.SyncDirectory(root_));
      shard_is_durable = true;
    }
    if (IsVerified(digest, info.modified)) {
      Remember(digest, {info.modified, true});
      return absl::OkStatus();
    }
    // Somebody may have put a buffered file in its place meanwhile.
    const absl::StatusOr<FileInfo> now = files_.Stat(PathOf(digest));
    if (absl::IsNotFound(now.status())) return BlobMissing(digest);
    EK_RETURN_IF_ERROR(now.status());
    return now->modified == info.modified ? absl::OkStatus()
                                          : files_.SyncFile(PathOf(digest));
  }

  absl::Status Write(const std::string& path, absl::string_view bytes,
                     bool sync) {
    EK_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                        files_.Open(path, OpenMode::kTruncate));
    EK_RETURN_IF_ERROR(file->Append(bytes));
    if (sync) EK_RETURN_IF_ERROR(file->Sync());
    return file->Close();
  }

  // Errors: those of reading that say nothing of the file.
  absl::StatusOr<bool> HasDigest(const std::string& path,
                                 const Digest& digest) {
    Sha256 hash;
    while (hash.size_bytes() < digest.size_bytes) {
      const absl::StatusOr<std::string> piece =
          files_.ReadRange(path, hash.size_bytes(), kPieceBytes);
      if (!piece.ok()) {
        if (absl::IsNotFound(piece.status()) || IsUnreadable(piece.status())) {
          return false;
        }
        return piece.status();
      }
      if (piece->empty()) break;
      hash.Update(*piece);
    }
    // Of an empty blob nothing was read.
    if (digest.size_bytes == 0 && !files_.Read(path, 0).ok()) return false;
    return hash.Finish() == digest;
  }

  std::shared_ptr<const Known> KnownOf(const Digest& digest) {
    MutexLock lock(mutex_);
    return verified_.Get(digest.hash);
  }

  bool IsVerified(const Digest& digest, absl::Time modified) {
    const std::shared_ptr<const Known> known = KnownOf(digest);
    return known != nullptr && known->modified == modified;
  }

  // Whether somebody has just read its file to the end.
  bool IsFresh(const Digest& digest, absl::Time modified) {
    const std::shared_ptr<const Known> known = KnownOf(digest);
    return known != nullptr && known->modified == modified &&
           std::chrono::steady_clock::now() - kLookIsFresh < known->looked;
  }

  void Remember(const Digest& digest, const Known& known) {
    MutexLock lock(mutex_);
    RememberLocked(digest, known);
  }
  void RememberLocked(const Digest& digest, const Known& known)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    verified_.Erase(digest.hash);
    verified_.Put(digest.hash, std::make_shared<const Known>(known), 1);
  }

  // Nothing if there is no file of that size.
  absl::StatusOr<std::optional<FileInfo>> Find(const Digest& digest) {
    EK_RETURN_IF_ERROR(ValidateDigest(digest));
    const std::string path = PathOf(digest);
    absl::StatusOr<FileInfo> info = files_.Stat(path);
    if (absl::IsNotFound(info.status())) return std::nullopt;
    if (!info.ok()) return info.status();
    if (info->size_bytes != digest.size_bytes || info->is_directory) {
      Remove(digest);
      return std::nullopt;
    }
    if (evictor_ == nullptr) return *info;
    const absl::Time before = info->modified;
    if (!evictor_->Used(path, *info)) return std::nullopt;
    // The evictor may have changed its time. Who sends its bytes looks at them
    // once more: somebody may have changed these just before.
    const std::shared_ptr<const Known> known = KnownOf(digest);
    if (info->modified != before && known != nullptr &&
        known->modified == before) {
      Remember(digest, {info->modified, known->synced});
    }
    return *info;
  }

  // False, and it is gone, if its bytes are not what its name says. Whoever
  // comes while somebody reads them waits for that.
  absl::StatusOr<bool> Verify(const Digest& digest, absl::Time modified) {
    const LookKey key(digest.hash, modified);
    const auto mine = std::make_shared<Look>();
    {
      MutexLock lock(mutex_);
      const auto [it, first] = looks_.emplace(key, mine);
      if (!first) {
        const std::shared_ptr<Look> other = it->second;
        while (!other->right.has_value()) looked_.Wait(lock);
        return *other->right;
      }
    }
    const absl::StatusOr<bool> right = Read(digest, modified);
    {
      MutexLock lock(mutex_);
      mine->right = right;
      looks_.erase(key);
    }
    looked_.NotifyAll();
    return right;
  }

  absl::StatusOr<bool> Read(const Digest& digest, absl::Time modified) {
    EK_ASSIGN_OR_RETURN(const bool right, HasDigest(PathOf(digest), digest));
    if (!right) {
      Remove(digest);
      return false;
    }
    MutexLock lock(mutex_);
    const std::shared_ptr<const Known> known = verified_.Get(digest.hash);
    const bool synced =
        known != nullptr && known->modified == modified && known->synced;
    RememberLocked(digest,
                   {modified, synced, std::chrono::steady_clock::now()});
    return true;
  }

  void Remove(const Digest& digest) {
    {
      MutexLock lock(mutex_);
      verified_.Erase(digest.hash);
    }
    Discard(files_, PathOf(digest));
  }

  FileSystem& files_;
  const std::string root_;
  const std::string tmp_;
  Evictor* const evictor_;  // Null: nothing is ever evicted.
  std::atomic<int64_t> next_{0};
  ShardFlags shard_exists_;      // May be gone again.
  ShardFlags shard_is_durable_;  // Its name is.
  Mutex mutex_;
  CondVar looked_;
  std::map<LookKey, std::shared_ptr<Look>> looks_ ABSL_GUARDED_BY(mutex_);
  SizedLru<std::string, std::shared_ptr<const Known>> verified_  // By hash.
      ABSL_GUARDED_BY(mutex_){kMaxVerified};
};

}  // namespace

std::string BlobFileName(const Digest& digest) {
  return absl::StrCat(digest.hash, "-", digest.size_bytes);
}

absl::StatusOr<std::unique_ptr<BlobStore>> OpenDiskBlobStore(
    FileSystem& files, const std::string& root, Evictor* evictor) {
  auto store = std::make_unique<DiskBlobStore>(files, root, evictor);
  EK_RETURN_IF_ERROR(store->Open(), "opening the blob store");
  return store;
}

}  // namespace edgekiln::cache
