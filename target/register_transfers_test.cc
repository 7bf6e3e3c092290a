#include "target/register_transfers.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/register_jobs.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

using Jobs = v1::RegisterJobs;

constexpr int32_t kL2 = 0;
constexpr int32_t kL1 = 1;

v1::Machine Diana() {
  return ResolveTarget("extends: \"diana-digital\"")->machine();
}

Jobs& JobsOf(v1::Machine& machine) {
  return *machine.mutable_engines(0)->mutable_jobs();
}

// Values of 0xa0, 0xa4, 0xa8 and 0xac.
std::vector<uint32_t> ValuesOf(const Transfer& transfer) {
  const v1::Machine machine = Diana();
  const auto transfers = RegisterTransfers::Create(machine, 0);
  EXPECT_TRUE(transfers.ok()) << transfers.status();
  const auto told = transfers->Encode(transfer);
  EXPECT_TRUE(told.ok()) << told.status();
  std::vector<uint32_t> values;
  uint32_t offset = 0xa0;
  for (const TransferValue& each : *told) {
    const Jobs::Register& reg =
        machine.engines(0).jobs().registers(each.position);
    EXPECT_EQ(reg.offset(), offset);
    EXPECT_EQ(transfers->offsets()[values.size()], offset);
    offset += 4;
    values.push_back(each.value);
  }
  return values;
}

// docs/targets/diana.md, section 2.
TEST(RegisterTransfersTest, TellsDianasTransfers) {
  // Whole words: what public code writes.
  EXPECT_THAT(ValuesOf({kL2, kL1, 0x1c000100, 0x40, 64}),
              testing::ElementsAre(2, 0x1c000100, 16, 4));
  EXPECT_THAT(ValuesOf({kL1, kL2, 0x40, 0x1c000100, 64}),
              testing::ElementsAre(1, 0x1c000100, 16, 4));
  // 6 bytes are 2 words of which 2 bytes stay; 0x45 is byte 5 of word 4.
  EXPECT_THAT(
      ValuesOf({kL2, kL1, 0x1c000101, 0x45, 6}),
      testing::ElementsAre(2, 0x1c000101, 2u | 2u << 30, 4u | 5u << 28));
  EXPECT_THAT(ValuesOf({kL1, kL1, 0x45, 0x80, 1}),
              testing::ElementsAre(5, 0x45, 1u | 3u << 30, 8));
  EXPECT_THAT(ValuesOf({kL2, kL2, 0x1c000000, 0x1c000013, 4}),
              testing::ElementsAre(6, 0x1c000000, 1, 0x1c00001u | 3u << 28));
}

TEST(RegisterTransfersTest, JobsAreNone) {
  const v1::Machine machine = Diana();
  const auto transfers = RegisterTransfers::Create(machine, 0);
  ASSERT_TRUE(transfers.ok()) << transfers.status();
  const std::vector<int64_t> held(machine.engines(0).jobs().registers_size());
  const auto told = transfers->Decode(held);
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_FALSE(told->has_value());
  EXPECT_EQ(transfers->Place(5), 6);
}

TEST(RegisterTransfersTest, RefusesWhatRegistersCannotTell) {
  const auto transfers = RegisterTransfers::Create(Diana(), 0);
  ASSERT_TRUE(transfers.ok()) << transfers.status();
  for (const Transfer& transfer :
       {Transfer{kL2, kL1, 1LL << 33, 0, 4}, Transfer{kL2, kL1, -4, 0, 4},
        Transfer{kL2, kL1, 0x1c000000, 0, 0},
        Transfer{kL2, 2, 0x1c000000, 0, 4}}) {
    EXPECT_FALSE(transfers->Encode(transfer).ok()) << transfer.bytes;
  }
}

TEST(RegisterTransfersTest, SaysWhatIsWrongWithADescriptor) {
  const struct {
    const char* says;
    std::function<void(v1::Machine&)> spoil;
  } kRows[] = {
      {"there is no such register",
       [](auto& m) {
         JobsOf(m).mutable_transfers()->mutable_writes(0)->set_register_name(
             "TRANSFERS");
       }},
      {"the register is signed, or part of the record",
       [](auto& m) {
         JobsOf(m).mutable_transfers()->mutable_writes(1)->set_register_name(
             "MODE");
       }},
      {"the register occurs twice",
       [](auto& m) {
         JobsOf(m).mutable_transfers()->mutable_writes(1)->set_register_name(
             "TRANSFER");
       }},
      {"neither jobs nor transfers write it",
       [](auto& m) {
         JobsOf(m).mutable_transfers()->mutable_writes()->RemoveLast();
       }},
      {"no such variable",
       [](auto& m) {
         JobsOf(m).mutable_transfers()->mutable_fields(1)->set_variable(
             "from_mem");
       }},
      {"the variable occurs twice",
       [](auto& m) {
         JobsOf(m).mutable_transfers()->mutable_fields(1)->set_variable(
             "transfer");
       }},
      {"no field tells the variable",
       [](auto& m) {
         JobsOf(m).mutable_transfers()->mutable_fields()->RemoveLast();
       }},
      {"no link, or more than one, is part of the window",
       [](auto& m) { m.mutable_links(0)->set_dimensions(2); }},
      {"no link, or more than one, is part of the window",
       [](auto& m) { m.mutable_links(0)->clear_window(); }},
      {"reversed_bytes is 3",
       [](auto& m) { JobsOf(m).mutable_transfers()->set_reversed_bytes(3); }},
      {"reversed_bytes is 0, but 4 of the transfers of link ",
       [](auto& m) {
         for (auto& job : *JobsOf(m).mutable_jobs()) {
           for (auto& operand : *job.mutable_operands()) {
             operand.clear_reversed_bytes();
           }
         }
       }},
      {"reversed_bytes is 4, but 0 of the transfers of link ",
       [](auto& m) { JobsOf(m).mutable_transfers()->clear_reversed_bytes(); }},
      {"reversed_bytes is 2, but 4 of the transfers of link ",
       [](auto& m) {
         auto& operands = *JobsOf(m).mutable_jobs(1)->mutable_operands();
         operands.rbegin()->set_reversed_bytes(2);
       }},
      {"transfers write no register",
       [](auto& m) { JobsOf(m).mutable_transfers()->clear_writes(); }},
      {"the registers do not tell a transfer of",
       [](auto& m) {
         JobsOf(m).mutable_transfers()->mutable_writes(2)->set_value_expr(
             "ceildiv(bytes, 4)");
       }},
      {"a register that tells transfers from jobs is not written by jobs",
       [](auto& m) {
         for (Jobs::Register& reg : *JobsOf(m).mutable_registers()) {
           if (reg.name() == "TRANSFER") reg.clear_value_expr();
         }
       }},
      {"value_expr is missing, and there are no transfers that write it",
       [](auto& m) { JobsOf(m).clear_transfers(); }},
      {"the registers of the job tell a transfer",
       [](auto& m) {
         for (Jobs::Register& reg : *JobsOf(m).mutable_registers()) {
           if (reg.name() == "TRANSFER") reg.set_value_expr("2");
         }
       }},
  };
  for (const auto& row : kRows) {
    v1::Machine machine = Diana();
    row.spoil(machine);
    std::string error;
    const auto view = RegisterJobsView::Create(machine, 0);
    if (view.ok()) {
      JobVariables job;
      job[JobVariable::kKernel] = machine.engines(0).jobs().jobs(0).code();
      error = std::string(view->Encode(job).status().message());
    } else {
      error = std::string(view.status().message());
    }
    EXPECT_TRUE(absl::StrContains(error, row.says))
        << row.says << ": " << error;
  }
}

}  // namespace
}  // namespace edgekiln::target
