#include "client/output_file.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/job_request.h"

namespace edgekiln::client {
namespace {

// Our own files are private; what users ask for has the mode they expect.
void ShareAsUsual(const std::string& path) {
  const mode_t mask = umask(0);
  umask(mask);
  // Left private, the file is as good.
  static_cast<void>(chmod(path.c_str(), 0666 & ~mask));
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string part, FileSystem& files)
    : path_(std::move(path)), part_(std::move(part)), files_(&files) {}

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path,
                                              FileSystem& files) {
  // Not made of the name, which may be as long as names can be.
  OutputFile output(
      path,
      JoinPath(ParentPath(path),
               absl::StrCat("edgekiln-", NewRequestId(), ".part")),
      files);
  auto removed = std::make_unique<RemovedOnInterrupt>(output.part_);
  EK_ASSIGN_OR_RETURN(output.file_,
                      files.Open(output.part_, OpenMode::kCreateNew));
  output.removed_ = std::move(removed);
  return output;
}

OutputFile::~OutputFile() {
  if (removed_ != nullptr) files_->Remove(part_).IgnoreError();
}

absl::Status OutputFile::Append(absl::string_view bytes) {
  return file_->Append(bytes);
}

absl::Status OutputFile::Close() {
  EK_RETURN_IF_ERROR(file_->Close());
  ShareAsUsual(part_);
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  EK_RETURN_IF_ERROR(files_->Rename(part_, path_));
  removed_ = nullptr;
  return absl::OkStatus();
}

}  // namespace edgekiln::client
