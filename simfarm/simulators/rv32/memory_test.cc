#include "simfarm/simulators/rv32/memory.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/bus.h"
#include "simfarm/simulators/rv32/devices.h"

namespace edgekiln::simfarm::rv32 {
namespace {

struct Case {
  const char* name;
  std::vector<MemoryRegion> regions;
  const char* message;
};

TEST(MemoryTest, WrongRegionsAreNamed) {
  const Case kCases[] = {
      {"empty", {{.name = "a", .size_bytes = 0}}, "size must be > 0"},
      {"misaligned", {{.name = "a", .base = 2, .size_bytes = 4}}, "multiples"},
      {"odd size", {{.name = "a", .size_bytes = 6}}, "multiples of 4"},
      {"beyond",
       {{.name = "a", .base = 0xfffffff0, .size_bytes = 32}},
       "does not fit the address space"},
      {"huge", {{.name = "a", .size_bytes = int64_t{1} << 31}}, "fit"},
      {"overlap",
       {{.name = "a", .size_bytes = 8},
        {.name = "b", .base = 4, .size_bytes = 8}},
       "overlaps a"},
      {"total",
       {{.name = "a", .size_bytes = kMaxMemoryBytes},
        {.name = "b", .base = 0x80000000, .size_bytes = 4}},
       "too much memory"},
      {"waits",
       {{.name = "a", .size_bytes = 4, .read_wait_cycles = -1}},
       "negative"},
  };
  for (const Case& each : kCases) {
    const auto memory = Memory::Create(each.regions, false);
    ASSERT_FALSE(memory.ok()) << each.name;
    EXPECT_NE(memory.status().message().find(each.message), std::string::npos)
        << memory.status();
  }
}

TEST(MemoryTest, ARegionMayEndWithTheAddressSpace) {
  const auto memory = Memory::Create(
      {{.name = "top", .base = 0xfffffff0, .size_bytes = 16}}, false);
  ASSERT_TRUE(memory.ok()) << memory.status();
  Window* window = nullptr;
  EXPECT_EQ((*memory)->FindLoad(0xfffffffc, 4, &window), AccessProblem::kNone);
  EXPECT_EQ((*memory)->FindLoad(0, 4, &window), AccessProblem::kUnmapped);
}

// Code from 16 to 32, the guard from 48 to 64: what is left are three windows,
// and each byte is in the right one or in none.
TEST(MemoryTest, StoresToCodeAndGuardHaveNoWindow) {
  const auto memory =
      *Memory::Create({{.name = "ram", .base = 0x100, .size_bytes = 96}}, true);
  memory->SetGuard(0x130, 0x140);
  memory->NoteCode(0x110, 0x118);
  memory->NoteCode(0x11e, 0x120);
  for (uint32_t address = 0x100; address < 0x160; ++address) {
    Window* window = nullptr;
    const AccessProblem problem = memory->FindStore(address, 1, &window);
    const bool guard = address >= 0x130 && address < 0x140;
    const bool code = address >= 0x110 && address < 0x120;
    EXPECT_EQ(problem, guard ? AccessProblem::kGuard : AccessProblem::kNone);
    EXPECT_EQ(window != nullptr, !guard && !code) << address;
    if (window == nullptr) continue;
    uint32_t offset = address;
    EXPECT_TRUE(window->Contains<0>(&offset));
  }
  // Between the two pieces of code nothing was decoded.
  EXPECT_TRUE(memory->StoreAmongCode(0x114, 4, 1));
  EXPECT_FALSE(memory->StoreAmongCode(0x118, 4, 1));
  EXPECT_TRUE(memory->StoreAmongCode(0x11c, 4, 1));
  memory->ForgetCode();
  Window* window = nullptr;
  EXPECT_EQ(memory->FindStore(0x114, 4, &window), AccessProblem::kNone);
  EXPECT_NE(window, nullptr);
}

TEST(MemoryTest, WindowsKnowAlignmentAndEnds) {
  const auto memory =
      *Memory::Create({{.name = "ram", .base = 0x100, .size_bytes = 8}}, false);
  Window* window = nullptr;
  ASSERT_EQ(memory->FindLoad(0x100, 4, &window), AccessProblem::kNone);
  const auto contains = [&](uint32_t address, int log2) {
    switch (log2) {
      case 0:
        return window->Contains<0>(&address);
      case 1:
        return window->Contains<1>(&address);
      default:
        return window->Contains<2>(&address);
    }
  };
  for (int log2 = 0; log2 < 3; ++log2) {
    const uint32_t width = 1u << log2;
    for (uint32_t address = 0xf0; address < 0x120; ++address) {
      const bool inside = address >= 0x100 && address + width <= 0x108;
      EXPECT_EQ(contains(address, log2), inside && address % width == 0);
    }
    EXPECT_FALSE(contains(0, log2));
    EXPECT_FALSE(contains(0xfffffffc, log2));
  }
}

TEST(BusTest, WrongWindowsAreNamed) {
  Console console(1);
  const std::vector<MemoryRegion> regions = {
      {.name = "ram", .base = 0x100, .size_bytes = 8}};
  const auto message = [&](std::vector<DeviceWindow> windows) {
    return std::string(
        Bus::Create(std::move(windows), regions).status().message());
  };
  EXPECT_EQ(message({{.name = "a", .device = &console}}), "");
  EXPECT_NE(message({{.name = "a"}}).find("is missing"), std::string::npos);
  EXPECT_NE(message({{.name = "a", .base = 2, .device = &console}})
                .find("multiples of 4"),
            std::string::npos);
  EXPECT_NE(message({{.name = "a", .base = 0x104, .device = &console}})
                .find("overlaps memory ram"),
            std::string::npos);
  EXPECT_NE(message({{.name = "a", .device = &console},
                     {.name = "b", .device = &console}})
                .find("overlaps device a"),
            std::string::npos);
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
