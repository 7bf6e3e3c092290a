#include "target/host_cost.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"

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

// Multiply-accumulates per element of the output; 1 for ops without.
absl::StatusOr<int64_t> MacsPerOutput(
    const v1::OpAttributes& attributes,
    absl::Span<const v1::TensorType* const> inputs) {
  const auto extent = [](const v1::TensorType& type, int i) {
    return i < type.shape_size() ? type.shape(i) : int64_t{1};
  };
  if (inputs.size() < 2 || inputs[0] == nullptr || inputs[1] == nullptr) {
    return 1;
  }
  const v1::TensorType& weight = *inputs[1];
  int64_t extents[3] = {1, 1, 1};
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
      extents[2] = extent(weight, 3);
      [[fallthrough]];
    case v1::OpAttributes::kDepthwiseConv2D:
      extents[0] = extent(weight, 1);
      extents[1] = extent(weight, 2);
      break;
    case v1::OpAttributes::kFullyConnected:
      extents[0] = extent(weight, 1);
      break;
    case v1::OpAttributes::kMatMul:
      extents[0] = extent(*inputs[0], std::max(0, inputs[0]->shape_size() - 1));
      break;
    default:
      break;
  }
  const auto product = CheckedProduct(extents);
  if (!product) return TooLarge("the number of multiply-accumulates");
  return *product;
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
  for (const v1::TensorType* input : inputs) {
    if (input == nullptr) continue;
    EK_ASSIGN_OR_RETURN(const int64_t elements, Elements(*input));
    largest = std::max(largest, elements);
  }
  EK_ASSIGN_OR_RETURN(const int64_t macs, MacsPerOutput(attributes, inputs));
  for (const v1::TensorType* output : outputs) {
    if (output == nullptr) continue;
    EK_ASSIGN_OR_RETURN(const int64_t elements, Elements(*output));
    const auto work = CheckedMul(elements, macs);
    if (!work) return TooLarge("the number of multiply-accumulates");
    largest = std::max(largest, *work);
  }
  return largest;
}

absl::string_view OpAttributesName(const v1::OpAttributes& attributes) {
  const google::protobuf::FieldDescriptor* field =
      v1::OpAttributes::descriptor()->FindFieldByNumber(attributes.op_case());
  return field == nullptr ? absl::string_view()
                          : absl::string_view(field->name());
}

}  // namespace edgekiln::target
