#ifndef EK_CLIENT_RENDER_LAYER_TABLE_H_
#define EK_CLIENT_RENDER_LAYER_TABLE_H_

// The layers of a report: where each ran, and what it cost.

#include <string>

#include "edgekiln/v1/report.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// Whether there is an engine beside the host. Columns and lines that only
// engines have anything for are left out where there is none.
bool HasEngine(const v1::Report& report);

// A table with a row for each layer and their sums, and an empty line.
std::string RenderLayers(const v1::Report& report, const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_LAYER_TABLE_H_
