#ifndef EK_CLIENT_RENDER_STATUS_SCREEN_H_
#define EK_CLIENT_RENDER_STATUS_SCREEN_H_

// What `edgekiln top` shows. Pure.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/daemon.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

struct StatusScreen {
  std::string server;  // The daemon's address.
  v1::DaemonStatus status{};
  // Of an earlier moment, for what happens per second; null: not shown.
  const v1::DaemonStatus* before = nullptr;
  v1::ListJobsResponse jobs{};  // The newest.
};

// Lines no wider than `style` says. Jobs that are not over come first. At most
// `height` lines, 0: as many as there are; what says least is left out: jobs
// that are over, then other jobs, then workers.
std::vector<std::string> StatusLines(const StatusScreen& screen, int height,
                                     const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_STATUS_SCREEN_H_
