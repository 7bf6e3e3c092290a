#include "compiler/ir/constant_pool.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Whether what is written into many rooms stays there, alone, when the pool is
// gone, and when some are.
void ExpectKeeps(int64_t expected_bytes) {
  const int64_t kSizes[] = {0, 1, 17, 4096, 1 << 19, (1 << 20) + 1, 5 << 20};
  std::vector<ConstantData> data;
  {
    ConstantPool pool(expected_bytes);
    for (int round = 0; round < 3; ++round) {
      for (const int64_t size : kSizes) {
        ConstantPool::Room room = pool.Allocate(size);
        ASSERT_EQ(std::ssize(*room.data), size);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(room.bytes) % 16, 0u);
        std::memset(room.bytes, static_cast<int>(data.size() + 1),
                    static_cast<size_t>(size));
        EXPECT_TRUE(room.data.has_value());
        EXPECT_FALSE(room.data.is_borrowed());
        EXPECT_TRUE(room.data.is_sole());
        data.push_back(std::move(room.data));
      }
    }
  }
  for (size_t i = 0; i < data.size(); i += 2) data[i] = {};
  for (size_t i = 1; i < data.size(); i += 2) {
    EXPECT_EQ(*data[i], std::string(data[i]->size(), static_cast<char>(i + 1)));
  }
}

TEST(ConstantPoolTest, KeepsSmallOnesEachForItself) { ExpectKeeps(0); }

TEST(ConstantPoolTest, KeepsLargeOnesInPieces) {
  ExpectKeeps(int64_t{50} << 20);
}

TEST(ConstantDataTest, SaysWhoKeepsIt) {
  ConstantData none;
  EXPECT_FALSE(none.has_value());
  EXPECT_FALSE(none.is_borrowed());
  ConstantData empty{std::string()};
  EXPECT_TRUE(empty.has_value());
  ConstantData data(std::string("ab"));
  EXPECT_TRUE(data.is_sole());
  const ConstantData copy = data;
  EXPECT_FALSE(data.is_sole());
  data = {};
  EXPECT_TRUE(copy.is_sole());
  EXPECT_EQ(*copy, "ab");
  EXPECT_TRUE(ConstantData::Borrowed("ab").is_borrowed());
  EXPECT_FALSE(ConstantData::Borrowed("ab").is_sole());
}

}  // namespace
}  // namespace edgekiln::compiler
