#include "tests/chaos/cpu_account.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/chaos/process_usage.h"

namespace edgekiln::chaos {
namespace {

absl::Duration Ticks(int64_t count) {
  return count * absl::Seconds(1) / static_cast<int64_t>(sysconf(_SC_CLK_TCK));
}

}  // namespace

absl::Duration CpuTimeOfAll() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  // User, nice, system; idle and waiting for a disk, which are not used;
  // interrupts of two kinds.
  int64_t columns[7] = {};
  for (int64_t& column : columns) file >> column;
  return Ticks(columns[0] + columns[1] + columns[2] + columns[5] + columns[6]);
}

CpuTime CpuTimeOf(pid_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/stat"));
  std::string line;
  std::getline(file, line);
  // The name, in parentheses, may hold anything.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) rest >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  int64_t children_user = 0;
  int64_t children_system = 0;
  rest >> user >> system >> children_user >> children_system;
  return {.own = Ticks(user + system),
          .waited_for = Ticks(children_user + children_system)};
}

void CpuAccount::Note(Group& group, pid_t process, absl::Duration now) {
  const auto [it, is_new] = group.used.try_emplace(process, Used());
  if (is_new && !group.looked_at) it->second.first = now;
  // One that has ended has used nothing any more.
  it->second.last = std::max(now, it->second.last);
}

void CpuAccount::Look(const std::string& group,
                      const std::vector<pid_t>& processes) {
  for (const pid_t process : processes) {
    Note(groups_[group], process, CpuTimeOf(process).own);
  }
  groups_[group].looked_at = true;
}

void CpuAccount::LookBelow(const std::string& group,
                           const std::vector<pid_t>& roots) {
  for (const pid_t root : roots) {
    // What somebody waits for moves from the one sum to the other.
    absl::Duration sum = CpuTimeOf(root).waited_for;
    for (const pid_t process : ProcessesBelow({root})) {
      const CpuTime now = CpuTimeOf(process);
      sum += now.own + now.waited_for;
    }
    Note(groups_[group], root, sum);
  }
  groups_[group].looked_at = true;
}

std::map<std::string, absl::Duration> CpuAccount::UsedByGroup() const {
  std::map<std::string, absl::Duration> sums;
  for (const auto& [name, group] : groups_) {
    for (const auto& [process, used] : group.used) {
      sums[name] += used.last - used.first;
    }
  }
  return sums;
}

}  // namespace edgekiln::chaos
