#ifndef EK_CLIENT_BASELINE_H_
#define EK_CLIENT_BASELINE_H_

#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// What `report baseline` writes: reports as JSON without what differs from run
// to run or is the caller's own (job_id, stages, gates), sorted by target. The
// same reports give the same bytes.
std::string BaselineJson(std::vector<v1::Report> reports);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_BASELINE_H_
