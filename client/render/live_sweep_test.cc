#include "client/render/live_sweep.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/render/sweep_table.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

v1::SweepRow RowOf(int cell, const std::string& model, int64_t cycles,
                   int64_t bytes) {
  v1::SweepRow row;
  row.set_cell(cell);
  row.set_state(v1::SweepRow::DONE);
  row.set_model(model);
  row.set_target("dla");
  row.set_recipe("default");
  v1::SweepRow::Value& value = *row.add_values();
  value.set_key("pes");
  value.set_value(absl::StrCat(cell * 8));
  v1::Report& report = *row.mutable_report();
  report.mutable_totals()->set_cycles(cycles);
  report.mutable_totals()->set_latency_ms(static_cast<double>(cycles) / 1000);
  v1::MemoryUse& use = *report.mutable_memory()->add_memories();
  use.set_name("sram");
  use.set_used_bytes(bytes);
  return row;
}

class LiveSweepTest : public testing::Test {
 protected:
  LiveSweepTest() {
    v1::JobEvent event;
    event.mutable_planned()->add_keys("pes");
    rows_.Apply(event);
  }

  void Add(const v1::SweepRow& row) {
    v1::JobEvent event;
    *event.mutable_row() = row;
    rows_.Apply(event);
  }

  std::string Shown(int lines, int width = 80) {
    const Style style = Style::Plain().WithWidth(width);
    return absl::StrJoin(live_.Lines(lines, style), "\n");
  }

  SweepRows rows_{v1::SweepRequest()};
  LiveSweep live_{rows_, {}};
};

TEST_F(LiveSweepTest, RowsComeWithTheMarksKnownSoFar) {
  EXPECT_EQ(Shown(10), "");
  Add(RowOf(0, "net", 900, 100));
  EXPECT_EQ(Shown(10),
            "CELL  PES  CYCLES    LATENCY   SRAM  NOTE\n"
            "   0  0       900 *   0.9 ms  100 B  front");
  // Another model has marks of its own.
  Add(RowOf(4, "other", 950, 100));
  Add(RowOf(1, "net", 500, 120));
  EXPECT_EQ(Shown(10),
            "CELL  MODEL  PES  CYCLES    LATENCY   SRAM  NOTE\n"
            "   0  net    0       900     0.9 ms  100 B  front\n"
            "   4  other  32      950 *  0.95 ms  100 B  front\n"
            "   1  net    8       500 *   0.5 ms  120 B  front");
  // The first one is beaten, though it was there before.
  Add(RowOf(2, "net", 400, 90));
  EXPECT_EQ(Shown(10),
            "CELL  MODEL  PES  CYCLES    LATENCY   SRAM  NOTE\n"
            "   0  net    0       900     0.9 ms  100 B\n"
            "   4  other  32      950 *  0.95 ms  100 B  front\n"
            "   1  net    8       500     0.5 ms  120 B\n"
            "   2  net    16      400 *   0.4 ms   90 B  front");
}

TEST_F(LiveSweepTest, TheNewestRowsFitTheWindow) {
  for (int cell = 0; cell < 30; ++cell) {
    Add(RowOf(cell, "net", 1000 - cell, 100));
  }
  EXPECT_EQ(Shown(3),
            "CELL  PES  CYCLES     LATENCY   SRAM  NOTE\n"
            "  28  224     972    0.972 ms  100 B\n"
            "  29  232     971 *  0.971 ms  100 B  front");
  EXPECT_EQ(Shown(1), "");
  EXPECT_EQ(Shown(0), "");
  for (const int lines : {2, 7, 24, 100}) {
    for (const int width : {200, 60, 31, 20}) {
      const Style style = Style::Plain().WithWidth(width);
      const std::vector<std::string> shown = live_.Lines(lines, style);
      EXPECT_EQ(static_cast<int>(shown.size()), std::min(lines, 31));
      for (const std::string& line : shown) EXPECT_LE(TextWidth(line), width);
      EXPECT_TRUE(absl::StrContains(absl::StrJoin(shown, "\n"), "971"))
          << width;
    }
  }
}

TEST_F(LiveSweepTest, OfRefusedAndMergedRowsItIsSaidAtTheEnd) {
  v1::SweepRow refused = RowOf(0, "net", 0, 0);
  refused.clear_report();
  refused.set_state(v1::SweepRow::REFUSED);
  Add(refused);
  refused.set_state(v1::SweepRow::MERGED);
  Add(refused);
  EXPECT_EQ(Shown(10), "");
  v1::SweepRow failed = RowOf(5, "net", 0, 0);
  failed.clear_report();
  failed.set_state(v1::SweepRow::FAILED);
  failed.mutable_error()->set_reason("BAD\x1b[2J");
  Add(failed);
  EXPECT_EQ(Shown(10),
            "CELL  PES  CYCLES    LATENCY  FLASH  RAM  NOTE\n"
            "   5  40     failed        -      -    -  BAD?[2J");
}

// A row without a memory makes it one that rows are not compared by.
TEST_F(LiveSweepTest, MemoriesAreThoseOfAllRowsSoFar) {
  v1::SweepRow two = RowOf(0, "net", 900, 100);
  v1::MemoryUse& use = *two.mutable_report()->mutable_memory()->add_memories();
  use.set_name("acc");
  use.set_used_bytes(1);
  Add(two);
  EXPECT_TRUE(absl::StrContains(Shown(10), "SRAM  ACC")) << Shown(10);
  Add(RowOf(1, "net", 800, 100));
  EXPECT_EQ(Shown(10),
            "CELL  PES  CYCLES    LATENCY   SRAM  NOTE\n"
            "   0  0       900     0.9 ms  100 B\n"
            "   1  8       800 *   0.8 ms  100 B  front");
}

// Whatever comes in whatever order: once all rows are there, and the window is
// large enough, the table is the final one.
TEST_F(LiveSweepTest, TheLastTableIsTheFinalOne) {
  std::mt19937 random(5);
  for (int cell = 0; cell < 60; ++cell) {
    v1::SweepRow row = RowOf(cell, cell % 2 == 0 ? "net" : "other",
                             static_cast<int64_t>(random() % 50) + 1,
                             static_cast<int64_t>(random() % 50) + 1);
    // A third dimension keeps the final table from being a matrix.
    row.set_target(cell % 3 == 0 ? "toy" : "dla");
    Add(row);
    if (random() % 3 == 0) Shown(10);
  }
  const std::string last = Shown(100, 200);
  const std::string final_one =
      RenderSweep(rows_, {}, Style::Plain().WithWidth(200));
  EXPECT_EQ(final_one.substr(0, last.size()), last);
  EXPECT_GT(last.size(), 1000u);
}

}  // namespace
}  // namespace edgekiln::client
