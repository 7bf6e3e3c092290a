#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_DIANA_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_DIANA_H_

#include "compiler/engines/register_job/testing/toy_machine.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

// For tests: the chip "diana", and networks of one op for its digital array,
// which is engine 0.
namespace edgekiln::compiler::register_job {

const v1::Machine& Diana();

// GraphOf() with results of sums shifted right: by 5, of an addition by 3.
Graph Shifted(const OpSpec& spec);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_DIANA_H_
