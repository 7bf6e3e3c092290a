#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_JOB_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_JOB_H_

// Section 5 of docs/targets/register_job.md, element by element.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "edgekiln/v1/target.pb.h"

namespace edgekiln::simfarm::conformance::register_job {

using NaiveValues = std::map<std::string, int64_t>;

struct NaiveOperand {
  struct Term {
    int64_t axis = 0;
    int64_t divide = 1;
    int64_t modulo = 0;  // 0: none.
    int64_t stride = 0;
  };
  std::vector<int64_t> extents;
  int64_t address = 0;
  int64_t size = 0;   // The room that it is given.
  int64_t end = 0;    // Up to the last element.
  int64_t bytes = 1;  // Of an element.
  std::vector<Term> terms;
};

struct NaiveJob {
  v1::RegisterJobs::Kernel kernel = v1::RegisterJobs::KERNEL_UNSPECIFIED;
  v1::WeightValues weights = v1::WEIGHTS_ANY;  // Others are an error.
  NaiveValues v;
  std::map<std::string, NaiveOperand> operands;
  int64_t cycles = 0;
};

// "" or what is wrong. All operands lie in `memory`.
std::string ComputeNaive(const NaiveJob& job, std::string& memory);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_JOB_H_
