#include "target/command_timing.h"

#include <string>

#include "base/error.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

// Commands with the expressions of others, which no short string holds and
// which differ at their end only. `last` is that of the last one.
v1::Machine Chip(const std::string& last) {
  v1::Machine machine;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        parameters { name: "pes" value: 4 }
        parameters { name: "decode" value: 3 }
        engines {
          isa {
            registers { name: "A" }
            registers { name: "B" }
            commands {
              mnemonic: "SET"
              unit: CONTROL_UNIT
              issue_cycles_expr: "1"
            }
            commands {
              mnemonic: "FIRST"
              unit: COMPUTE_UNIT
              issue_cycles_expr: "decode"
              occupancy_cycles_expr: "ceildiv(3 * A + 2 * A, pes)"
            }
            commands {
              mnemonic: "OTHER"
              unit: COMPUTE_UNIT
              issue_cycles_expr: "decode"
              occupancy_cycles_expr: "ceildiv(3 * A + 2 * A, B+1)"
            }
            commands {
              mnemonic: "LAST"
              unit: DMA_UNIT
              issue_cycles_expr: "1 + decode"
            }
          }
        }
      )pb",
      &machine));
  machine.mutable_engines(0)
      ->mutable_isa()
      ->mutable_commands(3)
      ->set_occupancy_cycles_expr(last);
  return machine;
}

TEST(CommandTimingTest, EachCommandHasItsOwnCycles) {
  const v1::Machine machine = Chip("ceildiv(3 * A + 2 * A, pes)");
  const auto timing = CommandTiming::Create(machine, machine.engines(0));
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->IssueCycles(0), 1);
  EXPECT_EQ(timing->IssueCycles(1), 3);
  EXPECT_EQ(timing->IssueCycles(2), 3);
  EXPECT_EQ(timing->IssueCycles(3), 4);
  const int64_t registers[] = {10, 7};
  EXPECT_EQ(*timing->OccupancyCycles(1, registers), 13);
  EXPECT_EQ(*timing->OccupancyCycles(2, registers), 7);
  EXPECT_EQ(*timing->OccupancyCycles(3, registers), 13);
  EXPECT_THAT(timing->RegistersOfOccupancy(0), testing::IsEmpty());
  EXPECT_THAT(timing->RegistersOfOccupancy(2), testing::ElementsAre(0, 1));
  EXPECT_THAT(timing->RegistersOfOccupancy(3), testing::ElementsAre(0));
}

TEST(CommandTimingTest, ErrorsNameTheCommand) {
  const v1::Machine wrong = Chip("ceildiv(3 * A + 2 * A, C+1)");
  EXPECT_THAT(CommandTiming::Create(wrong, wrong.engines(0)).status().message(),
              testing::HasSubstr("command LAST: occupancy_cycles_expr"));
  const v1::Machine machine = Chip("ceildiv(3 * A + 2 * A, pes)");
  const auto timing = CommandTiming::Create(machine, machine.engines(0));
  ASSERT_TRUE(timing.ok()) << timing.status();
  const int64_t registers[] = {0, 0};
  EXPECT_EQ(
      GetErrorDetail(timing->OccupancyCycles(3, registers).status())->where,
      "command LAST");
}

}  // namespace
}  // namespace edgekiln::target
