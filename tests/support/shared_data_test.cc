#include "tests/support/shared_data.h"

#include <cstdlib>

#include "base/file.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "tests/support/golden.h"

namespace edgekiln::tests {
namespace {

constexpr char kAbsent[] = "no/such/file";

// Sets a variable of the environment and puts the old value back.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~ScopedEnvironment() {
    if (old_.has_value()) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

void RequireAbsent() { EK_REQUIRE_SHARED(kAbsent); }

TEST(SharedDataTest, AbsentFileFailsWhereDataIsMandatory) {
  ScopedEnvironment ci("CI", "true");
  EXPECT_FATAL_FAILURE(RequireAbsent(), "no/such/file");
}

TEST(SharedDataTest, AbsentFileIsToldApart) {
  EXPECT_FALSE(SharedFile(kAbsent).has_value());
  ScopedEnvironment ci("CI", "false");
  EXPECT_FALSE(SkippingFails());
}

TEST(GoldenTest, AcceptsEqualTextAndNamesTheFirstDifferentLine) {
  const std::string text = ReadWholeFile(SourcePath(".gitignore"));
  ExpectMatchesGolden(".gitignore", text);
  EXPECT_NONFATAL_FAILURE(ExpectMatchesGolden(".gitignore", "x\n" + text),
                          "line 1");
}

TEST(GoldenTest, UpdatesOnRequest) {
  const std::string path =
      JoinPath(testing::TempDir(), "edgekiln_golden_test.txt");
  // Goldens are named from the root of the repository; enough of these leave
  // it.
  std::string relative;
  for (int i = 0; i < 16; ++i) relative += "../";
  relative += path;
  ScopedEnvironment update("EK_UPDATE_GOLDENS", "1");
  ExpectMatchesGolden(relative, "new\n");
  EXPECT_EQ(ReadWholeFile(path), "new\n");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace edgekiln::tests
