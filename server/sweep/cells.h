#ifndef EK_SERVER_SWEEP_CELLS_H_
#define EK_SERVER_SWEEP_CELLS_H_

// A cell of a sweep as a job, and what became of it as a row. Pure.

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/sweep.pb.h"
#include "edgekiln/v1/sweep_row.pb.h"

namespace edgekiln::server {

// Jobs of cells have request ids that begin so; nobody else's may.
inline constexpr absl::string_view kCellPrefix = "sweep/";

// The request id of a cell of the job `sweep`.
std::string CellRequestId(absl::string_view sweep, int cell);
// The sweep that a request id belongs to; nothing if it is no cell's.
std::optional<std::string> SweepOfCell(absl::string_view request_id);

// The bytes of a variant's descriptor.
std::string DescriptorOf(const v1::SweepPlan& plan, int variant);

// What the jobs of a model's cells have in common: the model and its files.
v1::CreateJobRequest ModelRequest(const v1::SweepModel& model);

// The job of a VALID cell. `sweep`: the job that asks for it; `target`: the
// digest of its descriptor.
v1::CreateJobRequest CellRequest(absl::string_view sweep_id,
                                 const v1::CreateJobRequest& sweep,
                                 const v1::SweepPlan& plan, int cell,
                                 const v1::Digest& target);

// What is known of a cell's row without running it: all of it for one that is
// REFUSED or MERGED.
v1::SweepRow PlannedRow(const v1::SweepRequest& request,
                        const v1::SweepPlan& plan, int cell);

// Adds how the cell's job ended. `report`: null if it has none.
void AddResult(const v1::Job& job, const v1::Report* report, v1::SweepRow& row);
// The same for one that could not be run.
void AddError(const v1::ErrorDetail& error, v1::SweepRow& row);

// Counts of the plan's cells; nothing has run.
v1::SweepSummary SummaryOf(const v1::SweepPlan& plan);
// Counts the row of a VALID cell.
void AddRow(const v1::SweepRow& row, v1::SweepSummary& summary);

// What the plan is told as.
v1::SweepPlanned PlannedOf(const v1::SweepRequest& request,
                           const v1::SweepPlan& plan, const v1::Digest& digest);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_CELLS_H_
