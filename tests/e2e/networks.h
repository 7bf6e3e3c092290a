#ifndef EK_TESTS_E2E_NETWORKS_H_
#define EK_TESTS_E2E_NETWORKS_H_

// The four published int8 networks, and chips to try them on.

#include <ostream>
#include <string>
#include <vector>

namespace edgekiln::tests {

struct Network {
  const char* name;
  // Ops that no engine takes, in order.
  std::vector<std::string> host_ops;

  std::string model() const {
    return std::string("models/") + name + ".tflite";
  }
  std::string golden() const {
    return std::string("models/golden/") + name + ".tflite.npz";
  }
  friend std::ostream& operator<<(std::ostream& stream, const Network& net) {
    return stream << net.name;
  }
};

inline std::vector<Network> Int8Networks() {
  return {{"resnet8_int8", {"softmax"}},
          {"dscnn_int8", {"softmax"}},
          {"ad_int8", {}},
          {"person_detect_int8", {"softmax"}}};
}

// A chip between the presets, as a user describes it.
inline constexpr char kOwnChip[] =
    "extends: \"dla\"\n"
    "set { name: \"pes\" value: 96 }\n"
    "set { name: \"sram_bytes\" value: 196608 }\n";

}  // namespace edgekiln::tests

#endif  // EK_TESTS_E2E_NETWORKS_H_
