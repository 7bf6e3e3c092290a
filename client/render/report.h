#ifndef EK_CLIENT_RENDER_REPORT_H_
#define EK_CLIENT_RENDER_REPORT_H_

// A Report as text for people. Pure; columns and lines that would say nothing
// (no cycles counted, no labels) are left out. Stages: stages.h.

#include <string>
#include <vector>

#include "client/render/text.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

std::string RenderReport(const v1::Report& report, const Style& style);

// The last part of the above, which several targets often share: how ranges
// were learned, and warnings. Each with its line end.
std::vector<std::string> RenderNotes(const v1::Report& report,
                                     const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_REPORT_H_
