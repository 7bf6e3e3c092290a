#include "compiler/ir/same_values.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Case {
  std::string name;
  v1::ElementType type;
  std::string a;
  std::string b;
  bool same;
};

class SameValuesTest : public testing::TestWithParam<Case> {};

TEST_P(SameValuesTest, AreTold) {
  const Case& c = GetParam();
  EXPECT_EQ(SameValues(c.type, c.a, c.b), c.same);
  EXPECT_EQ(SameValues(c.type, c.b, c.a), c.same);
  std::string room_a;
  std::string room_b;
  EXPECT_EQ(WithOneNan(c.type, c.a, room_a) == WithOneNan(c.type, c.b, room_b),
            c.same);
}

// Signs, payloads, and signalling ones.
INSTANTIATE_TEST_SUITE_P(
    All, SameValuesTest,
    testing::Values(
        Case{"Nans32", v1::FLOAT32,
             Bytes<uint32_t>({1, 0x7fc00000, 0xffc00000, 0x7f800001}),
             Bytes<uint32_t>({1, 0xffc00001, 0x7fffffff, 0xff812345}), true},
        Case{"InfinityIsNoNan32", v1::FLOAT32, Bytes<uint32_t>({0x7f800000}),
             Bytes<uint32_t>({0x7f800001}), false},
        Case{"InfinitiesHaveSigns", v1::FLOAT32, Bytes<uint32_t>({0x7f800000}),
             Bytes<uint32_t>({0xff800000}), false},
        Case{"ZerosHaveSigns", v1::FLOAT32, Bytes<uint32_t>({0}),
             Bytes<uint32_t>({0x80000000}), false},
        Case{"OneNanIsNoNumber", v1::FLOAT32, Bytes<uint32_t>({0x7fc00000, 2}),
             Bytes<uint32_t>({0xffc00000, 3}), false},
        Case{"Nans64", v1::FLOAT64, Bytes<uint64_t>({0x7ff8000000000000}),
             Bytes<uint64_t>({0xfff0000000000001}), true},
        Case{"InfinityIsNoNan64", v1::FLOAT64,
             Bytes<uint64_t>({0x7ff0000000000000}),
             Bytes<uint64_t>({0x7ff8000000000000}), false},
        Case{"Nans16", v1::FLOAT16, Bytes<uint16_t>({0x7e00, 0x3c00}),
             Bytes<uint16_t>({0xfc01, 0x3c00}), true},
        Case{"IntegersHaveNone", v1::INT32, Bytes<uint32_t>({0x7fc00000}),
             Bytes<uint32_t>({0xffc00000}), false},
        Case{"OtherSizes", v1::FLOAT32, Bytes<uint32_t>({0x7fc00000}),
             Bytes<uint32_t>({0x7fc00000, 0x7fc00000}), false},
        Case{"PartsOfValues", v1::FLOAT32, "abcde", "abcdf", false},
        Case{"Nothing", v1::FLOAT64, "", "", true}),
    [](const auto& info) { return info.param.name; });

TEST(WithOneNanTest, CopiesNothingWithoutOne) {
  const std::string values = Bytes<float>({1, 0, -5});
  std::string room;
  EXPECT_EQ(WithOneNan(v1::FLOAT32, values, room).data(), values.data());
}

}  // namespace
}  // namespace edgekiln::compiler
