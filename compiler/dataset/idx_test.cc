#include "compiler/dataset/idx.h"

#include <string>

#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

struct IdxCase {
  std::string name;
  std::string file;
  std::string want;
};
class IdxTest : public testing::TestWithParam<IdxCase> {};
TEST_P(IdxTest, Gives) {
  EXPECT_EQ(Describe(ParseIdx(GetParam().file, "images")), GetParam().want);
}
const IdxCase kIdxCases[] = {
    {"Images", IdxImages(), "uint8 2x1x2: 97 98 99 100"},
    {"BigEndianShorts",
     std::string("\0\0\x0b\x01\0\0\0\x02\x01\x02\xff\xfe", 12),
     "int16 2: 258 -2"},
    {"Cut", IdxImages().substr(0, 19), "DATA_CORRUPT"},
    {"TooLong", IdxImages() + "e", "DATA_CORRUPT"},
    {"CutHeader", IdxImages().substr(0, 9), "DATA_CORRUPT"},
    {"NoDimensions", std::string("\0\0\x08\0", 4), "DATA_CORRUPT"},
    {"UnknownType", std::string("\0\0\x0a\x01\0\0\0\x01z", 9),
     "DATA_UNSUPPORTED"},
    {"HugeExtents",
     std::string("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                 16),
     "DATA_CORRUPT"},
    {"ManyDimensions", std::string("\0\0\x08\xff", 4), "DATA_UNSUPPORTED"},
    {"BrokenGzip", "\x1f\x8b nonsense", "DATA_CORRUPT"},
    {"Gzip", Gzip(IdxImages()), "uint8 2x1x2: 97 98 99 100"},
    {"GzipCut", Gzip(IdxImages().substr(0, 19)), "DATA_CORRUPT"},
    // A bomb is not unpacked further than its header says.
    {"GzipTooLong", Gzip(IdxImages() + std::string(9'000'000, '\0')),
     "DATA_TOO_LARGE"},
    {"GzipCutHeader", Gzip(IdxImages().substr(0, 9)), "DATA_CORRUPT"},
    // 16 million bytes of values cannot be in so few.
    {"GzipClaimsTooMuch",
     Gzip(std::string("\0\0\x08\x02\0\0\x10\0\0\0\x10\0", 12)), "DATA_CORRUPT"},
};
INSTANTIATE_TEST_SUITE_P(All, IdxTest, testing::ValuesIn(kIdxCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::compiler
