#ifndef EK_TESTS_CHIPS_CASE_PARTS_H_
#define EK_TESTS_CHIPS_CASE_PARTS_H_

// What several rows of ChipCases() are made of.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "edgekiln/v1/target.pb.h"
#include "tests/chips/chip_cases.h"

namespace edgekiln::tests {

// Any of the values, at least one.
template <typename Value>
Value OneOf(Rng& rng, const std::vector<Value>& values) {
  return values.at(rng.InRange(0, static_cast<int64_t>(values.size()) - 1));
}

// Parameters of a descriptor, by name.
using Settings = std::vector<std::pair<std::string, int64_t>>;

// A line of a descriptor for each.
std::string SettingsText(const Settings& settings);

// A target that extends the built-in one of that name.
v1::ResolvedTarget ExtendingTarget(const std::string& name,
                                   const std::string& settings,
                                   int64_t scratchpad_bytes);

// Networks of layers that every engine with convolutions takes.
std::vector<GraphKind> CommonGraphs();

// Files of the published networks with int8 layers, under shared models/.
std::vector<std::string> PublishedNetworks();

// Register writes of a random chip whose engines the host drives.
RandomCode RandomRegisterWrites(Rng& rng);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_CASE_PARTS_H_
