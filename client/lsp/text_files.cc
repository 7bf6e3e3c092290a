#include "client/lsp/text_files.h"

#include <algorithm>
#include <utility>

namespace edgekiln::client::lsp {
namespace {

// Not a path that any file has.
constexpr char kTextPath[] = "edgekiln-lsp:text";

class MemoryTextFiles final : public TextFiles {
 public:
  explicit MemoryTextFiles(FileSystem& base) : base_(base) {}

  LocalBlob Put(std::string text) override {
    text_ = std::move(text);
    return {.path = kTextPath, .digest = DigestOf(text_)};
  }

  absl::StatusOr<std::string> Read(const std::string& path,
                                   int64_t max_bytes) override {
    if (path != kTextPath) return base_.Read(path, max_bytes);
    return ReadRange(path, 0, max_bytes);
  }
  absl::StatusOr<std::string> ReadRange(const std::string& path, int64_t offset,
                                        int64_t max_bytes) override {
    if (path != kTextPath) return base_.ReadRange(path, offset, max_bytes);
    const size_t begin =
        std::min<size_t>(std::max<int64_t>(offset, 0), text_.size());
    return text_.substr(begin, static_cast<size_t>(max_bytes));
  }
  absl::StatusOr<FileInfo> Stat(const std::string& path) override {
    if (path != kTextPath) return base_.Stat(path);
    return FileInfo{.size_bytes = static_cast<int64_t>(text_.size()),
                    .modified = absl::UnixEpoch()};
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Open(const std::string& path,
                                                     OpenMode mode) override {
    return base_.Open(path, mode);
  }
  absl::Status SetModified(const std::string& path, absl::Time time) override {
    return base_.SetModified(path, time);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return base_.Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override {
    return base_.Remove(path);
  }
  absl::Status CreateDirectories(const std::string& path) override {
    return base_.CreateDirectories(path);
  }
  absl::Status SyncFile(const std::string& path) override {
    return base_.SyncFile(path);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    return base_.SyncDirectory(path);
  }
  absl::StatusOr<std::vector<std::string>> List(
      const std::string& path) override {
    return base_.List(path);
  }

 private:
  FileSystem& base_;
  std::string text_;
};

}  // namespace

std::unique_ptr<TextFiles> NewTextFiles(FileSystem& base) {
  return std::make_unique<MemoryTextFiles>(base);
}

}  // namespace edgekiln::client::lsp
