#ifndef EK_CLIENT_RENDER_REPORT_H_
#define EK_CLIENT_RENDER_REPORT_H_

// A Report as text for people. Pure; columns and lines that would say nothing
// (no cycles counted, no labels) are left out. In a window, no line is wider.

#include <string>

#include "edgekiln/v1/report.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

enum class StageDetail { kLine, kTable };

std::string RenderReport(const v1::Report& report, const Style& style,
                         StageDetail stages = StageDetail::kLine);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_REPORT_H_
