#ifndef EK_CLIENT_RENDER_COMPARISON_H_
#define EK_CLIENT_RENDER_COMPARISON_H_

// Reports of one model on several targets, a row each. Pure; columns that would
// say nothing are left out.

#include <string>
#include <vector>

#include "client/render/text.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// The table in the order of the reports, then what it has no room for: broken
// limits, first mismatches, notes. A target with an error has that in its row;
// the errors themselves are the caller's to print.
std::string RenderComparison(const std::vector<v1::Report>& reports,
                             const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_COMPARISON_H_
