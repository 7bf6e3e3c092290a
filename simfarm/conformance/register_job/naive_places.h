#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_PLACES_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_PLACES_H_

// Section 4 of docs/targets/register_job.md, index by index.

#include <cstdint>
#include <string>
#include <vector>

#include "simfarm/conformance/register_job/naive_job.h"

namespace edgekiln::simfarm::conformance::register_job {

std::vector<int64_t> ExtentsOf(const std::string& name, NaiveJob& job);

// One past the last byte of its elements, before reversal.
int64_t EndOf(const NaiveOperand& operand);

// Whether each element of one lies where that of the other does.
bool LiesInPlace(const NaiveOperand& in, const NaiveOperand& out);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_PLACES_H_
