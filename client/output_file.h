#ifndef EK_CLIENT_OUTPUT_FILE_H_
#define EK_CLIENT_OUTPUT_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "client/interrupt.h"

namespace edgekiln::client {

// A file that the user asked for. It is written under a name of its own beside
// its place, so that commands with the same output do not meet, and gets its
// name complete: the last one to finish is what is found there. Destruction
// without Commit(), and Ctrl-C, leave nothing behind.
class OutputFile {
 public:
  // Errors are those of FileSystem::Open(), of the file beside `path`.
  static absl::StatusOr<OutputFile> Create(const std::string& path,
                                           FileSystem& files);
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  absl::Status Append(absl::string_view bytes);
  // After the last Append().
  absl::Status Close();
  // Gives the file its name; replaces a file that has it. After Close().
  absl::Status Commit();

 private:
  OutputFile(std::string path, std::string part, FileSystem& files);

  std::string path_;
  std::string part_;
  FileSystem* files_;
  std::unique_ptr<RemovedOnInterrupt> removed_;  // Until Commit().
  std::unique_ptr<WritableFile> file_;
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_OUTPUT_FILE_H_
