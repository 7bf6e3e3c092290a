#include "base/canonical_encoder.h"

#include <concepts>
#include <limits>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln {
namespace {

enum class Color : uint8_t { kRed = 1 };

template <typename T>
concept Encodable = requires(CanonicalEncoder encoder, T value) {
  encoder.Add(value);
};

static_assert(Encodable<int> && Encodable<uint64_t> && Encodable<bool> &&
              Encodable<Color> && Encodable<std::string> &&
              Encodable<const char*> && Encodable<Digest>);
static_assert(!Encodable<float> && !Encodable<double> && !Encodable<int*>);

// The format is on disk: these bytes may change only with the domain.
TEST(CanonicalEncoderTest, Bytes) {
  CanonicalEncoder encoder("d");
  encoder.Add(uint32_t{300});
  encoder.Add(-1);
  encoder.Add(1);
  encoder.Add(true);
  encoder.Add(Color::kRed);
  encoder.Add("xy");
  encoder.AddList(std::vector<int64_t>{0, 64});
  EXPECT_EQ(encoder.bytes(), std::string("s\1d"
                                         "u\xAC\x02"
                                         "i\x01"
                                         "i\x02"
                                         "b\x01"
                                         "i\x02"
                                         "s\2xy"
                                         "l\2i\0i\x80\x01",
                                         25));
  EXPECT_EQ(encoder.digest(), DigestOf(encoder.bytes()));
}

TEST(CanonicalEncoderTest, ExtremesHaveTheirOwnBytes) {
  std::set<std::string> seen;
  for (const int64_t value : {std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max(), int64_t{0},
                              int64_t{-1}, int64_t{1}}) {
    CanonicalEncoder encoder("d");
    encoder.Add(value);
    EXPECT_TRUE(seen.insert(encoder.bytes()).second) << value;
    EXPECT_LE(encoder.bytes().size(), 3u + 11u);
  }
}

// Different structures of the same letters must differ.
TEST(CanonicalEncoderTest, BordersMatter) {
  const auto strings = [](const std::vector<std::vector<std::string>>& lists) {
    CanonicalEncoder encoder("d");
    for (const auto& list : lists) encoder.AddList(list);
    return encoder.bytes();
  };
  const std::set<std::string> all = {
      strings({}),           strings({{}}),         strings({{}, {}}),
      strings({{"ab"}}),     strings({{"a", "b"}}), strings({{"a"}, {"b"}}),
      strings({{"", "ab"}}), strings({{"ab", ""}}), strings({{"ab"}, {}}),
  };
  EXPECT_EQ(all.size(), 9u);
}

TEST(CanonicalEncoderTest, KindsAndDomainsMatter) {
  const auto encode = [](const char* domain, auto value) {
    CanonicalEncoder encoder(domain);
    encoder.Add(value);
    return encoder.bytes();
  };
  const std::set<std::string> all = {encode("a", 1), encode("b", 1),
                                     encode("a", 1u), encode("a", true),
                                     encode("a", "1")};
  EXPECT_EQ(all.size(), 5u);
}

}  // namespace
}  // namespace edgekiln
