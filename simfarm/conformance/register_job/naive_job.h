#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_JOB_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_JOB_H_

// Section 5 of docs/targets/register_job.md, element by element.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgekiln/v1/target.pb.h"

namespace edgekiln::simfarm::conformance::register_job {

using NaiveValues = std::map<std::string, int64_t>;

struct NaiveCells {
  int64_t rows = 0;  // Padding included.
  int64_t columns = 0;
  bool last_row_first = false;
  int64_t sign_rows = 0;  // 0: no sign is another.
  int64_t sign_columns = 0;
  std::vector<uint32_t> sign_masks;
};

struct NaiveOperand {
  struct Term {
    int64_t axis = 0;
    int64_t divide = 1;
    int64_t modulo = 0;  // 0: none.
    int64_t stride = 0;
  };
  std::vector<int64_t> extents;
  int32_t memory = 0;   // Of the machine.
  int64_t address = 0;  // From that memory's base.
  int64_t size = 0;     // The room that it is given.
  int64_t end = 0;      // Up to the last element, in whole groups.
  int64_t bytes = 1;    // Of an element.
  int64_t group = 0;    // Of reversed bytes; 0: none.
  std::vector<Term> terms;
  std::optional<NaiveCells> cells;  // In place of terms.
};

// Where byte `at` of the terms lies, from the operand's first one.
int64_t NaivePlace(int64_t at, int64_t group);

struct NaiveJob {
  v1::RegisterJobs::Kernel kernel = v1::RegisterJobs::KERNEL_UNSPECIFIED;
  v1::RegisterJobs::Results results = v1::RegisterJobs::BY_TABLE;
  v1::WeightValues weights = v1::WEIGHTS_ANY;  // Others are an error.
  NaiveValues v;
  std::map<std::string, NaiveOperand> operands;
  int64_t cycles = 0;
};

// By memory of the machine: all of its bytes.
using NaiveMemories = std::vector<std::string*>;

// "" or what is wrong. All operands lie in their memories.
std::string ComputeNaive(const NaiveJob& job, const NaiveMemories& memories);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_JOB_H_
