#ifndef EK_REPORTS_HEADLINE_H_
#define EK_REPORTS_HEADLINE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/model.pb.h"
#include "edgekiln/v1/report.pb.h"

// A headline above the table: the target's engines run little of the network,
// and why. Pure functions; one line without a line end, "" if they run enough.
namespace edgekiln {

// A reason without the parentheses, which hold details of one layer: layers
// with the same rest are grouped.
std::string CommonReason(absl::string_view reason);

// Not empty if the engines run less than half of the MACs, or the host takes
// more than half of the cycles, unless offload was "none". Gives the reason
// that costs most cycles.
std::string Headline(const v1::Report& report);

// The same of a model placed on `target`, whose cycles are not known yet: MACs
// count or, where there are none, layers.
std::string Headline(const v1::ModelDescription& model,
                     absl::string_view target);

}  // namespace edgekiln

#endif  // EK_REPORTS_HEADLINE_H_
