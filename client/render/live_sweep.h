#ifndef EK_CLIENT_RENDER_LIVE_SWEEP_H_
#define EK_CLIENT_RENDER_LIVE_SWEEP_H_

// What a person sees of a sweep that runs: the table of its newest rows.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/render/sweep_marks.h"
#include "client/render/sweep_row_table.h"
#include "client/sweep_rows.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// Marks are those among all rows so far. Each row is looked at once, and not
// before something is drawn. Not thread-safe.
class LiveSweep {
 public:
  // `rows` must outlive it, and may only grow. `memories`: as RenderSweep().
  LiveSweep(const SweepRows& rows, std::vector<std::string> memories);

  // At most `lines` lines, the title among them, as wide as `style` allows: the
  // newest rows, the last one at the end. Empty if there is no row yet, or no
  // room for one.
  const std::vector<std::string>& Lines(int lines, const Style& style);

 private:
  void Add(const v1::SweepRow& row);
  void StartMarks();
  std::vector<SweepDimension> Dimensions() const;
  std::vector<v1::SweepRow> Newest(size_t count) const;

  const SweepRows& rows_;
  const std::vector<std::string> chosen_;
  size_t seen_ = 0;  // Of the rows.
  CommonMemories common_;
  std::vector<std::string> memories_;
  std::optional<GrowingMarks> marks_;
  // Of the rows so far: model, target and recipe of the first, and in which of
  // them others differ from it.
  std::vector<std::string> first_;
  std::vector<bool> varies_;
  // What the lines were made for.
  int height_ = 0;
  int width_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_LIVE_SWEEP_H_
