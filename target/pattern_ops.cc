#include "target/pattern_ops.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "target/op_variables.h"

namespace edgekiln::target {
namespace {

const google::protobuf::OneofDescriptor& Ops() {
  return *v1::OpAttributes::descriptor()->FindOneofByName("op");
}

}  // namespace

std::optional<OpCase> FindOp(absl::string_view name) {
  const auto* const field =
      v1::OpAttributes::descriptor()->FindFieldByName(std::string(name));
  if (field == nullptr || field->containing_oneof() != &Ops()) {
    return std::nullopt;
  }
  return static_cast<OpCase>(field->number());
}

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  for (int i = 0; i < Ops().field_count(); ++i) {
    names.push_back(Ops().field(i)->name());
  }
  return names;
}

bool HasWeights(OpCase op) {
  return op == OpCase::kConv2D || op == OpCase::kDepthwiseConv2D ||
         op == OpCase::kFullyConnected || op == OpCase::kConv3D ||
         op == OpCase::kTransposedConv;
}

bool HasSums(OpCase op) {
  return HasWeights(op) || op == OpCase::kAveragePool2D;
}

bool KeepsQuantization(OpCase op) {
  return op == OpCase::kAveragePool2D || op == OpCase::kMaxPool2D;
}

bool Requantizes(OpCase op) {
  return HasWeights(op) || op == OpCase::kAdd || op == OpCase::kMul ||
         op == OpCase::kRequantize;
}

std::string ChainName(const v1::OpPattern& pattern) {
  return absl::StrJoin(pattern.ops(), ", ");
}

std::string VariablePrefix(const v1::OpPattern& pattern, int position) {
  if (position == 0) return "";
  const std::string& op = pattern.ops(position);
  int nth = 1;
  for (int i = 0; i < position; ++i) {
    if (pattern.ops(i) == op) ++nth;
  }
  return nth == 1 ? absl::StrCat(op, "_") : absl::StrCat(op, nth, "_");
}

std::vector<std::string> ChainVariableNames(const v1::OpPattern& pattern) {
  std::vector<std::string> names;
  for (int i = 0; i < pattern.ops_size(); ++i) {
    const std::string prefix = VariablePrefix(pattern, i);
    for (const std::string& name : OpVariableNames()) {
      names.push_back(absl::StrCat(prefix, name));
    }
  }
  return names;
}

}  // namespace edgekiln::target
