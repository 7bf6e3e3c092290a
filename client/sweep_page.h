#ifndef EK_CLIENT_SWEEP_PAGE_H_
#define EK_CLIENT_SWEEP_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/sweep_rows.h"

namespace edgekiln::client {

// A sweep to look at: parallel coordinates, Pareto front and table, as one HTML
// file like that of ReportPage(). `id`: of its job. `memories`: as
// RenderSweep().
absl::StatusOr<std::string> SweepPage(const std::string& id,
                                      const SweepRows& rows,
                                      const std::vector<std::string>& memories);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_SWEEP_PAGE_H_
