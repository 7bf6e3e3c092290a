#include "compiler/frontend/onnx/model_error.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr int kMaxNameBytes = 4096;

absl::Status ModelError(absl::StatusCode code, std::string reason,
                        std::string what, std::string where, std::string limit,
                        std::string fix) {
  return MakeError(code, {.fault = Fault::kUser,
                          .reason = std::move(reason),
                          .what = std::move(what),
                          .where = std::move(where),
                          .limit = std::move(limit),
                          .fix = std::move(fix)});
}

}  // namespace

absl::Status InvalidModel(std::string what, std::string where) {
  return ModelError(absl::StatusCode::kInvalidArgument, "MODEL_INVALID",
                    std::move(what), std::move(where), "",
                    "check the model with onnx.checker and export it again");
}

absl::Status UnsupportedModel(std::string reason, std::string what,
                              std::string where, std::string limit,
                              std::string fix) {
  return ModelError(absl::StatusCode::kUnimplemented, std::move(reason),
                    std::move(what), std::move(where), std::move(limit),
                    std::move(fix));
}

absl::Status ModelTooLarge(std::string what, std::string where,
                           std::string limit) {
  return ModelError(absl::StatusCode::kInvalidArgument, "MODEL_TOO_LARGE",
                    std::move(what), std::move(where), std::move(limit),
                    "use a smaller model");
}

absl::Status CheckName(const std::string& name) {
  if (SanitizeText(name, kMaxNameBytes) == name) return absl::OkStatus();
  return InvalidModel(absl::StrCat("a name is longer than ", kMaxNameBytes,
                                   " bytes or no printable UTF-8"),
                      absl::StrCat("name '", name, "'"));
}

}  // namespace edgekiln::compiler::onnx_import
