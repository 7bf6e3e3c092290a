#include "tests/support/golden.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "gtest/gtest.h"

namespace edgekiln::tests {
namespace {

std::string FirstDifference(const std::string& expected,
                            const std::string& actual) {
  const std::vector<std::string> want = absl::StrSplit(expected, '\n');
  const std::vector<std::string> got = absl::StrSplit(actual, '\n');
  for (size_t i = 0; i < std::max(want.size(), got.size()); ++i) {
    const std::string w = i < want.size() ? want[i] : "(end of text)";
    const std::string g = i < got.size() ? got[i] : "(end of text)";
    if (w != g) {
      return absl::StrCat("line ", i + 1, "\n  golden: ", w, "\n  actual: ", g);
    }
  }
  return "";
}

}  // namespace

std::string SourcePath(const std::string& relative) {
  return JoinPath(EK_SOURCE_DIR, relative);
}

void ExpectMatchesGolden(const std::string& golden, const std::string& actual) {
  const std::string path = SourcePath(golden);
  const auto files = NewPosixFileSystem();
  const char* update = std::getenv("EK_UPDATE_GOLDENS");
  if (update != nullptr && std::string(update) == "1") {
    const absl::Status status = WriteAtomically(*files, path, actual);
    EXPECT_TRUE(status.ok()) << status;
    return;
  }
  const absl::StatusOr<std::string> expected =
      files->Read(path, std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(expected.ok())
      << expected.status() << "\nEK_UPDATE_GOLDENS=1 writes it";
  if (*expected == actual) return;
  ADD_FAILURE() << golden << " differs at "
                << FirstDifference(*expected, actual)
                << "\nEK_UPDATE_GOLDENS=1 accepts the change";
}

}  // namespace edgekiln::tests
