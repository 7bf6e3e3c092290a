#include "target/host_cost.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "target/macs.h"

namespace edgekiln::target {
namespace {

absl::StatusOr<int64_t> Elements(const v1::TensorType& type) {
  const auto count = CheckedProduct(
      absl::MakeConstSpan(type.shape().data(), type.shape_size()));
  if (count) return *count;
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "SHAPE_INVALID",
                    .what = "a shape is negative or too large",
                    .where = absl::StrCat("tensor ", type.name())});
}

absl::Status TooLarge(absl::string_view what) {
  return MakeError(absl::StatusCode::kOutOfRange,
                   {.reason = "HOST_COST_OVERFLOW",
                    .what = absl::StrCat(what, " does not fit 64 bits")});
}

ShapeSpan ShapeOf(const v1::TensorType* type) {
  if (type == nullptr) return {};
  return {type->shape().data(), static_cast<size_t>(type->shape_size())};
}

}  // namespace

absl::StatusOr<int64_t> HostCycles(const v1::Machine& machine,
                                   absl::string_view op, int64_t elements) {
  const v1::Machine::HostClass* found = nullptr;
  for (const v1::Machine::HostClass& candidate : machine.host_costs()) {
    if (candidate.op() == op ||
        (found == nullptr && candidate.op() == "default")) {
      found = &candidate;
    }
  }
  if (found == nullptr) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "TARGET_INVALID",
                      .what = "the host has no cost class",
                      .where = absl::StrCat("op ", op),
                      .fix = "add costs { op: \"default\" ... } to the host"});
  }
  const auto product = CheckedMul(elements, found->cycles_per_element());
  if (!product) return TooLarge("the host cycles of one op");
  const auto total = CheckedAdd(*product, found->cycles_per_call());
  if (!total) return TooLarge("the host cycles of one op");
  return *total;
}

absl::StatusOr<int64_t> HostElements(
    const v1::OpAttributes& attributes,
    absl::Span<const v1::TensorType* const> inputs,
    absl::Span<const v1::TensorType* const> outputs) {
  int64_t largest = 0;
  std::vector<ShapeSpan> shapes[2];
  for (const v1::TensorType* input : inputs)
    shapes[0].push_back(ShapeOf(input));
  for (const v1::TensorType* output : outputs) {
    shapes[1].push_back(ShapeOf(output));
  }
  for (const auto operands : {inputs, outputs}) {
    for (const v1::TensorType* operand : operands) {
      if (operand == nullptr) continue;
      EK_ASSIGN_OR_RETURN(const int64_t elements, Elements(*operand));
      largest = std::max(largest, elements);
    }
  }
  const std::optional<int64_t> macs =
      MultiplyAccumulates(attributes, shapes[0], shapes[1]);
  if (!macs) return TooLarge("the number of multiply-accumulates");
  return std::max(largest, *macs);
}

absl::string_view OpAttributesName(const v1::OpAttributes& attributes) {
  const google::protobuf::FieldDescriptor* field =
      v1::OpAttributes::descriptor()->FindFieldByNumber(attributes.op_case());
  return field == nullptr ? absl::string_view()
                          : absl::string_view(field->name());
}

}  // namespace edgekiln::target
