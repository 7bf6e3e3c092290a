#include "cache/disk_blob_store.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace edgekiln::cache {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;

class FileReader : public BlobReader {
 public:
  FileReader(FileSystem& files, std::string path, Digest digest)
      : files_(files), path_(std::move(path)), digest_(std::move(digest)) {}

  absl::StatusOr<std::string> Read(int64_t offset, int64_t max_bytes) override {
    if (offset < 0 || offset >= digest_.size_bytes) return std::string();
    auto bytes = files_.ReadRange(path_, offset, max_bytes);
    if (absl::IsNotFound(bytes.status())) return BlobMissing(digest_);
    return bytes;
  }

 private:
  FileSystem& files_;
  const std::string path_;
  const Digest digest_;
};

class DiskBlobStore : public BlobStore {
 public:
  DiskBlobStore(FileSystem& files, std::string root, Evictor* evictor)
      : files_(files),
        root_(std::move(root)),
        tmp_(JoinPath(root_, "tmp")),
        evictor_(evictor) {}

  absl::Status Open() {
    EK_RETURN_IF_ERROR(files_.CreateDirectories(tmp_));
    EK_ASSIGN_OR_RETURN(std::vector<std::string> left, files_.List(tmp_));
    for (const std::string& name : left) {
      EK_RETURN_IF_ERROR(files_.Remove(JoinPath(tmp_, name)));
    }
    return files_.SyncDirectory(root_);
  }

  absl::StatusOr<bool> Contains(const Digest& digest) override {
    EK_RETURN_IF_ERROR(ValidateDigest(digest));
    const std::string path = PathOf(digest);
    const absl::StatusOr<FileInfo> info = files_.Stat(path);
    if (absl::IsNotFound(info.status())) return false;
    if (!info.ok()) return info.status();
    if (info->size_bytes == digest.size_bytes) {
      return evictor_ == nullptr || evictor_->Used(path, *info);
    }
    Discard(path);
    return false;
  }

  absl::StatusOr<std::string> Get(const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const bool present, Contains(digest));
    if (!present) return BlobMissing(digest);
    const std::string path = PathOf(digest);
    absl::StatusOr<std::string> bytes = files_.Read(path, digest.size_bytes);
    if (absl::IsNotFound(bytes.status())) return BlobMissing(digest);
    if (!bytes.ok()) return bytes.status();
    if (DigestOf(*bytes) != digest) {
      Discard(path);
      return BlobMissing(digest);
    }
    return bytes;
  }

  absl::StatusOr<std::unique_ptr<BlobReader>> OpenReader(
      const Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const bool present, Contains(digest));
    if (!present) return BlobMissing(digest);
    auto reader = std::make_unique<FileReader>(files_, PathOf(digest), digest);
    Sha256 hash;
    while (hash.size_bytes() < digest.size_bytes) {
      EK_ASSIGN_OR_RETURN(const std::string piece,
                          reader->Read(hash.size_bytes(), kPieceBytes));
      if (piece.empty()) break;
      hash.Update(piece);
    }
    if (hash.Finish() != digest) {
      Discard(PathOf(digest));
      return BlobMissing(digest);
    }
    return reader;
  }

  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    EK_RETURN_IF_ERROR(VerifyDigest(digest, bytes));
    EK_ASSIGN_OR_RETURN(const bool present, Contains(digest));
    if (present) return absl::OkStatus();
    const std::string path = JoinPath(tmp_, absl::StrCat("put-", next_++));
    const absl::Status written = Write(path, bytes);
    if (!written.ok()) {
      Discard(path);
      return Annotate(written, absl::StrCat("storing ", digest.ToString()));
    }
    return Adopt(digest, path);
  }

  absl::Status Adopt(const Digest& digest, const std::string& path) override {
    EK_RETURN_IF_ERROR(ValidateDigest(digest));
    const std::string target = PathOf(digest);
    absl::Status renamed = files_.Rename(path, target);
    if (absl::IsNotFound(renamed)) {
      // The first blob of its shard.
      EK_RETURN_IF_ERROR(files_.CreateDirectories(ParentPath(target)));
      EK_RETURN_IF_ERROR(files_.SyncDirectory(root_));
      renamed = files_.Rename(path, target);
    }
    if (!renamed.ok()) {
      Discard(path);
      return Annotate(renamed, absl::StrCat("storing ", digest.ToString()));
    }
    if (evictor_ != nullptr) evictor_->Added(digest.size_bytes);
    return files_.SyncDirectory(ParentPath(target));
  }

 private:
  std::string PathOf(const Digest& digest) const {
    return absl::StrCat(root_, "/", digest.hash.substr(0, 2), "/",
                        BlobFileName(digest));
  }

  absl::Status Write(const std::string& path, absl::string_view bytes) {
    EK_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                        files_.Open(path, OpenMode::kTruncate));
    EK_RETURN_IF_ERROR(file->Append(bytes));
    EK_RETURN_IF_ERROR(file->Sync());
    return file->Close();
  }

  // A file that cannot be removed now is found again by the next reader.
  void Discard(const std::string& path) { files_.Remove(path).IgnoreError(); }

  FileSystem& files_;
  const std::string root_;
  const std::string tmp_;
  Evictor* const evictor_;  // Null: nothing is ever evicted.
  std::atomic<int64_t> next_{0};
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
