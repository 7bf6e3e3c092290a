#include "tests/bench/in_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"

namespace edgekiln::bench {
namespace {

// A field of /proc/self/status in KiB.
double StatusKib(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, field + ":")) continue;
    std::istringstream rest(line.substr(field.size() + 1));
    double kib = 0;
    rest >> kib;
    return kib;
  }
  return 0;
}

}  // namespace

ChildCost CostOf(const std::function<absl::Status()>& work) {
  // Makes the peak start from here.
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = StatusKib("VmRSS");
  const double start = ProcessCpuSeconds();
  OrDie(work());
  const double middle = ProcessCpuSeconds();
  const double peak = StatusKib("VmHWM");
  const double resumed = ProcessCpuSeconds();
  OrDie(work());
  return {.cpu_seconds = middle - start,
          .again_cpu_seconds = ProcessCpuSeconds() - resumed,
          .peak_growth_mib = (peak - before) / 1024};
}

absl::StatusOr<ChildCost> RunInChild(
    const std::function<absl::Status()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError("pipe");
  const pid_t child = fork();
  if (child < 0) return absl::InternalError("fork");
  if (child == 0) {
    const ChildCost cost = CostOf(work);
    const bool sent = write(ends[1], &cost, sizeof(cost)) ==
                      static_cast<ssize_t>(sizeof(cost));
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  ChildCost cost;
  const ssize_t got = read(ends[0], &cost, sizeof(cost));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got != static_cast<ssize_t>(sizeof(cost)) || status != 0) {
    return absl::InternalError(
        absl::StrCat("the work in a child ended with wait status ", status));
  }
  return cost;
}

}  // namespace edgekiln::bench
