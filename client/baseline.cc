#include "client/baseline.h"

#include <algorithm>
#include <set>

#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

// What one run or its caller put in; the rest is the same in every run.
std::set<std::string> VolatileFields() { return {"job_id", "stages", "gates"}; }

}  // namespace

std::string BaselineJson(std::vector<v1::Report> reports) {
  // The order of --target does not matter to a baseline.
  std::stable_sort(reports.begin(), reports.end(),
                   [](const v1::Report& x, const v1::Report& y) {
                     return x.target_name() < y.target_name();
                   });
  if (reports.size() == 1) return ToJson(reports[0], VolatileFields());
  std::vector<const google::protobuf::Message*> messages;
  for (const v1::Report& report : reports) messages.push_back(&report);
  return ToJsonArray(messages, VolatileFields());
}

}  // namespace edgekiln::client
