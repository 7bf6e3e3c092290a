#include "client/render/live_block.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

// A terminal, as far as blocks need one. Its rows are those of a window that is
// large enough and of what has left it at the top.
class Terminal {
 public:
  explicit Terminal(size_t columns) : columns_(columns) {}

  void Write(absl::string_view text) {
    while (!text.empty()) {
      if (text.substr(0, 2) == "\x1b[") {
        text = Escape(text.substr(2));
        continue;
      }
      Put(text[0]);
      text.remove_prefix(1);
    }
  }

  // As most terminals: lines that are wider are broken, and the cursor stays
  // behind the character that it was behind.
  void Narrow(size_t columns) {
    std::vector<std::string> rows;
    size_t row = 0;
    size_t column = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const size_t first = rows.size();
      for (size_t at = 0; at == 0 || at < rows_[i].size(); at += columns) {
        rows.push_back(rows_[i].substr(at, columns));
      }
      if (i != row_) continue;
      row = std::min(first + column_ / columns, rows.size() - 1);
      column = column_ - (row - first) * columns;
    }
    columns_ = columns;
    rows_ = rows;
    row_ = row;
    column_ = column;
  }

  // Without rows that are empty at the end.
  std::string Screen() const {
    std::string screen = absl::StrJoin(rows_, "\n");
    screen.erase(screen.find_last_not_of('\n') + 1);
    return screen;
  }
  size_t row() const { return row_; }
  size_t column() const { return column_; }

 private:
  absl::string_view Escape(absl::string_view text) {
    const size_t end = text.find_first_not_of("0123456789;");
    const std::string number(text.substr(0, end));
    switch (text[end]) {
      case 'A': {
        const size_t up = number.empty() ? 1 : std::stoul(number);
        EXPECT_LE(up, row_) << "above the first row";
        row_ -= std::min(up, row_);
        break;
      }
      case 'J':
        rows_.resize(row_ + 1);
        rows_[row_].resize(std::min(column_, rows_[row_].size()));
        break;
      case 'K':
        rows_[row_].resize(std::min(column_, rows_[row_].size()));
        break;
      case 'm':
        break;
      default:
        ADD_FAILURE() << "unknown escape " << text.substr(0, end + 1);
    }
    return text.substr(end + 1);
  }

  void Put(char c) {
    if (c == '\r') {
      column_ = 0;
      return;
    }
    if (c == '\n') {  // The terminal's driver adds the return.
      column_ = 0;
      if (++row_ == rows_.size()) rows_.emplace_back();
      return;
    }
    ASSERT_LT(column_, columns_) << "the line wraps";
    std::string& row = rows_[row_];
    if (row.size() <= column_) row.resize(column_ + 1, ' ');
    row[column_++] = c;
  }

  size_t columns_;
  std::vector<std::string> rows_ = {""};
  size_t row_ = 0;
  size_t column_ = 0;
};

TEST(LiveBlockTest, OneLineIsRedrawnAsALine) {
  LiveBlock block;
  EXPECT_EQ(block.Draw({"one"}, 80), "\rone\x1b[K");
  EXPECT_EQ(block.Draw({"one"}, 80), "");
  EXPECT_EQ(block.Draw({"two"}, 80), "\rtwo\x1b[K");
  EXPECT_EQ(block.Erase(80), "\r\x1b[K");
  EXPECT_EQ(block.Erase(80), "");
  EXPECT_EQ(block.Draw({"two"}, 80), "\rtwo\x1b[K");
}

TEST(LiveBlockTest, OnlyTheLastLineIsWrittenWhereTheOthersStay) {
  LiveBlock block;
  block.Draw({"title", "row", "1 s"}, 80);
  EXPECT_EQ(block.Draw({"title", "row", "2 s"}, 80), "\r2 s\x1b[K");
  EXPECT_EQ(block.lines_above(), 2);
  block.Erase(80);
  EXPECT_EQ(block.lines_above(), 0);
}

TEST(LiveBlockTest, TheScreenShowsTheLatestLinesAndWhatStoodAbove) {
  const std::vector<std::vector<std::string>> frames = {
      {"1 s"},
      {"CELL", "  0", "2 s  1/3"},
      {"CELL", "  0", "3 s  1/3"},
      {"CELL", "  0 a long row", "  1", "4 s  2/3"},
      {"CELL", "  2", "5 s"},
      {"\x1b[1mCELL\x1b[0m", "  2", "6 s"},
      {"7 s"},
      {"CELL", "  3", "8 s"}};
  Terminal terminal(20);
  terminal.Write("$ edgekiln\n");
  LiveBlock block;
  for (const std::vector<std::string>& lines : frames) {
    terminal.Write(block.Draw(lines, 20));
    std::vector<std::string> want = lines;
    if (want[0][0] == '\x1b') want[0] = "CELL";
    EXPECT_EQ(terminal.Screen(),
              absl::StrCat("$ edgekiln\n", absl::StrJoin(want, "\n")));
    EXPECT_EQ(terminal.row(), want.size());
    EXPECT_EQ(terminal.column(), want.back().size());
  }
  terminal.Write(block.Erase(20));
  EXPECT_EQ(terminal.Screen(), "$ edgekiln");
  EXPECT_EQ(terminal.row(), 1u);
  EXPECT_EQ(terminal.column(), 0u);
}

TEST(LiveBlockTest, WhatANarrowerWindowWrapsIsRemovedAsWell) {
  for (const bool erase : {false, true}) {
    Terminal terminal(40);
    terminal.Write("$ edgekiln\n");
    LiveBlock block;
    terminal.Write(
        block.Draw({"\x1b[1mCELL  and a title of 28 col\x1b[0m",
                    "   0  a row that has 30 columns", "", "1 s  thirteen"},
                   40));
    terminal.Narrow(12);
    if (erase) {
      terminal.Write(block.Erase(12));
      EXPECT_EQ(terminal.Screen(), "$ edgekiln");
      continue;
    }
    terminal.Write(block.Draw({"CELL", "   0", "2 s"}, 12));
    EXPECT_EQ(terminal.Screen(), "$ edgekiln\nCELL\n   0\n2 s");
  }
}

// The lines above fit, and are the same.
TEST(LiveBlockTest, AnOldLastLineThatWrappedIsRemoved) {
  Terminal terminal(40);
  LiveBlock block;
  terminal.Write(block.Draw({"CELL", "1 s  and twenty-four"}, 40));
  terminal.Narrow(12);
  terminal.Write(block.Draw({"CELL", "2 s"}, 12));
  EXPECT_EQ(terminal.Screen(), "CELL\n2 s");
}

TEST(LiveBlockTest, AWiderWindowIsDrawnAnew) {
  Terminal terminal(40);
  LiveBlock block;
  terminal.Write(block.Draw({"CELL", "1 s"}, 10));
  terminal.Write(block.Draw({"CELL  CYCLES", "2 s"}, 40));
  EXPECT_EQ(terminal.Screen(), "CELL  CYCLES\n2 s");
}

}  // namespace
}  // namespace edgekiln::client
