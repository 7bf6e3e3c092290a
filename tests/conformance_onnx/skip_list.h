#ifndef EK_TESTS_CONFORMANCE_ONNX_SKIP_LIST_H_
#define EK_TESTS_CONFORMANCE_ONNX_SKIP_LIST_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::tests {

// Reads "suite/case: reason" lines; "#" starts a comment. INVALID_ARGUMENT for
// a line without a reason or a case that is named twice.
absl::StatusOr<std::map<std::string, std::string>> ParseSkipList(
    absl::string_view text);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CONFORMANCE_ONNX_SKIP_LIST_H_
