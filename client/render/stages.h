#ifndef EK_CLIENT_RENDER_STAGES_H_
#define EK_CLIENT_RENDER_STAGES_H_

// What the stages of a job took, and which came from the cache. Pure.

#include <string>

#include "edgekiln/v1/report.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

using Stages = google::protobuf::RepeatedPtrField<v1::Report::Stage>;

// A table with one row per stage, chunks of the same stage ("simulate[0]",
// "simulate[1]", ...) in one row.
std::string RenderStages(const Stages& stages, const Style& style);
// "15, of which 12 came from the cache   0.32 s of CPU".
std::string StagesText(const Stages& stages);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_STAGES_H_
