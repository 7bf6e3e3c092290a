#include "base/digest.h"

#include <set>
#include <unordered_set>

#include "absl/hash/hash_testing.h"
#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln {
namespace {

// FIPS 180-2, appendix B.
constexpr char kEmpty[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kMillionA[] =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(DigestTest, EqualsThePublishedVectors) {
  EXPECT_EQ(DigestOf(""), (Digest{kEmpty, 0}));
  EXPECT_EQ(DigestOf("abc"), (Digest{kAbc, 3}));
  EXPECT_EQ(DigestOf(std::string(1000000, 'a')), (Digest{kMillionA, 1000000}));
}

TEST(DigestTest, IncrementalEqualsWhole) {
  Sha256 sha;
  for (int i = 0; i < 1000; ++i) sha.Update(std::string(1000, 'a'));
  EXPECT_EQ(sha.size_bytes(), 1000000);
  Sha256 moved = std::move(sha);
  EXPECT_EQ(moved.Finish(), (Digest{kMillionA, 1000000}));
}

TEST(DigestTest, PrintsAndParses) {
  const Digest digest = DigestOf("abc");
  EXPECT_EQ(digest.ToString(), std::string(kAbc) + "/3");
  const auto parsed = ParseDigest(digest.ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, digest);
}

TEST(DigestTest, RefusesOtherSpellings) {
  const std::string hash = kAbc;
  const std::string bad[] = {"",
                             hash,
                             hash + "/",
                             hash + "/-1",
                             hash + "/+1",
                             hash + "/ 1",
                             hash + "/1 ",
                             hash + "/01",
                             hash + "/1/2",
                             hash + "/9223372036854775808",
                             "BA" + hash.substr(2) + "/3",
                             hash.substr(1) + "/3",
                             "g" + hash.substr(1) + "/3",
                             hash + "0/3"};
  for (const std::string& text : bad) {
    const auto parsed = ParseDigest(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    EXPECT_EQ(GetErrorDetail(parsed.status())->reason, "DIGEST_MALFORMED");
  }
}

TEST(DigestTest, ValidatesWhatCameFromOutside) {
  EXPECT_TRUE(ValidateDigest({kAbc, 3}).ok());
  EXPECT_FALSE(ValidateDigest({kAbc, -1}).ok());
  EXPECT_FALSE(ValidateDigest({"../../etc/passwd", 3}).ok());
  EXPECT_FALSE(ValidateDigest({"", 0}).ok());
}

TEST(DigestTest, OrdersAndHashes) {
  const std::set<Digest> ordered = {{kEmpty, 0}, {kAbc, 3}, {kAbc, 2}};
  EXPECT_EQ(ordered.begin()->size_bytes, 2);
  const std::unordered_set<Digest> hashed = {{kEmpty, 0}, {kAbc, 3}, {kAbc, 3}};
  EXPECT_EQ(hashed.size(), 2u);
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {Digest{kEmpty, 0}, Digest{kAbc, 3}, Digest{kAbc, 2}}));
}

TEST(ToHexTest, IsLowerCase) { EXPECT_EQ(ToHex("\x01\xAB"), "01ab"); }

}  // namespace
}  // namespace edgekiln
