#ifndef EK_CLIENT_RENDER_HEADLINE_H_
#define EK_CLIENT_RENDER_HEADLINE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/model.pb.h"
#include "edgekiln/v1/report.pb.h"

// What nobody should have to find in a table: that a target does little of a
// network, and why. Pure functions; one line without a line end, "" where there
// is nothing to say.
namespace edgekiln::client {

// What a reason for the host says of every layer that has it: the text without
// the details of one layer, which stand in parentheses.
std::string CommonReason(absl::string_view reason);

// Says so if the engines run less than half of the MACs, or the host takes more
// than half of the cycles; with the reason that costs most cycles.
std::string Headline(const v1::Report& report);

// The same of a model placed on `target`, whose cycles are not known yet: MACs
// count or, where there are none, layers.
std::string Headline(const v1::ModelDescription& model,
                     absl::string_view target);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_HEADLINE_H_
