#include "cache/upload_store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "base/format_bytes.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cache/partial_upload.h"
#include "cache/set_aside.h"

namespace edgekiln::cache {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;
constexpr size_t kMaxIdBytes = 128;

class UploadStoreImpl : public UploadStore {
 public:
  UploadStoreImpl(FileSystem& files, std::string root, BlobStore& blobs,
                  DiskSpace& space, const UploadLimits& limits, Clock& clock)
      : files_(files),
        root_(std::move(root)),
        blobs_(blobs),
        space_(space),
        limits_(limits),
        clock_(clock) {}

  // Files of the process before this one count like any other.
  absl::Status Open() {
    EK_RETURN_IF_ERROR(EnsureFolder(files_, root_));
    EK_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        files_.List(root_));
    const absl::Time now = clock_.Now();
    MutexLock lock(mutex_);
    for (const std::string& name : names) {
      const std::string path = JoinPath(root_, name);
      const absl::StatusOr<FileInfo> info = files_.Stat(path);
      // Only what NameOf() makes is of ours.
      if (!info.ok() || info->is_directory || !ValidateDigest({name, 0}).ok()) {
        continue;
      }
      const absl::Duration idle =
          std::max(now - info->modified, absl::ZeroDuration());
      if (idle > limits_.expiry) {
        files_.Remove(path).IgnoreError();
        continue;
      }
      Entry& entry = entries_[name];
      entry = {.partial = NewPartial(name, {}),
               .announced_bytes = info->size_bytes};
      entry.partial->received_bytes = info->size_bytes;
      entry.partial->last_used_ns =
          absl::ToInt64Nanoseconds(clock_.Monotonic() - idle);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Upload>> Resume(
      const std::string& id, const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const std::string name, NameOf(id, digest));
    EK_ASSIGN_OR_RETURN(const std::shared_ptr<PartialUpload> partial,
                        FindOrAdd(name, digest));
    MutexLock lock(partial->mutex);
    if (partial->dropped) return UploadExpired(digest);
    if (partial->over) return UploadTakenOver(digest);
    partial->Settle();
    partial->digest = digest;
    EK_RETURN_IF_ERROR(Load(*partial));
    partial->owner = ++last_owner_;
    partial->StartPace(clock_);
    partial->StartWriting();
    return NewUpload(
        files_, blobs_, partial, partial->owner, partial->hash.size_bytes(),
        clock_,
        UploadEnd{
            .claim = [this, state = partial.get()] { return Claim(*state); },
            .forget = [this, name] { Forget(name); }});
  }

  absl::StatusOr<int64_t> CommittedBytes(const std::string& id,
                                         const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const std::string name, NameOf(id, digest));
    if (const std::shared_ptr<PartialUpload> partial = Find(name)) {
      MutexLock lock(partial->mutex);
      // An error is for the stream to tell.
      if (partial->appender) partial->Drain().IgnoreError();
    }
    EK_ASSIGN_OR_RETURN(const FileInfo info,
                        files_.Stat(JoinPath(root_, name)));
    return info.size_bytes;
  }

  void RemoveExpired() override {
    MutexLock lock(mutex_);
    DropExpired();
  }

 private:
  struct Entry {
    std::shared_ptr<PartialUpload> partial;
    int64_t announced_bytes = 0;
  };

  // A file name of our own making: ids come from outside.
  static absl::StatusOr<std::string> NameOf(const std::string& id,
                                            const Digest& digest) {
    EK_RETURN_IF_ERROR(ValidateDigest(digest));
    if (id.empty() || id.size() > kMaxIdBytes) {
      return MakeError(absl::StatusCode::kInvalidArgument,
                       {.fault = Fault::kUser,
                        .reason = "UPLOAD_ID",
                        .what = "bad upload id",
                        .limit = absl::StrCat("1 to ", kMaxIdBytes, " bytes"),
                        .need = absl::StrCat(id.size(), " bytes"),
                        .fix = "use a UUID"});
    }
    return DigestOf(absl::StrCat(digest.ToString(), "/", id)).hash;
  }

  std::shared_ptr<PartialUpload> NewPartial(const std::string& name,
                                            const Digest& digest) const {
    auto partial =
        std::make_shared<PartialUpload>(JoinPath(root_, name), digest);
    partial->Touch(clock_);
    return partial;
  }

  // Counts as a stream until it is let go.
  static std::shared_ptr<PartialUpload> Hold(
      const std::shared_ptr<PartialUpload>& partial) {
    ++partial->streams;
    return {partial.get(), [partial](PartialUpload*) { --partial->streams; }};
  }

  // Held, so that it does not give way before its stream has begun.
  absl::StatusOr<std::shared_ptr<PartialUpload>> FindOrAdd(
      const std::string& name, const Digest& digest) {
    MutexLock lock(mutex_);
    if (const auto it = entries_.find(name); it != entries_.end()) {
      // Of an upload that an earlier process began only its file was known.
      const int64_t more = digest.size_bytes - it->second.announced_bytes;
      if (more > 0) {
        EK_RETURN_IF_ERROR(
            space_.Admit(OutstandingBytes() + more, "an upload"));
      }
      it->second.announced_bytes = digest.size_bytes;
      it->second.partial->Touch(clock_);
      return Hold(it->second.partial);
    }
    EK_RETURN_IF_ERROR(MakeRoom(digest.size_bytes));
    Entry& entry = entries_[name];
    entry = {.partial = NewPartial(name, digest),
             .announced_bytes = digest.size_bytes};
    entry.partial->StartPace(clock_);
    return Hold(entry.partial);
  }

  bool Fits(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int64_t announced = 0;
    for (const auto& [name, entry] : entries_) {
      announced += std::min(entry.announced_bytes, limits_.max_bytes);
    }
    return entries_.size() < static_cast<size_t>(limits_.max_uploads) &&
           bytes <= limits_.max_bytes - std::min(announced, limits_.max_bytes);
  }

  // What announced bytes will still take on the disk.
  int64_t OutstandingBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int64_t bytes = 0;
    for (const auto& [name, entry] : entries_) {
      bytes += std::max<int64_t>(
          0, entry.announced_bytes - entry.partial->received_bytes);
    }
    return bytes;
  }

  absl::Status MakeRoom(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!Fits(bytes) && DropOne()) {
    }
    if (!Fits(bytes)) {
      return MakeError(
          absl::StatusCode::kResourceExhausted,
          {.fault = Fault::kQuota,
           .reason = "UPLOADS_FULL",
           .what = "too many unfinished uploads",
           .limit = absl::StrCat(limits_.max_uploads, " uploads of ",
                                 FormatBytes(limits_.max_bytes), " together"),
           .need = absl::StrCat("one more, of ", FormatBytes(bytes)),
           .fix =
               absl::StrCat("finish the others; those that bring less than ",
                            FormatBytes(kMinPaceBytes), " in ",
                            absl::FormatDuration(kPaceWindow), " give way")});
    }
    absl::Status room = space_.Admit(OutstandingBytes() + bytes, "an upload");
    while (!room.ok() && DropOne()) {
      room = space_.Admit(OutstandingBytes() + bytes, "an upload");
    }
    return room;
  }

  // Removes the upload that is missed least: of those without a stream the one
  // with the fewest bytes, as it is begun again most easily; of those that
  // trickle the one that has waited longest. False if there is none.
  bool DropOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    using Rank = std::tuple<bool, int64_t, int64_t>;
    std::optional<std::pair<Rank, std::string>> least;
    for (const auto& [name, entry] : entries_) {
      const PartialUpload& partial = *entry.partial;
      const bool held = partial.streams > 0;
      if (partial.claimed || (held && !partial.Trickles(clock_))) continue;
      const Rank rank = {held, held ? 0 : partial.received_bytes.load(),
                         partial.last_used_ns};
      if (!least.has_value() || rank < least->first) least = {rank, name};
    }
    if (least.has_value()) Drop(least->second);
    return least.has_value();
  }

  // Whether a stream still holds them makes no difference here: one that is
  // idle for so long is as good as a broken one.
  void DropExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int64_t until =
        absl::ToInt64Nanoseconds(clock_.Monotonic() - limits_.expiry);
    std::vector<std::string> old;
    for (const auto& [name, entry] : entries_) {
      if (entry.partial->last_used_ns < until && !entry.partial->claimed) {
        old.push_back(name);
      }
    }
    for (const std::string& name : old) Drop(name);
  }

  // Removing a file under mutex_ keeps a new upload of the same name from
  // losing its file.
  void Drop(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    entries_.at(name).partial->dropped = true;
    files_.Remove(JoinPath(root_, name)).IgnoreError();
    entries_.erase(name);
  }

  std::shared_ptr<PartialUpload> Find(const std::string& name) {
    MutexLock lock(mutex_);
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : it->second.partial;
  }

  // Nothing removes its file from here on, and nobody else gets it before
  // Forget(). False if it has been dropped.
  bool Claim(PartialUpload& partial) {
    MutexLock lock(mutex_);
    if (partial.dropped) return false;
    partial.claimed = true;
    return true;
  }

  void Forget(const std::string& name) {
    MutexLock lock(mutex_);
    entries_.erase(name);
  }

  // Brings hash and file handle up to what the file holds.
  absl::Status Load(PartialUpload& partial)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partial.mutex) {
    const absl::StatusOr<FileInfo> info = files_.Stat(partial.path);
    if (!info.ok() && !absl::IsNotFound(info.status())) return info.status();
    int64_t size = info.ok() ? info->size_bytes : 0;
    if (size > partial.digest.size_bytes) {
      EK_RETURN_IF_ERROR(files_.Remove(partial.path));
      size = 0;
    }
    if (!partial.loaded || partial.hash.size_bytes() != size) {
      partial.hash = Sha256();
      while (partial.hash.size_bytes() < size) {
        EK_ASSIGN_OR_RETURN(
            const std::string piece,
            files_.ReadRange(partial.path, partial.hash.size_bytes(),
                             kPieceBytes));
        if (piece.empty()) break;
        partial.hash.Update(piece);
      }
    }
    const OpenMode mode = partial.digest.size_bytes < kLargeUploadBytes
                              ? OpenMode::kAppend
                              : OpenMode::kAppendUncached;
    absl::StatusOr<std::unique_ptr<WritableFile>> file =
        files_.Open(partial.path, mode);
    if (IsUnreadable(file.status())) {
      // Something strange is in its place.
      Discard(files_, partial.path);
      partial.hash = Sha256();
      file = files_.Open(partial.path, mode);
    }
    EK_RETURN_IF_ERROR(file.status());
    partial.file = *std::move(file);
    partial.received_bytes = partial.hash.size_bytes();
    partial.loaded = true;
    return absl::OkStatus();
  }

  FileSystem& files_;
  const std::string root_;
  BlobStore& blobs_;
  DiskSpace& space_;
  const UploadLimits limits_;
  Clock& clock_;
  std::atomic<uint64_t> last_owner_{0};
  Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<UploadStore>> OpenUploadStore(
    FileSystem& files, const std::string& root, BlobStore& blobs,
    DiskSpace& space, const UploadLimits& limits, Clock& clock) {
  auto store = std::make_unique<UploadStoreImpl>(files, root, blobs, space,
                                                 limits, clock);
  EK_RETURN_IF_ERROR(store->Open(), "opening the upload folder");
  return store;
}

}  // namespace edgekiln::cache
