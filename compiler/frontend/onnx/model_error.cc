#include "compiler/frontend/onnx/model_error.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr size_t kMaxNameBytes = 4096;
constexpr int kShownNameBytes = 64;  // Of one that is longer, without "...".

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

absl::Status TensorError(absl::StatusCode code, absl::string_view name,
                         std::string what, std::string fix) {
  return MakeError(code, {.fault = Fault::kUser,
                          .reason = "MODEL_INVALID",
                          .what = std::move(what),
                          .where = absl::StrCat("tensor '", name, "'"),
                          .fix = std::move(fix)});
}

absl::Status BadBinding(std::string what, std::string where, std::string need,
                        std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BINDING_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .need = std::move(need),
                    .fix = std::move(fix)});
}

std::string OneOf(const std::vector<std::string>& names) {
  constexpr size_t kMaxNamed = 8;
  std::string out = "one of ";
  for (size_t i = 0; i < names.size() && i < kMaxNamed; ++i) {
    absl::StrAppend(&out, i > 0 ? ", " : "", "'", names[i], "'");
  }
  if (names.size() > kMaxNamed) {
    absl::StrAppend(&out, " and ", names.size() - kMaxNamed, " more");
  }
  return out;
}

absl::Status CheckName(const std::string& name) {
  if (name.size() <= kMaxNameBytes) return absl::OkStatus();
  return InvalidModel(
      absl::StrCat("a name is longer than ", kMaxNameBytes, " bytes"),
      absl::StrCat("name '", SanitizeText(name, kShownNameBytes + 3), "'"));
}

}  // namespace edgekiln::compiler::onnx_import
