#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_JOB_CASE_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_JOB_CASE_H_

// Register writes, memories before and after: what the simulator and the naive
// model are compared on.

#include <cstdint>
#include <string>
#include <vector>

namespace edgekiln::simfarm::conformance::register_job {

struct RegisterWrite {
  uint32_t offset = 0;
  uint32_t value = 0;
};

// Words that the host stores.
struct RecordStore {
  size_t before = 0;  // Index of the write that comes next.
  int32_t memory = 0;
  uint64_t address = 0;
  std::vector<uint32_t> words;
};

// The host polls after each start until the job has ended.
struct JobProgram {
  std::vector<RegisterWrite> writes;
  std::vector<RecordStore> records;  // Rising.
  // By memory of the machine, from its base: all of it, all defined. Empty: the
  // engine does not reach it.
  std::vector<std::string> memories;
};

struct JobOutcome {
  // Not empty: a write was refused, and nothing below is set.
  std::string error;
  std::vector<int64_t> cycles;  // Of each job.
  // Some job takes more than kMaxJobCycles: `memories` is not set.
  bool too_long = false;
  std::vector<std::string> memories;  // Afterwards.
};

// Longer jobs are checked, not computed.
inline constexpr int64_t kMaxJobCycles = 400'000;

// "" if both outcomes are the same (two refusals are, whatever they say), else
// the first difference.
std::string FirstDifference(const JobOutcome& a, const JobOutcome& b);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_JOB_CASE_H_
