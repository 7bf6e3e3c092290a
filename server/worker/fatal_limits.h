#ifndef EK_SERVER_WORKER_FATAL_LIMITS_H_
#define EK_SERVER_WORKER_FATAL_LIMITS_H_

namespace edgekiln::server {

// From now on this process, instead of crashing, ends with `memory_exit` when
// memory runs out where no exception can be caught (in what is noexcept), and
// with `stack_exit` when the stack of its main thread overflows. Other crashes
// stay what they are. To be called once, on the main thread.
void ExitAtFatalLimits(int memory_exit, int stack_exit);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_FATAL_LIMITS_H_
