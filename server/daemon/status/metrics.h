#ifndef EK_SERVER_DAEMON_STATUS_METRICS_H_
#define EK_SERVER_DAEMON_STATUS_METRICS_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "edgekiln/v1/daemon.pb.h"

namespace edgekiln::server {

// The metrics of `status`: units are seconds and bytes, counters end in _total
// (docs/metrics.md lists them).
std::vector<prometheus::MetricFamily> MetricsOf(const v1::DaemonStatus& status);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STATUS_METRICS_H_
