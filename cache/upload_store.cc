#include "cache/upload_store.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "cache/background_appender.h"

namespace edgekiln::cache {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;
// Taken, but not yet hashed and written.
constexpr int64_t kMaxQueuedBytes = 4 << 20;
constexpr size_t kMaxIdBytes = 128;
// Uploads whose hash state stays in memory; others are hashed again from disk.
constexpr size_t kMaxKept = 128;

absl::Status TakenOver(const Digest& digest) {
  return MakeError(absl::StatusCode::kAborted,
                   {.fault = Fault::kUser,
                    .reason = "UPLOAD_TAKEN_OVER",
                    .what = "another stream continued this upload",
                    .where = digest.ToString()});
}

// What is known of one upload. The mutex is held while a stream waits for its
// appender: only streams of this very upload wait for it.
struct Partial {
  std::mutex mutex;
  // All guarded by mutex.
  std::string path;
  Digest digest;
  uint64_t owner = 0;  // The handle that may write.
  bool loaded = false;
  bool over = false;
  // These two belong to the appender until it is drained.
  Sha256 hash;
  std::unique_ptr<WritableFile> file;
  // While a stream holds the upload.
  std::unique_ptr<BackgroundAppender> appender;

  // Ends the last stream's writing. How much of a failed write reached the
  // file is unknown: the next stream looks.
  void Settle() {
    if (appender == nullptr) return;
    if (!appender->Drain().ok()) loaded = false;
    appender.reset();
  }
};

class UploadImpl : public Upload {
 public:
  UploadImpl(FileSystem& files, BlobStore& blobs,
             std::shared_ptr<Partial> partial, uint64_t owner,
             int64_t committed, std::function<void()> forget)
      : files_(files),
        blobs_(blobs),
        partial_(std::move(partial)),
        owner_(owner),
        committed_(committed),
        forget_(std::move(forget)) {}

  ~UploadImpl() override {
    std::lock_guard lock(partial_->mutex);
    if (partial_->owner == owner_) partial_->Settle();
  }

  int64_t committed_bytes() const override { return committed_; }

  absl::Status Append(std::string bytes) override {
    std::lock_guard lock(partial_->mutex);
    Partial& partial = *partial_;
    if (partial.owner != owner_ || partial.over) {
      return TakenOver(partial.digest);
    }
    const auto size = static_cast<int64_t>(bytes.size());
    if (size > partial.digest.size_bytes - committed_) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.fault = Fault::kUser,
           .reason = "UPLOAD_TOO_LONG",
           .what = "more bytes were sent than the digest announces",
           .where = partial.digest.ToString(),
           .limit = absl::StrCat(partial.digest.size_bytes, " bytes"),
           .fix = "send exactly the announced bytes"});
    }
    EK_RETURN_IF_ERROR(Check(partial.appender->Append(std::move(bytes))));
    committed_ += size;
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    std::lock_guard lock(partial_->mutex);
    Partial& partial = *partial_;
    if (partial.owner != owner_ || partial.over) {
      return TakenOver(partial.digest);
    }
    if (committed_ < partial.digest.size_bytes) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.fault = Fault::kUser,
           .reason = "UPLOAD_INCOMPLETE",
           .what = "finish_write came before the last byte",
           .where = partial.digest.ToString(),
           .limit = absl::StrCat(committed_, " bytes received"),
           .need = absl::StrCat(partial.digest.size_bytes, " bytes"),
           .fix = "continue at the committed size"});
    }
    EK_RETURN_IF_ERROR(Check(partial.appender->Drain()));
    EK_RETURN_IF_ERROR(partial.file->Sync());
    EK_RETURN_IF_ERROR(partial.file->Close());
    partial.file.reset();
    partial.over = true;
    forget_();
    if (const Digest actual = partial.hash.Finish(); actual != partial.digest) {
      files_.Remove(partial.path).IgnoreError();
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.fault = Fault::kUser,
           .reason = "DIGEST_MISMATCH",
           .what = "the uploaded bytes are not what their digest says",
           .where = partial.digest.ToString(),
           .need = absl::StrCat("the bytes have ", actual.ToString()),
           .fix = "upload the bytes that were hashed, under a new id"});
    }
    return blobs_.Adopt(partial.digest, partial.path);
  }

 private:
  // After a failure this stream is over; another may go on.
  absl::Status Check(const absl::Status& status) {
    if (status.ok()) return status;
    partial_->Settle();
    partial_->owner = 0;
    return status;
  }

  FileSystem& files_;
  BlobStore& blobs_;
  const std::shared_ptr<Partial> partial_;
  const uint64_t owner_;
  int64_t committed_;
  const std::function<void()> forget_;
};

class UploadStoreImpl : public UploadStore {
 public:
  UploadStoreImpl(FileSystem& files, std::string root, BlobStore& blobs)
      : files_(files), root_(std::move(root)), blobs_(blobs) {}

  absl::Status Open(absl::Time now) {
    EK_RETURN_IF_ERROR(files_.CreateDirectories(root_));
    EK_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        files_.List(root_));
    for (const std::string& name : names) {
      const std::string path = JoinPath(root_, name);
      const absl::StatusOr<FileInfo> info = files_.Stat(path);
      if (info.ok() && now - info->modified > absl::Hours(24)) {
        files_.Remove(path).IgnoreError();
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Upload>> Resume(
      const std::string& id, const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const std::string name, NameOf(id, digest));
    const std::shared_ptr<Partial> partial = FindOrAdd(name, digest);
    std::lock_guard lock(partial->mutex);
    if (partial->over) return TakenOver(digest);
    partial->Settle();
    EK_RETURN_IF_ERROR(Load(*partial));
    partial->owner = ++last_owner_;
    partial->appender = std::make_unique<BackgroundAppender>(
        [state = partial.get()](absl::string_view bytes) {
          EK_RETURN_IF_ERROR(state->file->Append(bytes));
          state->hash.Update(bytes);
          return absl::OkStatus();
        },
        kMaxQueuedBytes);
    return std::make_unique<UploadImpl>(files_, blobs_, partial, partial->owner,
                                        partial->hash.size_bytes(),
                                        [this, name] { Forget(name); });
  }

  absl::StatusOr<int64_t> CommittedBytes(const std::string& id,
                                         const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const std::string name, NameOf(id, digest));
    if (const std::shared_ptr<Partial> partial = Find(name)) {
      std::lock_guard lock(partial->mutex);
      // An error is for the stream to tell.
      if (partial->appender) partial->appender->Drain().IgnoreError();
    }
    EK_ASSIGN_OR_RETURN(const FileInfo info,
                        files_.Stat(JoinPath(root_, name)));
    return info.size_bytes;
  }

 private:
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

  std::shared_ptr<Partial> FindOrAdd(const std::string& name,
                                     const Digest& digest) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Partial>& entry = partials_[name];
    if (entry == nullptr) {
      entry = std::make_shared<Partial>();
      entry->path = JoinPath(root_, name);
      entry->digest = digest;
    }
    const std::shared_ptr<Partial> found = entry;
    // Any one that no stream holds may go; its file stays.
    for (auto it = partials_.begin();
         partials_.size() > kMaxKept && it != partials_.end();) {
      it = it->second.use_count() == 1 ? partials_.erase(it) : std::next(it);
    }
    return found;
  }

  std::shared_ptr<Partial> Find(const std::string& name) {
    std::lock_guard lock(mutex_);
    const auto it = partials_.find(name);
    return it == partials_.end() ? nullptr : it->second;
  }

  void Forget(const std::string& name) {
    std::lock_guard lock(mutex_);
    partials_.erase(name);
  }

  // Brings hash and file handle up to what the file holds.
  absl::Status Load(Partial& partial) {
    if (partial.loaded) return absl::OkStatus();
    partial.hash = Sha256();
    partial.file.reset();
    const absl::StatusOr<FileInfo> info = files_.Stat(partial.path);
    if (info.ok() && info->size_bytes > partial.digest.size_bytes) {
      EK_RETURN_IF_ERROR(files_.Remove(partial.path));
    } else if (info.ok()) {
      while (partial.hash.size_bytes() < info->size_bytes) {
        EK_ASSIGN_OR_RETURN(
            const std::string piece,
            files_.ReadRange(partial.path, partial.hash.size_bytes(),
                             kPieceBytes));
        if (piece.empty()) break;
        partial.hash.Update(piece);
      }
    } else if (!absl::IsNotFound(info.status())) {
      return info.status();
    }
    EK_ASSIGN_OR_RETURN(partial.file,
                        files_.Open(partial.path, OpenMode::kAppend));
    partial.loaded = true;
    return absl::OkStatus();
  }

  FileSystem& files_;
  const std::string root_;
  BlobStore& blobs_;
  std::atomic<uint64_t> last_owner_{0};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Partial>> partials_;  // By mutex_.
};

}  // namespace

absl::StatusOr<std::unique_ptr<UploadStore>> OpenUploadStore(
    FileSystem& files, const std::string& root, BlobStore& blobs,
    absl::Time now) {
  auto store = std::make_unique<UploadStoreImpl>(files, root, blobs);
  EK_RETURN_IF_ERROR(store->Open(now), "opening the upload folder");
  return store;
}

}  // namespace edgekiln::cache
