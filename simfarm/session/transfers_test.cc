#include "simfarm/session/transfers.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/layout.h"
#include "target/resolve.h"

namespace edgekiln::simfarm {
namespace {

using testing::HasSubstr;

class TransfersTest : public testing::Test {
 protected:
  TransfersTest()
      : machine_(
            target::ResolveTarget("extends: \"diana-digital\"")->machine()),
        transfers_(*target::RegisterTransfers::Create(machine_, 0)) {}

  // From L2 to L1.
  absl::StatusOr<std::vector<uint32_t>> Values(const v1::Layout& from,
                                               const v1::Layout& to,
                                               int64_t* left) const {
    v1::Program program;
    *program.add_layouts() = from;
    *program.add_layouts() = to;
    v1::Program::Move move;
    move.mutable_from()->set_memory(0);
    move.mutable_from()->set_address(machine_.memories(0).base_address());
    move.mutable_to()->set_memory(1);
    move.set_to_layout(1);
    return TransferValues(program, move, transfers_, left);
  }

  const v1::Machine machine_;
  const target::RegisterTransfers transfers_;
};

v1::Layout Words(int64_t bytes) {
  v1::Layout layout = target::DenseLayout({bytes}, 1);
  layout.set_reversed_bytes(4);
  return layout;
}

TEST_F(TransfersTest, AllMovesOfAProgramShareTheLimit) {
  int64_t left = 11;
  for (const int64_t behind : {7, 3}) {
    const auto values = Values(Words(64), Words(64), &left);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_EQ(values->size(), 4u);
    EXPECT_EQ(left, behind);
  }
  const absl::Status more = Values(Words(64), Words(64), &left).status();
  EXPECT_EQ(more.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(more.message()),
              HasSubstr("a move takes 1 transfers, more than the 0 left"));
  EXPECT_EQ(left, 3);
}

// Bytes of arrays that are not reversed alike are transfers each, and blocks of
// 2 and of 3 a list of places each.
TEST_F(TransfersTest, LargeMovesAreRefusedByTheirNumber) {
  constexpr int64_t kBytes = int64_t{6} << 20;
  const auto blocks = [](int64_t size) {
    v1::Layout layout = target::DenseLayout({kBytes}, 1);
    layout.clear_terms();
    auto* low = layout.add_terms();
    low->set_modulo(size);
    low->set_stride_bytes(kBytes / size);
    auto* high = layout.add_terms();
    high->set_divide(size);
    high->set_stride_bytes(1);
    return layout;
  };
  int64_t left = 4 * kBytes - 1;
  for (const auto& [from, to] :
       {std::pair{Words(kBytes), target::DenseLayout({kBytes}, 1)},
        std::pair{blocks(2), blocks(3)}}) {
    const absl::Status status = Values(from, to, &left).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr("a move takes 6291456 transfers, more than the 6291455"));
  }
}

// What Transfers.writes of the descriptor tell, register by register.
TEST_F(TransfersTest, NothingStartsWithoutRegisters) {
  struct Device : MmioDevice {
    void Reset(RunMode) override {}
    absl::Status StoreRecord(const v1::Location&,
                             absl::Span<const uint32_t>) override {
      return absl::OkStatus();
    }
    absl::StatusOr<std::optional<int64_t>> Write(uint32_t offset,
                                                 uint32_t) override {
      offsets.push_back(offset);
      return std::nullopt;
    }
    absl::StatusOr<uint32_t> Read(uint32_t) override { return 0; }
    void Complete() override {}
    std::vector<uint32_t> offsets;
  } device;
  const v1::RegisterJobs& jobs = machine_.engines(0).jobs();
  EXPECT_FALSE(StartTransfers({1, 2}, {}, jobs, device).ok());
  EXPECT_THAT(device.offsets, testing::IsEmpty());
  const absl::Status started =
      StartTransfers({1, 2, 3, 4}, transfers_.offsets(), jobs, device);
  EXPECT_TRUE(started.ok()) << started;
  EXPECT_THAT(device.offsets, testing::ElementsAre(0xa0, 0xa4, 0xa8, 0xac,
                                                   jobs.start_offset()));
}

}  // namespace
}  // namespace edgekiln::simfarm
