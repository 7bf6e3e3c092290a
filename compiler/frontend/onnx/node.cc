#include "compiler/frontend/onnx/node.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::onnx_import {

bool Node::has_input(int index) const {
  return index < proto_.input_size() && !proto_.input(index).empty();
}

bool Node::has_output(int index) const {
  return index < proto_.output_size() && !proto_.output(index).empty();
}

absl::string_view Node::main_output() const {
  for (const std::string& output : proto_.output()) {
    if (!output.empty()) return output;
  }
  return "";
}

const onnx::AttributeProto* Node::Find(absl::string_view attribute) const {
  for (const onnx::AttributeProto& candidate : proto_.attribute()) {
    if (candidate.name() == attribute) return &candidate;
  }
  return nullptr;
}

bool Node::Has(absl::string_view attribute) const {
  return Find(attribute) != nullptr;
}

absl::StatusOr<int64_t> Node::Int(absl::string_view attribute,
                                  int64_t fallback) const {
  const onnx::AttributeProto* found = Find(attribute);
  if (found == nullptr) return fallback;
  if (!found->has_i()) {
    return Invalid(
        absl::StrCat("attribute '", attribute, "' is not an integer"));
  }
  return found->i();
}

absl::StatusOr<float> Node::Float(absl::string_view attribute,
                                  float fallback) const {
  const onnx::AttributeProto* found = Find(attribute);
  if (found == nullptr) return fallback;
  if (!found->has_f()) {
    return Invalid(absl::StrCat("attribute '", attribute, "' is not a float"));
  }
  return found->f();
}

absl::StatusOr<std::string> Node::String(absl::string_view attribute,
                                         absl::string_view fallback) const {
  const onnx::AttributeProto* found = Find(attribute);
  if (found == nullptr) return std::string(fallback);
  if (!found->has_s()) {
    return Invalid(absl::StrCat("attribute '", attribute, "' is not a string"));
  }
  return found->s();
}

absl::StatusOr<std::vector<int64_t>> Node::Ints(
    absl::string_view attribute) const {
  const onnx::AttributeProto* found = Find(attribute);
  if (found == nullptr) return std::vector<int64_t>();
  if (found->has_i() || found->has_f() || found->has_s() || found->has_t()) {
    return Invalid(
        absl::StrCat("attribute '", attribute, "' is not a list of integers"));
  }
  return std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

std::vector<float> Node::Floats(absl::string_view attribute) const {
  const onnx::AttributeProto* found = Find(attribute);
  if (found == nullptr) return {};
  return std::vector<float>(found->floats().begin(), found->floats().end());
}

std::vector<std::string> Node::Strings(absl::string_view attribute) const {
  const onnx::AttributeProto* found = Find(attribute);
  if (found == nullptr) return {};
  return std::vector<std::string>(found->strings().begin(),
                                  found->strings().end());
}

absl::StatusOr<bool> Node::Flag(absl::string_view attribute,
                                bool fallback) const {
  EK_ASSIGN_OR_RETURN(const int64_t value, Int(attribute, fallback ? 1 : 0));
  return value != 0;
}

const onnx::GraphProto* Node::GraphAttribute(
    absl::string_view attribute) const {
  const onnx::AttributeProto* found = Find(attribute);
  return found != nullptr && found->has_g() ? &found->g() : nullptr;
}

const onnx::TensorProto* Node::TensorAttribute(
    absl::string_view attribute) const {
  const onnx::AttributeProto* found = Find(attribute);
  return found != nullptr && found->has_t() ? &found->t() : nullptr;
}

absl::Status Node::CheckAttributes(absl::string_view known) const {
  const std::vector<absl::string_view> names =
      absl::StrSplit(known, ' ', absl::SkipEmpty());
  for (const onnx::AttributeProto& attribute : proto_.attribute()) {
    const absl::string_view name = attribute.name();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return Unsupported(absl::StrCat("unknown attribute '", name, "'"),
                         names.empty()
                             ? "this op has no attributes"
                             : absl::StrCat("known attributes: ", known),
                         "export the model without it");
    }
  }
  return absl::OkStatus();
}

std::string Node::Label() const {
  std::string label = op_type();
  if (!proto_.domain().empty() && proto_.domain() != "ai.onnx") {
    label = absl::StrCat(proto_.domain(), ".", op_type());
  }
  if (!name().empty()) absl::StrAppend(&label, " '", name(), "'");
  absl::StrAppend(&label, " (op set ", opset_);
  if (!main_output().empty()) {
    absl::StrAppend(&label, ", output '", main_output(), "'");
  }
  return absl::StrCat(label, ")");
}

absl::Status Node::Unsupported(absl::string_view what, absl::string_view limit,
                               absl::string_view fix) const {
  return MakeError(absl::StatusCode::kUnimplemented,
                   {.fault = Fault::kUser,
                    .reason = "OP_UNSUPPORTED",
                    .what = absl::StrCat(op_type(), ": ", what),
                    .where = Label(),
                    .limit = std::string(limit),
                    .fix = std::string(fix)});
}

absl::Status Node::Invalid(absl::string_view what) const {
  return Invalid(absl::InvalidArgumentError(what));
}

absl::Status Node::TooLarge(absl::string_view what) const {
  return Invalid(
      MakeError(absl::StatusCode::kInvalidArgument,
                {.what = std::string(what),
                 .limit = absl::StrCat(ops::kMaxRank,
                                       " dimensions of at least "
                                       "0, ",
                                       ops::kMaxTensorBytes, " bytes"),
                 .fix = "export with a smaller input"}));
}

absl::Status Node::Invalid(const absl::Status& why) const {
  ErrorDetail detail = GetErrorDetail(why).value_or(
      ErrorDetail{.what = std::string(why.message())});
  detail.fault = Fault::kUser;
  detail.reason = "MODEL_INVALID";
  detail.what = absl::StrCat(op_type(), ": ", detail.what);
  detail.where = Label();
  if (detail.fix.empty()) {
    detail.fix = "check the model with onnx.checker and export it again";
  }
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

}  // namespace edgekiln::compiler::onnx_import
