#ifndef EK_CLIENT_RENDER_EVENT_LINE_H_
#define EK_CLIENT_RENDER_EVENT_LINE_H_

// The log of a job as text: a line per event, broken between words where the
// window ends.

#include <string>

#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// "2026-11-23 14:02:11.345  tile  MISS  12.3 ms", with a line end. Empty for
// running totals, which the report has at the end: progress, and samples
// before the last one. `request` names the targets; `zone` is the reader's.
std::string EventLine(const v1::JobEvent& event,
                      const v1::CreateJobRequest& request, absl::TimeZone zone,
                      const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_EVENT_LINE_H_
