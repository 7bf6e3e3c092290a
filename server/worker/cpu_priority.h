#ifndef EK_SERVER_WORKER_CPU_PRIORITY_H_
#define EK_SERVER_WORKER_CPU_PRIORITY_H_

#include <sys/types.h>

namespace edgekiln::server {

// Whether the system lets this user raise the priority of a process again that
// was lowered: with CAP_SYS_NICE, or `ulimit -e` of at least 20. Takes a thread
// for a moment.
bool MayRaisePriority();

// Of processes that execute stages: 0 is that of daemon and worker, 19 the
// lowest. Each gets a third of what the one before gets of a processor that
// both want.
inline constexpr int kShortStageNice = 0;  // long_stages.h
inline constexpr int kStageNice = 5;
inline constexpr int kLongStageNice = 10;  // long_stages.h
inline constexpr int kBackgroundNice = 15;

// Never higher than that of the calling thread. No error: the process, of which
// it must be the only thread, is only slower, or others are.
void SetNice(pid_t pid, int nice);

// Has the process, which has one thread and executes stages, give way to others
// that want a processor, or no longer. No error: it is only slower, or others
// are.
void SetBackground(pid_t pid, bool background);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CPU_PRIORITY_H_
