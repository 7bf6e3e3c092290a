#ifndef EK_COMPILER_FRONTEND_ONNX_EXTERNAL_DATA_H_
#define EK_COMPILER_FRONTEND_ONNX_EXTERNAL_DATA_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler::onnx_import {

// Values that a model keeps in files beside it. Tensors may share them, but a
// small model that names a file over and over, a little shifted each time, must
// not become a large graph: what they name together is at most twice what the
// files hold, whatever is named again counted once.
//
// Borrows the files. Not thread-safe.
class ExternalData {
 public:
  // By the location that the model gives them.
  using Files = std::map<std::string, absl::string_view>;

  explicit ExternalData(const Files& files);

  // INVALID_ARGUMENT for a file whose location no tensor of the model names:
  // whoever gave it expects an effect.
  absl::Status CheckAllAreNamed(const onnx::ModelProto& model) const;

  // The values of a tensor of that many bytes, in its file and perhaps not
  // aligned. INVALID_ARGUMENT if they are not there or too much.
  absl::StatusOr<absl::string_view> Values(const onnx::TensorProto& proto,
                                           absl::string_view name,
                                           int64_t bytes);

 private:
  const Files& files_;
  std::set<std::pair<const char*, size_t>> ranges_;  // Given out.
  int64_t named_bytes_ = 0;                          // Of all ranges.
  int64_t max_named_bytes_ = 0;
};

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_EXTERNAL_DATA_H_
