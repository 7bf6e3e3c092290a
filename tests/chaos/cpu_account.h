#ifndef EK_TESTS_CHAOS_CPU_ACCOUNT_H_
#define EK_TESTS_CHAOS_CPU_ACCOUNT_H_

// Who uses the processors: CPU time of groups of processes over a while.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace edgekiln::chaos {

struct CpuTime {
  absl::Duration own;
  absl::Duration waited_for;  // Of what it has started and waited for.
};

// From /proc, in ticks of the kernel (10 ms). Zeros if there is no such
// process.
CpuTime CpuTimeOf(pid_t process);

// What all processes have used since the machine started.
absl::Duration CpuTimeOfAll();

// Adds up what groups have used since each was first looked at. What a process
// used after the last look before its end is lost, unless its parent waits for
// it. Thread-compatible.
class CpuAccount {
 public:
  // Looks at these processes alone.
  void Look(const std::string& group, const std::vector<pid_t>& processes);
  // Looks at what these have started.
  void LookBelow(const std::string& group, const std::vector<pid_t>& roots);
  std::map<std::string, absl::Duration> UsedByGroup() const;

 private:
  struct Used {
    absl::Duration first;
    absl::Duration last;
  };
  struct Group {
    // What is new later has begun since.
    bool looked_at = false;
    std::map<pid_t, Used> used;
  };
  static void Note(Group& group, pid_t process, absl::Duration now);

  std::map<std::string, Group> groups_;
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_CPU_ACCOUNT_H_
