#ifndef EK_CLIENT_RENDER_STAGES_H_
#define EK_CLIENT_RENDER_STAGES_H_

// What the stages of a job took, as text for people. Pure.

#include <string>

#include "client/render/text.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// One row per stage, chunks of the same stage ("simulate[0]", "simulate[1]",
// ...) in one row.
std::string RenderStages(
    const google::protobuf::RepeatedPtrField<v1::Report::Stage>& stages,
    const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_STAGES_H_
