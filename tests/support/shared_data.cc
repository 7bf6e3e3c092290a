#include "tests/support/shared_data.h"

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "base/file.h"

namespace edgekiln::tests {

std::optional<std::string> SharedFile(const std::string& relative) {
  const std::string path = JoinPath(EK_SHARED_DIR, relative);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return path;
}

std::string SharedPath(const std::string& relative) {
  const std::optional<std::string> path = SharedFile(relative);
  if (!path.has_value()) std::abort();
  return *path;
}

std::string AbsentText(const std::string& relative) {
  return "EK_SHARED_DIR (" EK_SHARED_DIR ") has no " + relative +
         ": put it there, or name the folder that has it with cmake "
         "-DEK_SHARED_DIR=FOLDER";
}

std::string ReadWholeFile(const std::string& path) {
  const absl::StatusOr<std::string> bytes =
      NewPosixFileSystem()->Read(path, std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

}  // namespace edgekiln::tests
