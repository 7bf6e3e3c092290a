#ifndef EK_REPORTS_TEXT_TABLE_H_
#define EK_REPORTS_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "reports/text/text.h"

namespace edgekiln {

enum class Align { kLeft, kRight };

// Rows of cells in aligned columns, two spaces apart, no trailing spaces.
// Cells are cleaned. Where the style has a width, no row is wider: first the
// widest left-aligned cells are clipped, but not below 12 columns, in the
// middle, or at the end if that keeps more of them apart; then columns are left
// out; in the end cells are clipped further.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    bool whole = false;  // Never clipped: what is copied from here, as ids.
    // Left out where rows are too wide: the highest first, 0 never.
    int drop = 0;
  };
  explicit Table(std::vector<Column> columns);

  // As many cells as columns.
  void AddRow(std::vector<std::string> cells);
  // The title row is bold in `style`; left out if every title is empty.
  std::string Render(const Style& style) const;

 private:
  // A column that is shown, and how wide it is.
  struct Shown {
    size_t column;
    int width;
  };

  // Such that rows fit a window of that width; 0: no limit.
  std::vector<Shown> Fitting(int window) const;
  // Clips cells, none below `narrowest`, until rows fit; how much is missing.
  int Shrink(int window, int narrowest, std::vector<Shown>& shown) const;
  int WidthOf(size_t column) const;
  // The cells of a column, clipped where it keeps most of them apart.
  std::vector<std::string> ClippedColumn(size_t column, int width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace edgekiln

#endif  // EK_REPORTS_TEXT_TABLE_H_
