#ifndef EK_REPORTS_EXPORT_PERFETTO_TRACE_H_
#define EK_REPORTS_EXPORT_PERFETTO_TRACE_H_

#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// The timelines of reports as a trace that ui.perfetto.dev opens: a group of
// tracks for each engine and the host with a track per unit, and a counter of
// bytes in use for each memory that tensors lie in. Each report is one
// inference that starts at 0.
//
// Time is the target's: a cycle takes totals.latency_ms / totals.cycles. A
// slice carries its cycles as the report has them. Counters change where a
// layer starts to compute, as the report knows lifetimes by layer.
std::string ReportsToPerfetto(const std::vector<v1::Report>& reports);

}  // namespace edgekiln

#endif  // EK_REPORTS_EXPORT_PERFETTO_TRACE_H_
