#include "client/render/table.h"

#include <gtest/gtest.h>

#include <string>

namespace edgekiln::client {
namespace {

TEST(TableTest, Alignment) {
  Table table({{"NAME"}, {"N", Align::kRight}});
  table.AddRow({"a", "1"});
  table.AddRow({"long\x1b", "1 000"});
  table.AddRow({"short"});
  EXPECT_EQ(table.Render(Style::Plain()),
            "NAME       N\n"
            "a          1\n"
            "long?  1 000\n"
            "short\n");
  EXPECT_EQ(table.Render(Style::Coloured()).substr(0, 4), "\x1b[1m");
}

TEST(TableTest, FitsTheWindow) {
  Table table({{""}, {"", Align::kRight}});
  table.AddRow({"abcdefghijklmnopqrstuvwxyz", "1"});
  table.AddRow({"short", "22"});
  EXPECT_EQ(table.Render(Style::Terminal(24)),
            "abcdefghi...stuvwxyz   1\n"
            "short                 22\n");
  Table batch({{"A"}});
  batch.AddRow({"batch_norm_2.fused_batch_norm"});
  batch.AddRow({"batch_norm_4.fused_batch_norm"});
  EXPECT_EQ(batch.Render(Style::Terminal(16)).substr(10),
            "batch_norm_2....\n"
            "batch_norm_4....\n");
  Table ids({{.title = "", .whole = true}, {""}});
  ids.AddRow({"j505f711ec9fe106a", "a_name_too_long"});
  EXPECT_EQ(ids.Render(Style::Terminal(26)), "j505f711ec9fe106a  a_...ng\n");
}

TEST(TableTest, DropsColumnsInTheirOrder) {
  Table table({{.title = "NAME"},
               {.title = "KIND", .drop = 1},
               {.title = "COUNT", .align = Align::kRight},
               {.title = "SIZE", .align = Align::kRight, .drop = 2}});
  table.AddRow({"a_name_of_twenty_char", "kind", "1 000", "2.0 KiB"});
  const struct {
    int width;
    const char* want;
  } cases[] = {
      {43,
       "NAME                   KIND  COUNT     SIZE\n"
       "a_name_of_twenty_char  kind  1 000  2.0 KiB\n"},
      {38,
       "NAME              KIND  COUNT     SIZE\n"
       "a_name_...y_char  kind  1 000  2.0 KiB\n"},
      {37,
       "NAME                   KIND  COUNT\n"
       "a_name_of_twenty_char  kind  1 000\n"},
      {28,
       "NAME                   COUNT\n"
       "a_name_of_twenty_char  1 000\n"},
      {19,
       "NAME          COUNT\n"
       "a_nam...char  1 000\n"},
      // Rather narrow than broken.
      {10,
       "NAM  COUNT\n"
       "a_n  1 000\n"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(table.Render(Style::Of({.width = c.width})), c.want) << c.width;
  }
}

TEST(TableTest, ProseIsCutAtItsEnd) {
  Table table({{.title = "", .cut = Cut::kProse}});
  table.AddRow({"pes = 64, sram_bytes = 1"});
  table.AddRow({"pes = 64, sram_bytes = 2"});
  EXPECT_EQ(table.Render(Style::Of({.width = 14})),
            "pes = 64, s...\npes = 64, s...\n");
}

TEST(TableTest, RowsHaveTheirTone) {
  Table table({{""}});
  table.AddRow({"worse"}, Tone::kBad);
  table.AddRow({"same"});
  EXPECT_EQ(table.Render(Style::Coloured()), "\x1b[1;31mworse\x1b[0m\nsame\n");
  EXPECT_EQ(table.Render(Style::Plain()), "worse\nsame\n");
}

}  // namespace
}  // namespace edgekiln::client
