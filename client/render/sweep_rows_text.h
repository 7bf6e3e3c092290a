#ifndef EK_CLIENT_RENDER_SWEEP_ROWS_TEXT_H_
#define EK_CLIENT_RENDER_SWEEP_ROWS_TEXT_H_

// Rows of sweeps for programs.

#include <string>
#include <vector>

#include "client/sweep_rows.h"
#include "edgekiln/v1/sweep_row.pb.h"

namespace edgekiln::client {

// {"cell", "key", "state", "report", "same_as", "error", ..} as one line.
std::string RowToJsonLine(const v1::SweepRow& row);

// {"summary": {..}} as one line.
std::string SummaryToJsonLine(const SweepRows& rows);

// All rows, by cell, under a line of column names; see docs/sweeps.md.
std::string RowsToCsv(const SweepRows& rows);

// "done", "refused", ...; "valid" of a row of a plan.
std::string StateText(v1::SweepRow::State state);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_SWEEP_ROWS_TEXT_H_
