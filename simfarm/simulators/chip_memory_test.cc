#include "simfarm/simulators/chip_memory.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::simfarm {
namespace {

constexpr uint64_t kRam = 0x80000000;

class ChipMemoryTest : public testing::Test {
 protected:
  ChipMemoryTest() {
    using Kind = ChipMemory::Kind;
    memory_.Add({"flash", Kind::kReadOnly, 0, flash_.data(), 16});
    // Of a memory of its own address space, although it lies at 0, too.
    memory_.Add({"pad", Kind::kScratchpad, 0, pad_.data(), 32});
    memory_.Add({"ram", Kind::kReadWrite, kRam, ram_.data(), 16});
    memory_.Add({"unused", Kind::kReadWrite, 0x90000000, nullptr, 0});
  }
  std::string Read(int32_t who, uint64_t address, int64_t size) {
    AccessFault fault;
    if (memory_.Read(who, address, size, &fault)) return "";
    return memory_.What(fault) + ": " + memory_.Name(address + fault.at);
  }
  std::string Write(int32_t who, uint64_t address, int64_t size) {
    AccessFault fault;
    if (memory_.Write(who, address, size, &fault)) return "";
    return memory_.What(fault) + ": " + memory_.Name(address + fault.at);
  }
  std::vector<uint8_t> flash_ = std::vector<uint8_t>(16);
  std::vector<uint8_t> pad_ = std::vector<uint8_t>(32);
  std::vector<uint8_t> ram_ = std::vector<uint8_t>(16);
  ChipMemory memory_;
};

TEST_F(ChipMemoryTest, FindsOnlyWhatLiesInOneSystemMemory) {
  EXPECT_EQ(memory_.Find(0, 16), flash_.data());
  EXPECT_EQ(memory_.Find(15, 1), flash_.data() + 15);
  EXPECT_EQ(memory_.Find(15, 2), nullptr);
  EXPECT_EQ(memory_.Find(16, 1), nullptr);
  EXPECT_EQ(memory_.Find(kRam - 1, 2), nullptr);
  EXPECT_EQ(memory_.Find(kRam + 4, 12), ram_.data() + 4);
  EXPECT_EQ(memory_.Find(~uint64_t{0}, 1), nullptr);
  EXPECT_EQ(memory_.Find(kRam + 4, INT64_MAX), nullptr);
  EXPECT_FALSE(memory_.IsWritable(3));
  EXPECT_TRUE(memory_.IsWritable(kRam + 3));
  EXPECT_FALSE(memory_.IsWritable(kRam + 16));
  EXPECT_EQ(memory_.Name(kRam + 3), "ram 0x80000003");
  EXPECT_EQ(memory_.scratchpad(1), pad_.data());
}

TEST_F(ChipMemoryTest, KnowsWhatWasWritten) {
  EXPECT_EQ(Read(kHost, kRam, 4), "");  // Not tracked yet.
  memory_.Track({"a"}, /*concurrent=*/false);
  memory_.BeginStep(0);
  EXPECT_EQ(Read(kHost, kRam, 4),
            "reads a byte that nothing wrote: ram 0x80000000");
  memory_.Define(kRam, 3);
  EXPECT_EQ(Read(kHost, kRam, 4),
            "reads a byte that nothing wrote: ram 0x80000003");
  EXPECT_EQ(Read(kHost, kRam, 3), "");
  memory_.StopTracking();
  EXPECT_EQ(Read(kHost, kRam, 4), "");
}

TEST_F(ChipMemoryTest, LaunchesAndWaitsOrderHostAndEngines) {
  memory_.Track({"a", "b"}, /*concurrent=*/true);
  memory_.BeginStep(0);
  EXPECT_EQ(Write(kHost, kRam, 4), "");
  memory_.BeginStep(1);
  memory_.Launch(0);
  EXPECT_EQ(Read(0, kRam, 4), "");
  EXPECT_EQ(Write(0, kRam + 4, 4), "");
  memory_.BeginStep(2);
  memory_.Launch(1);
  EXPECT_EQ(Read(1, kRam, 4), "");
  EXPECT_EQ(Read(1, kRam, 8),
            "race: reads a byte while engine a, launched by step 1, may still "
            "write it: ram 0x80000004");
  EXPECT_EQ(Write(1, kRam + 3, 1),
            "race: writes a byte while engine a, launched by step 1, may still "
            "use it: ram 0x80000003");
  memory_.BeginStep(3);
  memory_.Wait(0);
  // What b does has not come to an end with a.
  EXPECT_EQ(Read(kHost, kRam, 8), "");
  EXPECT_EQ(Write(kHost, kRam + 4, 4), "");
  EXPECT_EQ(Write(kHost, kRam, 1),
            "race: writes a byte while engine b, launched by step 2, may still "
            "use it: ram 0x80000000");
  memory_.BeginStep(4);
  memory_.Wait(1);
  EXPECT_EQ(Write(kHost, kRam, 1), "");
}

TEST_F(ChipMemoryTest, RowsMayHaveGaps) {
  for (const bool concurrent : {false, true}) {
    memory_.Track({"a"}, concurrent);
    memory_.Define(kRam, 4);
    memory_.Define(kRam + 8, 4);
    memory_.BeginStep(0);
    memory_.Launch(0);
    AccessFault fault;
    EXPECT_TRUE(memory_.ReadRows(0, kRam, 8, 2, 4, &fault));
    EXPECT_FALSE(memory_.ReadRows(0, kRam + 1, 8, 2, 3, &fault) &&
                 memory_.ReadRows(0, kRam + 1, 8, 2, 4, &fault));
    EXPECT_EQ(fault.at, 3);
    // The gap was not read.
    EXPECT_EQ(Write(kHost, kRam + 4, 4), "");
    EXPECT_EQ(Write(kHost, kRam + 8, 4) != "", concurrent);
  }
}

TEST_F(ChipMemoryTest, AScratchpadIsEmptyWhenAStreamStarts) {
  EXPECT_EQ(memory_.FindUndefined(1, 0, 8), -1);  // Not tracked yet.
  memory_.Track({"a"}, /*concurrent=*/false);
  AccessFault fault;
  for (int run = 0; run < 2; ++run) {
    ScratchpadAccesses& pad = memory_.TrackScratchpad(1, 2);
    EXPECT_EQ(memory_.FindUndefined(1, 4, 12), 4);
    pad.order.Begin(0, 1);
    EXPECT_TRUE(pad.map.Write(0, 0, 8, &fault));
    EXPECT_EQ(memory_.FindUndefined(1, 4, 12), 8);
    EXPECT_FALSE(pad.map.Read(1, 0, 8, true, &fault));
  }
}

TEST_F(ChipMemoryTest, SharedMemoryOutlivesLaunches) {
  std::vector<uint8_t> bytes(16);
  memory_.Add({"tile", ChipMemory::Kind::kShared, 0x40, bytes.data(), 16});
  constexpr int32_t kTile = 4;
  // Has an address space of its own.
  EXPECT_EQ(memory_.Find(0x40, 1), nullptr);
  EXPECT_EQ(memory_.FindIn(kTile, 0x48, 8), bytes.data() + 8);
  EXPECT_EQ(memory_.FindIn(kTile, 0x48, 9), nullptr);
  EXPECT_EQ(memory_.FindIn(kTile, 0x3f, 1), nullptr);
  EXPECT_EQ(memory_.FindIn(kTile, 0x40, 0), nullptr);
  EXPECT_EQ(memory_.FindIn(2, kRam + 1, 1), ram_.data() + 1);
  EXPECT_EQ(memory_.FindIn(1, 0, 1), nullptr);  // A scratchpad.
  EXPECT_EQ(memory_.FindIn(5, 0x40, 1), nullptr);
  EXPECT_EQ(memory_.FindIn(-1, 0x40, 1), nullptr);
  EXPECT_EQ(memory_.NameIn(kTile, 0x48), "tile 0x48");

  AccessFault fault;
  const auto read = [&](int32_t who, int32_t memory, uint64_t address) {
    if (memory_.ReadIn(who, memory, address, 4, &fault)) return std::string();
    return memory_.What(fault) + " +" + std::to_string(fault.at);
  };
  const auto write = [&](int32_t who, int32_t memory, uint64_t address) {
    if (memory_.WriteIn(who, memory, address, 4, &fault)) return std::string();
    return memory_.What(fault) + " +" + std::to_string(fault.at);
  };
  // What is there, and how far it is reached, needs no tracking.
  EXPECT_EQ(read(0, kTile, 0x44), "");
  EXPECT_EQ(memory_.reached_bytes(kTile), 8);
  EXPECT_EQ(read(0, kTile, 0x4d), "reads or writes outside the memory +0");
  EXPECT_EQ(memory_.reached_bytes(kTile), 8);
  EXPECT_EQ(write(0, 0, 0), "writes read-only memory +0");

  std::vector<uint8_t> tables(16);
  memory_.Add(
      {"tables", ChipMemory::Kind::kSharedReadOnly, 0, tables.data(), 16});
  EXPECT_EQ(write(0, kTile + 1, 0), "writes read-only memory +0");
  EXPECT_EQ(read(0, kTile + 1, 0), "");

  memory_.Track({"a", "b"}, /*concurrent=*/true);
  memory_.BeginStep(0);
  EXPECT_EQ(write(kHost, kTile, 0x40), "");
  memory_.BeginStep(1);
  memory_.Launch(0);
  EXPECT_EQ(read(0, kTile, 0x42), "reads a byte that nothing wrote +2");
  EXPECT_EQ(read(0, kTile, 0x40), "");
  EXPECT_EQ(write(0, kTile, 0x44), "");
  memory_.BeginStep(2);
  memory_.Launch(1);
  EXPECT_EQ(read(1, kTile, 0x40), "");
  EXPECT_EQ(read(1, kTile, 0x42),
            "race: reads a byte while engine a, launched by step 1, may still "
            "write it +2");
  EXPECT_EQ(write(1, kTile, 0x40),
            "race: writes a byte while engine a, launched by step 1, may still "
            "use it +0");
  EXPECT_EQ(write(1, 2, kRam), "");
  memory_.Wait(1);
  // Another launch finds what the one before left.
  memory_.BeginStep(3);
  memory_.Wait(0);
  memory_.Launch(1);
  EXPECT_EQ(read(1, kTile, 0x44), "");
  EXPECT_EQ(read(1, 2, kRam), "");
}

}  // namespace
}  // namespace edgekiln::simfarm
