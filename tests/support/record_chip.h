#ifndef EK_TESTS_SUPPORT_RECORD_CHIP_H_
#define EK_TESTS_SUPPORT_RECORD_CHIP_H_

// A chip made up for tests (record-chip.txtpb): the host stores a record that
// its engine reads, weights lie in the host's memory with biases between them,
// and bytes are reversed in words of four.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace edgekiln::tests {

using ParameterValue = std::pair<std::string, int64_t>;

// Its descriptor, with values of some of its parameters.
std::string RecordChipText(const std::vector<ParameterValue>& set = {});

// Values with which a byte, a word, a register write, a poll and a
// multiply-accumulate take one cycle each and nothing has a set-up, so that
// cycles can be counted by hand.
std::vector<ParameterValue> RecordChipUnits();

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_RECORD_CHIP_H_
