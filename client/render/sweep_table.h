#ifndef EK_CLIENT_RENDER_SWEEP_TABLE_H_
#define EK_CLIENT_RENDER_SWEEP_TABLE_H_

// What a person sees of a sweep: a matrix of cycles where two things vary, a
// table of rows otherwise; then what was refused or failed, and the summary.

#include <string>
#include <vector>

#include "client/sweep_rows.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// `memories`: shown, and compared by, beside cycles: names as in reports, "ram"
// and "flash" also where no memory is called so. Empty: those that all rows
// have.
std::string RenderSweep(const SweepRows& rows,
                        const std::vector<std::string>& memories,
                        const Style& style);

// "96 cells: 84 run, 2 failed, 10 refused, 2 merged into others".
std::string SweepSummaryText(const v1::SweepSummary& summary);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_SWEEP_TABLE_H_
