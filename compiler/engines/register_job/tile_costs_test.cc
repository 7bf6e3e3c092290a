// What the search takes tiles to cost, beside what their moves do cost.

#include "compiler/engines/register_job/tile_costs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/chip.h"
#include "compiler/engines/register_job/schedule.h"
#include "compiler/engines/register_job/testing/diana.h"
#include "compiler/engines/register_job/testing/toy_machine.h"
#include "compiler/engines/register_job/transfer.h"
#include "gtest/gtest.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobOperand;

// Rows and planes that are no whole groups of reversed bytes, or are.
const OpSpec kSpecs[] = {
    {.name = "OddRows",
     .kind = "conv2d",
     .h = 25,
     .w = 5,
     .c = 8,
     .out_c = 16,
     .kernel_h = 3,
     .kernel_w = 3,
     .pad = 1},
    {.name = "EvenRows",
     .kind = "conv2d",
     .h = 18,
     .w = 10,
     .c = 4,
     .out_c = 24,
     .kernel_h = 3,
     .kernel_w = 3,
     .pad = 1},
    {.name = "WholeWords",
     .kind = "conv2d",
     .h = 12,
     .w = 8,
     .c = 16,
     .out_c = 16,
     .kernel_h = 3,
     .kernel_w = 3,
     .pad = 1},
    {.name = "Strided",
     .kind = "conv2d",
     .h = 21,
     .w = 9,
     .c = 3,
     .out_c = 20,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride = 2,
     .pad = 1},
    {.name = "Depthwise",
     .kind = "depthwise_conv2d",
     .h = 11,
     .w = 7,
     .c = 20,
     .out_c = 20,
     .kernel_h = 3,
     .kernel_w = 3,
     .pad = 1},
    {.name = "Add", .kind = "add", .h = 7, .w = 6, .c = 5, .out_c = 5},
};

void CheckTiles(const Placement& placement, const Tiling& tiling) {
  TileCosts costs(placement);
  const TileSet tiles = costs.Tiles(tiling);
  const auto needs = costs.NeedsOf(tiles);
  ASSERT_TRUE(needs.ok()) << needs.status();
  if (!needs->has_value()) return;
  const auto rearranged = costs.RearrangedBytes(tiles, **needs);
  ASSERT_TRUE(rearranged.ok()) << rearranged.status();
  const auto schedule = Schedule::Create(placement, {.tiling = tiling});
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->needs().rearranged_bytes, *rearranged);
  const auto cycles = costs.CyclesOf(tiles, **needs);
  ASSERT_TRUE(cycles.ok()) << cycles.status();
  for (size_t h = 0; h < tiles.h->cuts.size(); ++h) {
    for (size_t w = 0; w < tiles.w->cuts.size(); ++w) {
      for (size_t c = 0; c < tiles.c->cuts.size(); ++c) {
        const auto at = static_cast<size_t>(
            (tiles.h->moves.of[h] * std::ssize(tiles.w->moves.all) +
             tiles.w->moves.of[w]) *
                std::ssize(tiles.c->moves.all) +
            tiles.c->moves.of[c]);
        const struct {
          Access access;
          const Operand* operand;
          JobOperand role;
          MoveCost told;
        } roles[] = {{(*needs)->input, &placement.input, JobOperand::kIn,
                      cycles->tiles[at].input},
                     {(*needs)->input2, &placement.input2, JobOperand::kIn2,
                      cycles->tiles[at].input2},
                     {(*needs)->output, &placement.output, JobOperand::kOut,
                      cycles->tiles[at].output}};
        for (const auto& role : roles) {
          if (role.access != Access::kMoved) continue;
          SCOPED_TRACE(absl::StrCat("operand ", static_cast<int>(role.role),
                                    " of tile ", h, ", ", w, ", ", c));
          const auto transfer =
              TransferOf(placement, *role.operand, role.role, tiles.h->cuts[h],
                         tiles.w->cuts[w], tiles.c->cuts[c]);
          ASSERT_TRUE(transfer.ok()) << transfer.status();
          EXPECT_EQ(role.told.cycles, transfer->move.host_cycles);
          if (!transfer->move.rearranges) continue;
          EXPECT_GE(*rearranged, transfer->room.size_bytes());
        }
      }
    }
  }
}

// The op with its tensors in system memory, dense or as the array has them.
absl::StatusOr<Placement> Place(const Chip& chip, const Graph& graph,
                                bool as_array) {
  const Region region = RegionOf(graph, {0});
  EK_ASSIGN_OR_RETURN(const Placement dense,
                      PlaceOperands(chip, region, chip.ram(), {}));
  if (!as_array) return dense;
  Borders borders;
  const auto add = [&](JobOperand role, TensorId tensor) -> absl::Status {
    EK_ASSIGN_OR_RETURN(const v1::Layout whole, WholeLayout(dense, role));
    const auto layout = target::InShape(whole, graph.tensors[tensor].shape);
    if (!layout) return absl::InternalError("no layout of that shape");
    borders[tensor] = {chip.ram(), *layout};
    return absl::OkStatus();
  };
  EK_RETURN_IF_ERROR(add(JobOperand::kIn, dense.input.tensor));
  EK_RETURN_IF_ERROR(add(JobOperand::kOut, dense.output.tensor));
  if (dense.input2.present()) {
    EK_RETURN_IF_ERROR(add(JobOperand::kIn2, dense.input2.tensor));
  }
  return PlaceOperands(chip, region, chip.ram(), borders);
}

class TileCostsTest : public testing::TestWithParam<OpSpec> {};

TEST_P(TileCostsTest, AreThoseOfEachTile) {
  const Graph graph = Shifted(GetParam());
  const auto chip = Chip::Create(Diana(), 0);
  ASSERT_TRUE(chip.ok()) << chip.status();
  for (const bool as_array : {false, true}) {
    const auto placement = Place(*chip, graph, as_array);
    ASSERT_TRUE(placement.ok()) << placement.status();
    const Image& out = placement->operation.out;
    for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{3}, out.h}) {
      for (const int64_t columns : {int64_t{2}, int64_t{4}, out.w}) {
        for (const int64_t channels : {int64_t{1}, int64_t{4}, out.c}) {
          SCOPED_TRACE(absl::StrCat(as_array ? "as the array has it, " : "",
                                    rows, " x ", columns, " x ", channels));
          CheckTiles(*placement, {rows, columns, channels});
        }
      }
    }
  }
}

void CheckShared(const Chip& chip, const Graph& graph, OpCosts& shared) {
  for (const bool as_array : {false, true}) {
    auto placement = Place(chip, graph, as_array);
    ASSERT_TRUE(placement.ok()) << placement.status();
    Placement sharing = *placement;
    sharing.costs = &shared;
    TileCosts found(sharing);
    const Image& out = placement->operation.out;
    for (const int64_t rows : {out.h, int64_t{2}, int64_t{1}}) {
      for (const int64_t columns : {out.w, int64_t{4}, int64_t{1}}) {
        for (int64_t channels = out.c; channels > 0; channels /= 2) {
          const Tiling tiling = {rows, columns, channels};
          SCOPED_TRACE(absl::StrCat(rows, " x ", columns, " x ", channels));
          TileCosts own(*placement);
          EXPECT_EQ(own.MostJobChannels(channels).value(),
                    found.MostJobChannels(channels).value());
          const TileSet tiles = own.Tiles(tiling);
          const auto needs = own.NeedsOf(tiles);
          const auto same = found.NeedsOf(tiles);
          ASSERT_TRUE(needs.ok() && same.ok()) << needs.status();
          ASSERT_EQ(needs->has_value(), same->has_value());
          if (!needs->has_value()) continue;
          EXPECT_EQ((*needs)->input_bytes, (*same)->input_bytes);
          EXPECT_EQ((*needs)->output_bytes, (*same)->output_bytes);
          EXPECT_EQ((*needs)->constant_bytes, (*same)->constant_bytes);
          EXPECT_EQ((*needs)->job_channels, (*same)->job_channels);
          const auto cycles = own.CyclesOf(tiles, **needs);
          const auto again = found.CyclesOf(tiles, **same);
          ASSERT_TRUE(cycles.ok() && again.ok()) << cycles.status();
          EXPECT_EQ(cycles->jobs, again->jobs);
          const auto room = own.ConstantRoomOf(tiles.c->cuts[0]);
          const auto other = found.ConstantRoomOf(tiles.c->cuts[0]);
          ASSERT_TRUE(room.ok() && other.ok()) << room.status();
          EXPECT_EQ(room->bytes, other->bytes);
          EXPECT_EQ(room->table_offset, other->table_offset);
        }
      }
    }
  }
}

// What one placement has found is right for others of the op, of any tiling.
TEST_P(TileCostsTest, AreTheSameWhereOthersHaveFoundThem) {
  // Constants in place, and those that are moved.
  const v1::Machine toy = ToyMachine(8, 1 << 20);
  for (const v1::Machine* const machine : {&Diana(), &toy}) {
    const Graph graph =
        machine == &toy ? GraphOf(GetParam()) : Shifted(GetParam());
    const auto chip = Chip::Create(*machine, 0);
    ASSERT_TRUE(chip.ok()) << chip.status();
    OpCosts shared;
    CheckShared(*chip, graph, shared);
  }
}

// Jobs are cut until they are whole blocks of the tile's room, and what is
// found of some is not taken for others.
TEST(JobChannelsTest, AreWholeBlocksOfTheRoom) {
  const Graph graph = GraphOf(
      {.name = "Add", .kind = "add", .h = 4, .w = 4, .c = 24, .out_c = 24});
  for (const auto& [block, channels] :
       {std::pair(int64_t{3}, int64_t{1}), std::pair(int64_t{8}, int64_t{16}),
        std::pair(int64_t{2}, int64_t{16})}) {
    SCOPED_TRACE(block);
    v1::Machine machine = ToyMachine(block, 1 << 20);
    for (auto& job :
         *machine.mutable_engines(0)->mutable_jobs()->mutable_jobs()) {
      auto& condition = *job.add_where();
      condition.set_expr("out_c <= 16");
      condition.set_need("16 channels");
    }
    const auto chip = Chip::Create(machine, 0);
    ASSERT_TRUE(chip.ok()) << chip.status();
    const auto placement = PlaceOperands(*chip, RegionOf(graph, {0}), kRam, {});
    ASSERT_TRUE(placement.ok()) << placement.status();
    TileCosts costs(*placement);
    const auto needs = costs.NeedsOf(costs.Tiles({4, 4, 24}));
    ASSERT_TRUE(needs.ok() && needs->has_value()) << needs.status();
    EXPECT_EQ((*needs)->job_channels, channels);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, TileCostsTest, testing::ValuesIn(kSpecs),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::compiler::register_job
