#ifndef EK_CLIENT_RENDER_SWEEP_ROW_TABLE_H_
#define EK_CLIENT_RENDER_SWEEP_ROW_TABLE_H_

// Rows of a sweep as a table: all of them once it is over (sweep_table.h), the
// newest ones while it runs (live_sweep.h).

#include <functional>
#include <string>
#include <vector>

#include "client/render/sweep_marks.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/sweep_row.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// One of the things in which rows may differ.
struct SweepDimension {
  std::string name;
  std::function<std::string(const v1::SweepRow&)> of;
};
// Model, target, recipe, and the varied keys.
std::vector<SweepDimension> DimensionsOf(const v1::SweepPlanned& planned);

// The memories that all rows with figures have.
class CommonMemories {
 public:
  void Add(const v1::SweepRow& row);
  // Flash and RAM if there are none.
  std::vector<std::string> names() const;

 private:
  bool any_ = false;
  std::vector<std::string> names_;
};

// Whether the row is one of the table: of refused and merged ones it is said
// elsewhere.
bool HasRow(const v1::SweepRow& row);
bool HasAccuracy(const v1::SweepRow& row);

// "202 787 *": the cycles, marked if they are the fewest of the model. The
// state of a row that is not done.
std::string CyclesText(const v1::SweepRow& row, const SweepMarks& marks);

std::string RenderRows(const std::vector<v1::SweepRow>& rows,
                       const std::vector<SweepDimension>& dimensions,
                       const std::vector<std::string>& memories,
                       const SweepMarks& marks, const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_SWEEP_ROW_TABLE_H_
