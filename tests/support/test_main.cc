// The main() of all tests. testing::TempDir() is a new folder for each run, so
// that runs at the same time do not meet. It is removed at the end, but stays
// of a program that crashes.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "gtest/gtest.h"

namespace {

// Not in TMPDIR, which may be too long for the sockets that are made in it.
std::string NewFolder() {
  std::string folder = "/tmp/ek-XXXXXX";
  return mkdtemp(folder.data()) == nullptr ? "" : folder;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // A death test runs this program once more, in the folder of the first.
  if (getenv("TEST_TMPDIR") != nullptr) return RUN_ALL_TESTS();
  const std::string folder = NewFolder();
  if (folder.empty()) {
    std::perror("no folder for the tests");
    return 1;
  }
  setenv("TEST_TMPDIR", (folder + "/").c_str(), 1);
  const int result = RUN_ALL_TESTS();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}
