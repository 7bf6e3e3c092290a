#ifndef EK_TESTS_CONFORMANCE_ONNX_OPERATOR_LIST_H_
#define EK_TESTS_CONFORMANCE_ONNX_OPERATOR_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::tests {

// An operator of the standard.
struct OperatorLine {
  std::string name;
  int since = 0;     // The op set that introduced it.
  std::string note;  // What limits our support, or why there is none.
};

// Reads "name op-set: note" lines, ": note" left out if there is none; "#"
// starts a comment. INVALID_ARGUMENT for other lines.
absl::StatusOr<std::vector<OperatorLine>> ParseOperatorList(
    absl::string_view text);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CONFORMANCE_ONNX_OPERATOR_LIST_H_
