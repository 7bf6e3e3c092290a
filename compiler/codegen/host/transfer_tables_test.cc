// The tables of transfers on DIANA, walked as the C walks them.

#include "compiler/codegen/host/transfer_tables.h"

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/layout.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kL2 = 0;
constexpr int32_t kL1 = 1;
constexpr int32_t kDigitalDma = 0;
constexpr int32_t kAnalogDma = 1;

using Words = std::vector<uint32_t>;

// The array of bytes with these steps, in words of reversed bytes.
v1::Layout Reversed(const std::vector<int64_t>& extents,
                    const std::vector<int64_t>& strides) {
  v1::Layout layout = target::StridedLayout(extents, strides, 1);
  layout.set_reversed_bytes(4);
  layout.set_size_bytes((layout.size_bytes() + 3) / 4 * 4);
  return layout;
}

class TransferTablesTest : public testing::Test {
 protected:
  // From L2 to L1, each at the memory's begin.
  v1::Program::Move Move(const v1::Layout& from, const v1::Layout& to) {
    v1::Program::Move move;
    move.set_link(kDigitalDma);
    move.mutable_from()->set_memory(kL2);
    move.mutable_from()->set_address(machine_.memories(kL2).base_address());
    move.mutable_to()->set_memory(kL1);
    move.set_from_layout(program_.layouts_size());
    *program_.add_layouts() = from;
    move.set_to_layout(program_.layouts_size());
    *program_.add_layouts() = to;
    return move;
  }

  // What the registers are told by the move's transfers, in their order.
  std::vector<Words> Transfers(const v1::Program::Move& move) const {
    const auto registers = target::RegisterTransfers::Create(machine_, 0);
    EXPECT_TRUE(registers.ok()) << registers.status();
    const auto view = target::MoveTransfersView::Create(
        move, program_.layouts(move.from_layout()),
        program_.layouts(move.to_layout()), *registers, 1 << 20);
    EXPECT_TRUE(view.ok()) << view.status();
    std::vector<Words> transfers;
    for (const target::TransferLoop& loop : view->loops()) {
      const absl::Status visited = view->Visit(
          loop, [&](const std::vector<target::TransferValue>& values) {
            Words& words = transfers.emplace_back();
            for (const auto& value : values) words.push_back(value.value);
            return absl::OkStatus();
          });
      EXPECT_TRUE(visited.ok()) << visited;
    }
    return transfers;
  }

  v1::Machine machine_ = target::ResolveTarget("extends: \"diana\"")->machine();
  v1::Program program_;
};

// Numbers of each line of the table with this name.
std::vector<Words> TableOf(const std::string& text, absl::string_view name) {
  std::vector<Words> table;
  bool inside = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line == "};") inside = false;
    if (inside) {
      Words& words = table.emplace_back();
      const std::string numbers(line);
      static const std::regex number("(0x[0-9a-f]+|[0-9]+)u");
      for (std::sregex_iterator i(numbers.begin(), numbers.end(), number), end;
           i != end; ++i) {
        words.push_back(
            static_cast<uint32_t>(std::stoul((*i)[1].str(), nullptr, 0)));
      }
    }
    inside = inside ||
             line.find(absl::StrCat(" ", name, "[")) != absl::string_view::npos;
    if (line.find("};") != absl::string_view::npos) inside = false;
  }
  return table;
}

// What PREFIX_transfer_0(first, end) of the text writes, as its walk does it.
std::vector<Words> Walk(const std::string& text, int64_t first, int64_t end) {
  const std::vector<Words> entries = TableOf(text, "net_transfers_0");
  const std::vector<Words> counters = TableOf(text, "net_counters_0");
  std::vector<Words> written;
  for (int64_t t = first; t < end; ++t) {
    const Words& entry = entries.at(static_cast<size_t>(t));
    const size_t registers = entry.size() - 2;
    const uint32_t counter = entry[registers];
    const uint32_t used = entry[registers + 1];
    Words value(entry.begin(), entry.begin() + static_cast<int64_t>(registers));
    Words index(used, 0);
    uint32_t c = 0;
    do {
      written.push_back(value);
      for (c = 0; c < used; ++c) {
        const Words& step = counters.at(counter + c);
        ++index[c];
        for (size_t r = 0; r < registers; ++r) {
          value[r] += step[r + 1];
          if (index[c] == step[0]) value[r] -= step[0] * step[r + 1];
        }
        if (index[c] < step[0]) break;
        index[c] = 0;
      }
    } while (c < used);
  }
  return written;
}

TEST_F(TransferTablesTest, EveryTransferIsStartedInItsOrder) {
  const v1::Layout dense = Reversed({6, 8}, {8, 1});
  const struct {
    const char* name;
    v1::Layout from, to;
    int64_t entries;
  } kCases[] = {
      {"one run of bytes", dense, dense, 1},
      {"rows that begin at lines of L1", Reversed({6, 8}, {8, 1}),
       Reversed({6, 8}, {32, 1}), 1},
      {"rows that begin within lines, where no steps tell the registers",
       Reversed({3, 12}, {16, 1}), Reversed({3, 12}, {12, 1}), 3},
      {"two counters", Reversed({2, 3, 8}, {64, 16, 1}),
       Reversed({2, 3, 8}, {128, 32, 1}), 1},
  };
  TransferTables tables(program_, machine_, "net");
  std::vector<v1::Program::Move> moves;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  int64_t next = 0;
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    moves.push_back(Move(each.from, each.to));
    ASSERT_TRUE(tables.Starts(moves.back()));
    EXPECT_EQ(tables.WindowOf(moves.back()), 0);
    const auto range = tables.Add(moves.back());
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_EQ(range->first, next);
    EXPECT_EQ(range->second, next + each.entries);
    next = range->second;
    ranges.push_back(*range);
  }
  const std::string text = tables.Text();
  EXPECT_THAT(tables.Windows(), testing::ElementsAre(0));
  EXPECT_THAT(text, testing::HasSubstr(
                        "static const uint32_t net_transfer_registers_0[4] = "
                        "{0xa0u, 0xa4u, 0xa8u, 0xacu};"));
  EXPECT_THAT(text, testing::HasSubstr("static void net_transfer_0("));
  // Room for the most counters of an entry.
  EXPECT_THAT(text, testing::HasSubstr("value[4], index[2];"));
  for (size_t m = 0; m < moves.size(); ++m) {
    SCOPED_TRACE(kCases[m].name);
    const std::vector<Words> transfers = Transfers(moves[m]);
    EXPECT_GE(std::ssize(transfers), kCases[m].entries);
    EXPECT_EQ(Walk(text, ranges[m].first, ranges[m].second), transfers);
  }
}

TEST_F(TransferTablesTest, EqualCountersAreOneRun) {
  TransferTables tables(program_, machine_, "net");
  v1::Program::Move move =
      Move(Reversed({6, 8}, {8, 1}), Reversed({6, 8}, {32, 1}));
  for (const uint64_t address : {0, 512, 1024}) {
    move.mutable_to()->set_address(address);
    ASSERT_TRUE(tables.Add(move).ok());
  }
  const std::string text = tables.Text();
  EXPECT_EQ(TableOf(text, "net_transfers_0").size(), 3u);
  EXPECT_EQ(TableOf(text, "net_counters_0").size(), 1u);
}

TEST_F(TransferTablesTest, OnlyLinksThatRegistersStartHaveTransfers) {
  const TransferTables tables(program_, machine_, "net");
  const v1::Layout layout = Reversed({16}, {1});
  v1::Program::Move move = Move(layout, layout);
  EXPECT_TRUE(tables.Starts(move));
  for (const int32_t link : {-1, kAnalogDma, machine_.links_size()}) {
    move.set_link(link);
    EXPECT_FALSE(tables.Starts(move)) << link;
  }
  EXPECT_EQ(tables.Text(), "");
}

TEST_F(TransferTablesTest, RefusesWhatHasTooManyTransfers) {
  TransferTables tables(program_, machine_, "net");
  // Bytes that are not reversed alike: a transfer each.
  constexpr int64_t kBytes = (1 << 20) + 4;
  const absl::Status status =
      tables
          .Add(Move(Reversed({kBytes}, {1}), target::DenseLayout({kBytes}, 1)))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
}

}  // namespace
}  // namespace edgekiln::compiler
