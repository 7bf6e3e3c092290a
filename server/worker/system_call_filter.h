#ifndef EK_SERVER_WORKER_SYSTEM_CALL_FILTER_H_
#define EK_SERVER_WORKER_SYSTEM_CALL_FILTER_H_

// A list of rules for system calls, given to the kernel (seccomp).

#include <seccomp.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"

namespace edgekiln::server {

// Rules that cannot be added are told of by Load().
class SystemCallFilter {
 public:
  // What becomes of calls without a rule: SCMP_ACT_*. Calls as another
  // architecture makes them end the process.
  explicit SystemCallFilter(uint32_t otherwise);

  void Allow(int call);
  void AllowIf(int call, scmp_arg_cmp argument);
  // The call returns the error, and nothing happens.
  void Refuse(int call, int error);
  void RefuseIf(int call, int error, scmp_arg_cmp argument);
  // From now on the rules hold, for good. UNAVAILABLE, with the reason, where
  // the kernel or a container does not let us.
  absl::Status Load();

 private:
  void Add(uint32_t action, int call, const scmp_arg_cmp* argument);
  void Note(int result);

  struct Release {
    void operator()(void* filter) const { seccomp_release(filter); }
  };
  const std::unique_ptr<void, Release> filter_;
  int error_ = 0;  // The first.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_SYSTEM_CALL_FILTER_H_
