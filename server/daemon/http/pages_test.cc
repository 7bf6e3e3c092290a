#include "server/daemon/http/pages.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

TEST(PagesTest, TheDashboardLoadsItsOwnFilesAlone) {
  const auto page = FindPage("/");
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->code, 200);
  EXPECT_TRUE(absl::StrContains(page->policy, "default-src 'none'"));
  EXPECT_FALSE(absl::StrContains(page->policy, "unsafe"));
  for (const char* path : {"/app.css", "/app.js"}) {
    EXPECT_TRUE(absl::StrContains(page->body, path));
    ASSERT_TRUE(FindPage(path).has_value()) << path;
    EXPECT_FALSE(FindPage(path)->body.empty()) << path;
  }
  EXPECT_FALSE(absl::StrContains(page->body, "http"));
  EXPECT_FALSE(FindPage("/other").has_value());
}

TEST(PagesTest, ABuildWithoutPagesSaysSo) {
  const auto page = FindPage("/", std::nullopt);
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->code, 501);
  EXPECT_TRUE(absl::StrContains(page->body, "\"reason\":\"NO_PAGES\""))
      << page->body;
  EXPECT_TRUE(absl::StrContains(page->body, "esbuild")) << page->body;
  EXPECT_FALSE(FindPage("/app.js", std::nullopt).has_value());
  // Calls are answered elsewhere.
  EXPECT_FALSE(FindPage("/v1/jobs", std::nullopt).has_value());
}

}  // namespace
}  // namespace edgekiln::server
