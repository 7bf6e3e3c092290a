#include "server/worker/warm_cache.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "server/worker/child_main.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kSize = 1 << 20;

class WarmCacheTest : public testing::Test {
 protected:
  // What is under `key`, made of `text` if nothing is.
  std::string Get(const std::string& key, const std::string& text) {
    const auto made = cache_.GetOrMake<std::string>(
        key, kSize, [&]() -> absl::StatusOr<std::shared_ptr<std::string>> {
          return std::make_shared<std::string>(text);
        });
    return made.ok() ? **made : std::string(made.status().message());
  }

  WarmCache cache_{3 * kSize + kSize / 2};
};

TEST_F(WarmCacheTest, MakesOnce) {
  EXPECT_EQ(Get("a", "first"), "first");
  EXPECT_EQ(Get("a", "second"), "first");
  EXPECT_EQ(Get("b", "second"), "second");
}

TEST_F(WarmCacheTest, TypesDoNotMeet) {
  EXPECT_EQ(Get("a", "text"), "text");
  const auto number = cache_.GetOrMake<int>(
      "a", kSize, []() -> absl::StatusOr<std::shared_ptr<int>> {
        return std::make_shared<int>(7);
      });
  ASSERT_TRUE(number.ok());
  EXPECT_EQ(**number, 7);
  EXPECT_EQ(Get("a", "other"), "text");
}

TEST_F(WarmCacheTest, KeepsWhatWasUsedLast) {
  Get("a", "1");
  Get("b", "1");
  Get("c", "1");
  Get("a", "2");
  Get("d", "1");  // Drops b.
  EXPECT_LE(cache_.bytes(), 3 * kSize + kSize / 2);
  EXPECT_EQ(Get("a", "3"), "1");
  EXPECT_EQ(Get("c", "3"), "1");
  EXPECT_EQ(Get("b", "3"), "3");
}

TEST_F(WarmCacheTest, KeepsNoErrors) {
  const auto failed = cache_.GetOrMake<std::string>(
      "a", kSize, []() -> absl::StatusOr<std::shared_ptr<std::string>> {
        return absl::InternalError("broken");
      });
  EXPECT_EQ(failed.status(), absl::InternalError("broken"));
  EXPECT_EQ(Get("a", "whole"), "whole");
}

TEST_F(WarmCacheTest, WhatNeverFitsIsMadeAgain) {
  for (int i = 0; i < 2; ++i) {
    bool made = false;
    ASSERT_TRUE(cache_
                    .GetOrMake<std::string>(
                        "large", 5 * kSize,
                        [&]() -> absl::StatusOr<std::shared_ptr<std::string>> {
                          made = true;
                          return std::make_shared<std::string>();
                        })
                    .ok());
    EXPECT_TRUE(made);
  }
  EXPECT_EQ(cache_.bytes(), 0);
}

TEST_F(WarmCacheTest, WhatIsInUseOutlivesItsPlace) {
  const auto held = cache_.GetOrMake<std::string>(
      "a", kSize, []() -> absl::StatusOr<std::shared_ptr<std::string>> {
        return std::make_shared<std::string>("held");
      });
  cache_.Clear();
  EXPECT_EQ(cache_.bytes(), 0);
  EXPECT_EQ(**held, "held");
  EXPECT_EQ(Get("a", "new"), "new");
}

// Sizes are those of the heap, where nothing stands between us and it.
TEST_F(WarmCacheTest, CountsWhatMakingAdded) {
  if (!kLimitsAddressSpace) {
    GTEST_SKIP() << "the sanitizer of this build has a heap of its own, in "
                    "which the cache cannot see what is allocated; the ci "
                    "preset runs this";
  }
  ASSERT_TRUE(cache_
                  .GetOrMake<std::string>(
                      "a", 1,
                      []() -> absl::StatusOr<std::shared_ptr<std::string>> {
                        return std::make_shared<std::string>(2 * kSize, 'x');
                      })
                  .ok());
  EXPECT_GE(cache_.bytes(), 2 * kSize);
  EXPECT_LE(cache_.bytes(), 3 * kSize);
}

TEST_F(WarmCacheTest, CountsWhatItIsTold) {
  const auto make = []() -> absl::StatusOr<std::shared_ptr<std::string>> {
    return std::make_shared<std::string>(2 * kSize, 'x');
  };
  ASSERT_TRUE(cache_.GetOrMake<std::string>("a", 1, make, 7).ok());
  EXPECT_EQ(cache_.bytes(), 7);
}

}  // namespace
}  // namespace edgekiln::server
