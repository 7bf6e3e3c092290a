#ifndef EK_CLIENT_RENDER_MODEL_H_
#define EK_CLIENT_RENDER_MODEL_H_

// What `inspect` found out, as text for people. Pure.

#include <string>

#include "edgekiln/v1/model.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// `name` is shown where the description has none. Placement columns appear if
// any layer has an engine, that of `target`.
std::string RenderModel(const v1::ModelDescription& model,
                        absl::string_view name, const Style& style,
                        absl::string_view target = "");

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_MODEL_H_
