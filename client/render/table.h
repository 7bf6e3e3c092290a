#ifndef EK_CLIENT_RENDER_TABLE_H_
#define EK_CLIENT_RENDER_TABLE_H_

// Rows of cells in aligned columns that fit the window.

#include <cstddef>
#include <string>
#include <vector>

#include "client/render/text.h"

namespace edgekiln::client {

enum class Align { kLeft, kRight };

// Where a cell is cut that is too wide.
enum class Cut {
  kName,   // In the middle, or at the end if that keeps more cells apart.
  kProse,  // At the end.
};

// What a row says, as a colour.
enum class Tone { kNone, kGood, kBad, kStrong };

// Columns are two spaces apart; no line has trailing spaces or is wider than
// the style. Cells are cleaned.
//
// Where rows do not fit, columns that may be dropped go, those with the largest
// `drop` first, until the others fit with 16 columns for the widest
// left-aligned cells. Then these are cut as far as needed; numbers and `whole`
// columns only where nothing else is left.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    bool whole = false;  // Never clipped: what is copied from here, as ids.
    int drop = 0;        // 0: always shown.
    Cut cut = Cut::kName;
  };
  explicit Table(std::vector<Column> columns);

  // As many cells as columns.
  void AddRow(std::vector<std::string> cells, Tone tone = Tone::kNone);
  // The title row is bold in `style`; left out if every title is empty.
  std::string Render(const Style& style) const;

 private:
  // Of the columns that are shown, by column; -1: not shown.
  std::vector<int> FittingWidths(int window) const;
  std::vector<int> NaturalWidths() const;
  void DropColumns(int window, std::vector<int>& widths) const;
  void NarrowColumns(int window, std::vector<int>& widths) const;
  // The cells of a column, clipped where it keeps most of them apart.
  std::vector<std::string> ClippedColumn(size_t column, int width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<Tone> tones_;
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_TABLE_H_
