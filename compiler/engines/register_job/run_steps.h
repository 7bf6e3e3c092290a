#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_RUN_STEPS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_RUN_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/engines/backend.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

// For tests: does what the steps of a region say on the memories of a
// ToyMachine(), values only.
namespace edgekiln::compiler::register_job {

struct Memories {
  std::vector<std::string> bytes;  // By memory, from its base address on.
};

// A job works when somebody first waits for it, at the latest possible time:
// what is overwritten too early shows in its results. A load that nobody wrote
// has rubbish.
void RunSteps(const v1::Machine& machine, const v1::RegionPlan& plan,
              const RegionCode& code, Memories& memories);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_RUN_STEPS_H_
