#include "base/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln {
namespace {

TEST(PrivateFolderTest, IsMadeOrMustBePrivate) {
  const std::string root = testing::TempDir() + "private_folder_test";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root);
  const std::string folder = root + "/run";
  EXPECT_TRUE(MakePrivateFolder(folder).ok());
  EXPECT_TRUE(MakePrivateFolder(folder).ok());
  chmod(folder.c_str(), 0750);
  EXPECT_TRUE(absl::IsPermissionDenied(MakePrivateFolder(folder)));
  chmod(folder.c_str(), 0700);
  const std::string link = root + "/link";
  ASSERT_EQ(symlink(folder.c_str(), link.c_str()), 0);
  EXPECT_EQ(GetErrorDetail(MakePrivateFolder(link))->reason,
            "RUNTIME_FOLDER_UNSAFE");
  EXPECT_EQ(GetErrorDetail(MakePrivateFolder(root + "/no/such"))->reason,
            "RUNTIME_FOLDER_UNUSABLE");
}

}  // namespace
}  // namespace edgekiln
