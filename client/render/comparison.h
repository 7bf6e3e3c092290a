#ifndef EK_CLIENT_RENDER_COMPARISON_H_
#define EK_CLIENT_RENDER_COMPARISON_H_

#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// One model on several targets, a row each in the order of the request: cycles
// beside those of the best, latency, accuracy, disagreement, the engines' share
// of the MACs, memories, gates. Columns that say nothing of any target are left
// out; broken gates follow the table. Pure.
std::string RenderComparison(const std::vector<v1::Report>& reports,
                             const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_COMPARISON_H_
