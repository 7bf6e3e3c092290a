#include "simfarm/simulators/system_memory.h"

#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::simfarm {
namespace {

class SystemMemoryTest : public testing::Test {
 protected:
  SystemMemoryTest() {
    memory_.AddRegion(0, flash_.data(), 16, SystemMemory::Access::kReadOnly);
    memory_.AddRegion(0x80000000, ram_.data(), 16,
                      SystemMemory::Access::kReadWrite);
  }
  std::vector<uint8_t> flash_ = std::vector<uint8_t>(16);
  std::vector<uint8_t> ram_ = std::vector<uint8_t>(16);
  SystemMemory memory_;
};

TEST_F(SystemMemoryTest, FindsOnlyWhatLiesInOneRegion) {
  EXPECT_EQ(memory_.Find(0, 16), flash_.data());
  EXPECT_EQ(memory_.Find(15, 1), flash_.data() + 15);
  EXPECT_EQ(memory_.Find(15, 2), nullptr);
  EXPECT_EQ(memory_.Find(16, 1), nullptr);
  EXPECT_EQ(memory_.Find(0x7fffffff, 2), nullptr);
  EXPECT_EQ(memory_.Find(0x80000004, 12), ram_.data() + 4);
  EXPECT_EQ(memory_.Find(~uint64_t{0}, 1), nullptr);
  EXPECT_EQ(memory_.Find(0x80000004, INT64_MAX), nullptr);
  EXPECT_FALSE(memory_.IsWritable(3));
  EXPECT_TRUE(memory_.IsWritable(0x80000003));
  EXPECT_FALSE(memory_.IsWritable(0x80000010));
}

TEST_F(SystemMemoryTest, KnowsWhatWasWritten) {
  EXPECT_EQ(memory_.FindUndefined(0x80000000, 4), -1);  // Not tracked yet.
  memory_.TrackDefined();
  EXPECT_EQ(memory_.FindUndefined(0x80000000, 4), 0);
  memory_.MarkDefined(0x80000000, 3);
  EXPECT_EQ(memory_.FindUndefined(0x80000000, 4), 3);
  EXPECT_EQ(memory_.FindUndefined(0x80000000, 3), -1);
}

}  // namespace
}  // namespace edgekiln::simfarm
