#include "compiler/codegen/c/testing/op_cases.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/testing/op_maker.h"

namespace edgekiln::compiler {
namespace {

// "kind/FUNCTION" for all values of an enum but the first.
template <typename IsValid, typename Name>
void AddFunctions(const std::string& kind, const IsValid& is_valid,
                  const Name& name, std::vector<std::string>& kinds) {
  for (int f = 1; is_valid(f); ++f) {
    kinds.push_back(absl::StrCat(kind, "/", name(f)));
  }
}

}  // namespace

std::vector<std::string> OpCases::Kinds() {
  std::vector<std::string> kinds;
  const auto* fields = v1::OpAttributes::descriptor()->FindOneofByName("op");
  for (int i = 0; i < fields->field_count(); ++i) {
    const std::string kind = fields->field(i)->name();
    if (kind == "unary") {
      AddFunctions(
          kind, v1::Unary::Function_IsValid,
          [](int f) {
            return v1::Unary::Function_Name(
                static_cast<v1::Unary::Function>(f));
          },
          kinds);
    } else if (kind == "binary") {
      AddFunctions(
          kind, v1::Binary::Function_IsValid,
          [](int f) {
            return v1::Binary::Function_Name(
                static_cast<v1::Binary::Function>(f));
          },
          kinds);
    } else if (kind == "reduce") {
      AddFunctions(
          kind, v1::Reduce::Function_IsValid,
          [](int f) {
            return v1::Reduce::Function_Name(
                static_cast<v1::Reduce::Function>(f));
          },
          kinds);
    } else {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

bool OpCases::Add(const std::string& kind, v1::ElementType type) {
  Graph tried = graph_;
  const size_t tensors = tried.tensors.size();
  if (!OpMaker(tried, random_, type).Make(kind)) return false;
  // Only what is new is checked: graphs are of many ops.
  Graph alone;
  alone.name = "alone";
  const auto shift = [tensors](TensorId id) {
    return id == kNoTensor ? id : id - static_cast<TensorId>(tensors);
  };
  alone.tensors.assign(tried.tensors.begin() + static_cast<int64_t>(tensors),
                       tried.tensors.end());
  for (size_t i = graph_.ops.size(); i < tried.ops.size(); ++i) {
    Op op = tried.ops[i];
    for (TensorId& id : op.inputs) id = shift(id);
    for (TensorId& id : op.outputs) id = shift(id);
    alone.ops.push_back(std::move(op));
  }
  for (size_t i = graph_.inputs.size(); i < tried.inputs.size(); ++i) {
    alone.inputs.push_back(shift(tried.inputs[i]));
  }
  if (alone.ops.empty() || !VerifyGraph(alone).ok()) return false;
  graph_ = std::move(tried);
  return true;
}

Graph OpCases::Take() {
  for (const Op& op : graph_.ops) {
    for (const TensorId id : op.outputs) graph_.outputs.push_back(id);
  }
  return std::exchange(graph_, Graph{});
}

std::map<std::string, std::set<v1::ElementType>> AcceptedCases(int attempts) {
  std::map<std::string, std::set<v1::ElementType>> accepted;
  uint64_t seed = 0;
  for (const std::string& kind : OpCases::Kinds()) {
    for (int t = v1::FLOAT32; v1::ElementType_IsValid(t); ++t) {
      const auto type = static_cast<v1::ElementType>(t);
      for (int i = 0; i < attempts; ++i) {
        if (!OpCases(++seed).Add(kind, type)) continue;
        accepted[kind].insert(type);
        break;
      }
    }
  }
  return accepted;
}

absl::StatusOr<std::vector<Graph>> GraphsOfAllCases(int ops_per_graph,
                                                    uint64_t seed) {
  constexpr int kAttempts = 60;
  std::vector<std::pair<std::string, v1::ElementType>> pairs;
  for (const auto& [kind, types] : AcceptedCases(kAttempts)) {
    for (const v1::ElementType type : types) pairs.emplace_back(kind, type);
  }
  std::vector<Graph> graphs;
  // Neighbours in the list are of one kind: far ones go together.
  const size_t count = (pairs.size() + ops_per_graph - 1) / ops_per_graph;
  for (size_t g = 0; g < count; ++g) {
    OpCases cases(++seed);
    for (size_t i = g; i < pairs.size(); i += count) {
      bool added = false;
      for (int attempt = 0; attempt < 1000 && !added; ++attempt) {
        added = cases.Add(pairs[i].first, pairs[i].second);
      }
      if (!added) {
        return absl::InternalError(absl::StrCat(
            pairs[i].first, " of ", v1::ElementType_Name(pairs[i].second)));
      }
    }
    graphs.push_back(cases.Take());
  }
  return graphs;
}

}  // namespace edgekiln::compiler
