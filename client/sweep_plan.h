#ifndef EK_CLIENT_SWEEP_PLAN_H_
#define EK_CLIENT_SWEEP_PLAN_H_

#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::client {

// A cell of a plan as a row that nothing has become of yet: without a state if
// it would be run. The plan is the daemon's: indices are checked.
v1::SweepRow RowOfPlan(const v1::SweepRequest& request,
                       const v1::SweepPlan& plan, int cell);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_SWEEP_PLAN_H_
