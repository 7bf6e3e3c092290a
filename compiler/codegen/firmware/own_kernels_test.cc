#include "compiler/codegen/firmware/own_kernels.h"

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OwnKernelsTest, HeadersAreSearchedInAllTheirFolders) {
  EXPECT_THAT(OwnIncludeFolders({"a.h", "kernels/b.c", "kernels/inc/c.h",
                                 "kernels/inc/d.h", "kernels/e.h"}),
              ElementsAre("kernels", "kernels/inc"));
  // "b/c.h" is found below kernels/a.
  EXPECT_THAT(OwnIncludeFolders({"kernels/a/b/c.h"}),
              ElementsAre("kernels", "kernels/a", "kernels/a/b"));
  EXPECT_TRUE(OwnIncludeFolders({"runtime.c", "net.h"}).empty());
}

TEST(OwnKernelsTest, PathsAreBelowOneFolder) {
  EXPECT_TRUE(IsOwnPath(OwnPath("src/a.c")));
  EXPECT_FALSE(IsOwnPath("kernels.c"));
}

TEST(OwnKernelsTest, TheListSaysWhatToLink) {
  const std::string text =
      OwnKernelsText({{"net_layer_0_a", "f", "f.h"}}, false);
  EXPECT_THAT(text, HasSubstr("f f.h net_layer_0_a\n"));
  EXPECT_THAT(text, HasSubstr("KERNELS="));
  EXPECT_FALSE(absl::StrContains(
      OwnKernelsText({{"net_layer_0_a", "f", "f.h"}}, true), "KERNELS="));
}

}  // namespace
}  // namespace edgekiln::compiler
