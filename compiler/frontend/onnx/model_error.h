#ifndef EK_COMPILER_FRONTEND_ONNX_MODEL_ERROR_H_
#define EK_COMPILER_FRONTEND_ONNX_MODEL_ERROR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Errors about a model as a whole; those about a node are made by Node.
namespace edgekiln::compiler::onnx_import {

inline constexpr int kMaxNodes = 100'000;

// INVALID_ARGUMENT for what no ONNX model may be.
absl::Status InvalidModel(std::string what, std::string where);
// UNIMPLEMENTED.
absl::Status UnsupportedModel(std::string reason, std::string what,
                              std::string where, std::string limit,
                              std::string fix);
// INVALID_ARGUMENT.
absl::Status ModelTooLarge(std::string what, std::string where,
                           std::string limit);

// Of a tensor and its values.
absl::Status TensorError(absl::StatusCode code, absl::string_view name,
                         std::string what, std::string fix);

// INVALID_ARGUMENT for an option that does not fit the model.
absl::Status BadBinding(std::string what, std::string where, std::string need,
                        std::string fix);

// "one of 'N', 'x:2'"; as many as a person reads.
std::string OneOf(const std::vector<std::string>& names);

// INVALID_ARGUMENT for a name that is too long to travel in messages.
absl::Status CheckName(const std::string& name);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_MODEL_ERROR_H_
