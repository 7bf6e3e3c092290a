#ifndef EK_CLIENT_RENDER_REPORT_H_
#define EK_CLIENT_RENDER_REPORT_H_

// A Report as text for people. Pure; columns and lines that would say nothing
// (no cycles counted, no labels) are left out.

#include <string>

#include "client/render/text.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

std::string RenderReport(const v1::Report& report, const Style& style);

// Parts of the above, for `jobs show`: one row per stage, chunks of the same
// stage ("simulate[0]", "simulate[1]", ...) in one row.
std::string RenderStages(
    const google::protobuf::RepeatedPtrField<v1::Report::Stage>& stages,
    const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_REPORT_H_
