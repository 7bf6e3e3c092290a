#include "testing/tiny_vector/conformance/tiny_case.h"

namespace edgekiln::simfarm::conformance::tiny_vector {
namespace {

void Put(std::string& code, Opcode opcode, uint8_t index, int64_t immediate) {
  code.push_back(static_cast<char>(opcode));
  code.push_back(static_cast<char>(index));
  code.append(2, '\0');
  for (int byte = 0; byte < 4; ++byte) {
    code.push_back(static_cast<char>(immediate >> (8 * byte) & 0xff));
  }
}

}  // namespace

void Write(std::string& code, Opcode opcode,
           const std::vector<std::pair<Index, int64_t>>& registers) {
  for (const auto& [index, value] : registers) {
    Put(code, kRegWrite, index, value);
  }
  Put(code, opcode, 0, 0);
}

}  // namespace edgekiln::simfarm::conformance::tiny_vector
