#include "base/fingerprint.h"

#include <set>
#include <string>

#include "base/digest.h"
#include "gtest/gtest.h"

namespace edgekiln {
namespace {

absl::string_view Bytes(const Fingerprint& print) {
  return {reinterpret_cast<const char*>(print.data()), print.size()};
}

// Stored results hold them: they must not change from build to build.
TEST(FingerprintTest, IsStable) {
  Fingerprinter of;
  EXPECT_EQ(ToHex(Bytes(of.Of(""))),
            "3adec17512775099da2f590b0667322a25d834cc53da4798c720a6486e45a6e2");
  EXPECT_EQ(of.Of("abc"), of.Of("abc"));
  EXPECT_EQ(of.Of("abc"), Fingerprinter().Of("abc"));
}

TEST(FingerprintTest, EveryBitAndTheLengthCount) {
  Fingerprinter of;
  std::set<Fingerprint> seen;
  const std::string zeros(300, '\0');
  for (size_t size = 0; size <= zeros.size(); ++size) {
    EXPECT_TRUE(seen.insert(of.Of(zeros.substr(0, size))).second) << size;
  }
  for (size_t bit = 0; bit < 8 * zeros.size(); ++bit) {
    std::string changed = zeros;
    changed[bit / 8] = static_cast<char>(1 << bit % 8);
    EXPECT_TRUE(seen.insert(of.Of(changed)).second) << bit;
  }
}

TEST(FingerprintTest, BothHalvesDependOnTheBytes) {
  Fingerprinter of;
  const Fingerprint a = of.Of("a");
  const Fingerprint b = of.Of("b");
  EXPECT_NE(Bytes(a).substr(0, 16), Bytes(b).substr(0, 16));
  EXPECT_NE(Bytes(a).substr(16), Bytes(b).substr(16));
  EXPECT_NE(Bytes(a).substr(0, 16), Bytes(a).substr(16));
}

}  // namespace
}  // namespace edgekiln
