#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_RUN_STEPS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_RUN_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/engines/backend.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

// For tests: executes the steps of a region on the memories of a ToyMachine();
// values only, no cycles.
namespace edgekiln::compiler::register_job {

struct Memories {
  std::vector<std::string> bytes;  // By memory, from its base address on.
};

// A job executes as late as possible, when a step first waits for it, so that
// operands overwritten too early change its results. Bytes that nothing wrote
// hold garbage.
void RunSteps(const v1::Machine& machine, const v1::RegionPlan& plan,
              const RegionCode& code, Memories& memories);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_RUN_STEPS_H_
