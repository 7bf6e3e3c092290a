#include "server/worker/cpu_priority.h"

#include <sys/resource.h>

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

void SetBackground(pid_t pid, bool background) {
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(pid),
                    background ? kBackgroundNice : kStageNice);
}

}  // namespace edgekiln::server
