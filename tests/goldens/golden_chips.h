#ifndef EK_TESTS_GOLDENS_GOLDEN_CHIPS_H_
#define EK_TESTS_GOLDENS_GOLDEN_CHIPS_H_

#include <string>
#include <vector>

namespace edgekiln::tests {

struct GoldenChip {
  std::string name;
  std::string descriptor;  // As target::ResolveTarget() takes it.
};

// The twelve presets of the DLA, then the descriptors of tests/goldens/chips.
std::vector<GoldenChip> GoldenChips();

}  // namespace edgekiln::tests

#endif  // EK_TESTS_GOLDENS_GOLDEN_CHIPS_H_
