#include "compiler/engines/dla/chip.h"

#include "gtest/gtest.h"
#include "target/resolve.h"

namespace edgekiln::compiler::dla {
namespace {

TEST(ChipTest, ABorrowedOneIsTheSameOverTheMachineItself) {
  const auto target = target::ResolveTarget("extends: \"dla\"");
  ASSERT_TRUE(target.ok()) << target.status();
  const v1::Machine& machine = target->machine();
  const auto own = Chip::Create(machine, 0, 1 << 14);
  const auto borrowed = Chip::Borrow(machine, 0, 1 << 14);
  ASSERT_TRUE(own.ok() && borrowed.ok()) << own.status() << borrowed.status();
  EXPECT_NE(&own->isa().isa(), &machine.engines(0).isa());
  EXPECT_EQ(&borrowed->isa().isa(), &machine.engines(0).isa());
  EXPECT_EQ(borrowed->sram_bytes(), own->sram_bytes());
  RegisterFile values;
  for (int i = 0; i < target::kNumDlaRegisters; ++i) {
    const auto reg = static_cast<DlaRegister>(i);
    EXPECT_EQ(borrowed->position(reg), own->position(reg));
    EXPECT_EQ(borrowed->Most(reg), own->Most(reg));
    values.Set(reg, 1);
  }
  for (int i = 0; i < target::kNumDlaCommands; ++i) {
    const auto command = static_cast<DlaCommand>(i);
    ASSERT_EQ(borrowed->position(command), own->position(command));
    if (own->position(command) < 0) continue;
    EXPECT_EQ(borrowed->IssueCycles(command), own->IssueCycles(command));
    EXPECT_EQ(borrowed->OccupancyCycles(command, values),
              own->OccupancyCycles(command, values));
  }
  EXPECT_FALSE(Chip::Borrow(machine, 1, 1 << 14).ok());
}

}  // namespace
}  // namespace edgekiln::compiler::dla
