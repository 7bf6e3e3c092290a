#include "tests/chaos/process_usage.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace edgekiln::chaos {
namespace {

constexpr absl::Duration kSample = absl::Milliseconds(100);

// The number in a line such as "VmRSS:     1234 kB".
int64_t NumberIn(absl::string_view line) {
  const size_t first = line.find_first_of("0123456789");
  if (first == absl::string_view::npos) return 0;
  const size_t end = line.find_first_not_of("0123456789", first);
  int64_t number = 0;
  return absl::SimpleAtoi(line.substr(first, end - first), &number) ? number
                                                                    : 0;
}

}  // namespace

absl::StatusOr<Usage> UsageOf(pid_t process) {
  const std::string folder = absl::StrCat("/proc/", process);
  Usage usage;
  bool alive = false;
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    // A process that has ended and was not waited for has no memory.
    if (absl::StartsWith(line, "VmRSS:")) {
      usage.rss_bytes = NumberIn(line) * 1024;
      alive = true;
    }
    if (absl::StartsWith(line, "Threads:")) {
      usage.threads = static_cast<int>(NumberIn(line));
    }
  }
  if (!alive) return absl::NotFoundError("the process has ended");
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder + "/fd", error), end;
       !error && it != end; it.increment(error)) {
    ++usage.descriptors;
  }
  return usage;
}

std::vector<pid_t> ProcessesBelow(const std::vector<pid_t>& roots) {
  std::map<pid_t, std::vector<pid_t>> children;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end;
       !error && it != end; it.increment(error)) {
    pid_t process = 0;
    if (!absl::SimpleAtoi(it->path().filename().string(), &process)) continue;
    std::ifstream status(it->path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (!absl::StartsWith(line, "PPid:")) continue;
      children[static_cast<pid_t>(NumberIn(line))].push_back(process);
      break;
    }
  }
  std::vector<pid_t> found;
  std::vector<pid_t> open = roots;
  while (!open.empty()) {
    const std::vector<pid_t>& below = children[open.back()];
    open.pop_back();
    found.insert(found.end(), below.begin(), below.end());
    open.insert(open.end(), below.begin(), below.end());
  }
  return found;
}

int64_t RssOfTrees(const std::vector<pid_t>& roots) {
  std::vector<pid_t> all = ProcessesBelow(roots);
  all.insert(all.end(), roots.begin(), roots.end());
  int64_t bytes = 0;
  for (const pid_t process : all) {
    const absl::StatusOr<Usage> usage = UsageOf(process);
    if (usage.ok()) bytes += usage->rss_bytes;
  }
  return bytes;
}

PeakUsage::PeakUsage(pid_t process) : process_(process) {
  thread_ = std::thread([this] { Run(); });
}

PeakUsage::~PeakUsage() { Stop(); }

void PeakUsage::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

Usage PeakUsage::now() {
  MutexLock lock(mutex_);
  return now_;
}

Usage PeakUsage::peak() {
  MutexLock lock(mutex_);
  return peak_;
}

void PeakUsage::Run() {
  while (!stop_) {
    const absl::StatusOr<Usage> usage = UsageOf(process_);
    if (!usage.ok()) return;
    {
      MutexLock lock(mutex_);
      now_ = *usage;
      peak_.rss_bytes = std::max(peak_.rss_bytes, usage->rss_bytes);
      peak_.descriptors = std::max(peak_.descriptors, usage->descriptors);
      peak_.threads = std::max(peak_.threads, usage->threads);
    }
    absl::SleepFor(kSample);
  }
}

}  // namespace edgekiln::chaos
