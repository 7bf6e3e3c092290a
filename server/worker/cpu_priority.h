#ifndef EK_SERVER_WORKER_CPU_PRIORITY_H_
#define EK_SERVER_WORKER_CPU_PRIORITY_H_

#include <sys/types.h>

namespace edgekiln::server {

// Whether the system lets this user raise the priority of a process again that
// was lowered: with CAP_SYS_NICE, or `ulimit -e` of at least 20. Takes a thread
// for a moment.
bool MayRaisePriority();

// Of processes that execute stages: 0 is normal, 19 the lowest. Of a processor
// that all of them want, one whose stage takes long (server/long_lease.h) gets
// a third of what the first gets, and one of the background a tenth.
inline constexpr int kStageNice = 5;
inline constexpr int kLongNice = 10;
inline constexpr int kBackgroundNice = 15;

// Of a process with one thread, or of all processes of the group that it leads;
// never a higher priority than that of the calling thread. No error: it is only
// slower, or others are.
void SetNice(pid_t pid, bool leads_group, int nice);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CPU_PRIORITY_H_
