#include "server/worker/cpu_priority.h"

#include <sys/resource.h>

#include <algorithm>
#include <system_error>
#include <thread>

namespace edgekiln::server {

bool MayRaisePriority() {
  bool may = false;
  try {
    // Priorities are those of threads; this one keeps what it cannot take back.
    std::thread([&may] {
      const int mine = getpriority(PRIO_PROCESS, 0);
      may = setpriority(PRIO_PROCESS, 0, mine + 1) == 0 &&
            setpriority(PRIO_PROCESS, 0, mine) == 0;
    }).join();
  } catch (const std::system_error&) {  // No thread.
  }
  return may;
}

void SetNice(pid_t pid, int nice) {
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(pid),
                    std::max(nice, getpriority(PRIO_PROCESS, 0)));
}

void SetBackground(pid_t pid, bool background) {
  SetNice(pid, background ? kBackgroundNice : kStageNice);
}

}  // namespace edgekiln::server
