#include "target/pattern_ops.h"

#include <functional>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "target/op_variables.h"

namespace edgekiln::target {
namespace {

const google::protobuf::OneofDescriptor& Ops() {
  return *v1::OpAttributes::descriptor()->FindOneofByName("op");
}

// Calls `visit` with the name of each function of Unary and Binary, and what it
// stands for.
template <typename Visit>
void ForFunctions(const Visit& visit) {
  const struct {
    OpCase kind;
    const google::protobuf::EnumDescriptor* functions;
  } kOps[] = {{OpCase::kUnary, v1::Unary::Function_descriptor()},
              {OpCase::kBinary, v1::Binary::Function_descriptor()}};
  for (const auto& op : kOps) {
    for (int i = 0; i < op.functions->value_count(); ++i) {
      const auto& value = *op.functions->value(i);
      if (value.number() == 0) continue;
      visit(absl::AsciiStrToLower(value.name()),
            PatternOp{op.kind, value.number()});
    }
  }
}

using OpsByName = std::map<std::string, PatternOp, std::less<>>;

OpsByName AllOps() {
  OpsByName all;
  for (int i = 0; i < Ops().field_count(); ++i) {
    const auto& field = *Ops().field(i);
    all.emplace(field.name(), PatternOp{static_cast<OpCase>(field.number())});
  }
  ForFunctions([&](const std::string& function, const PatternOp& op) {
    all.emplace(function, op);
  });
  return all;
}

// The function of a Unary or Binary; 0 for other ops.
int FunctionOf(const v1::OpAttributes& attributes) {
  switch (attributes.op_case()) {
    case OpCase::kUnary:
      return attributes.unary().function();
    case OpCase::kBinary:
      return attributes.binary().function();
    default:
      return 0;
  }
}

}  // namespace

bool PatternOp::Matches(const v1::OpAttributes& attributes) const {
  return attributes.op_case() == kind &&
         (function == 0 || FunctionOf(attributes) == function);
}

std::optional<PatternOp> FindPatternOp(absl::string_view name) {
  static const auto& all = *new OpsByName(AllOps());
  const auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  return found->second;
}

std::optional<OpCase> FindOp(absl::string_view name) {
  const std::optional<PatternOp> found = FindPatternOp(name);
  if (!found) return std::nullopt;
  return found->kind;
}

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  for (int i = 0; i < Ops().field_count(); ++i) {
    names.push_back(Ops().field(i)->name());
  }
  ForFunctions([&](const std::string& function, const PatternOp&) {
    names.push_back(function);
  });
  return names;
}

std::string PatternOpName(const v1::OpAttributes& attributes) {
  std::string name;
  ForFunctions([&](const std::string& function, const PatternOp& op) {
    if (op.Matches(attributes)) name = function;
  });
  if (!name.empty() || attributes.op_case() == OpCase::OP_NOT_SET) return name;
  return v1::OpAttributes::descriptor()
      ->FindFieldByNumber(attributes.op_case())
      ->name();
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

bool MayKeepQuantization(OpCase op) {
  return op == OpCase::kClip || op == OpCase::kUnary || op == OpCase::kBinary;
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
  names.reserve(static_cast<size_t>(pattern.ops_size()) *
                OpVariableNames().size());
  for (int i = 0; i < pattern.ops_size(); ++i) {
    const std::string prefix = VariablePrefix(pattern, i);
    if (prefix.empty()) {
      names.insert(names.end(), OpVariableNames().begin(),
                   OpVariableNames().end());
      continue;
    }
    for (const std::string& name : OpVariableNames()) {
      names.push_back(absl::StrCat(prefix, name));
    }
  }
  return names;
}

}  // namespace edgekiln::target
