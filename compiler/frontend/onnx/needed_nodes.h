#ifndef EK_COMPILER_FRONTEND_ONNX_NEEDED_NODES_H_
#define EK_COMPILER_FRONTEND_ONNX_NEEDED_NODES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"

// Which nodes of a graph or function count: the rest is not converted.
namespace edgekiln::compiler::onnx_import {

inline bool IsDefaultDomain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

// Operators of the default domain that GraphWalk itself puts other nodes in
// place of; they have no converter.
inline bool IsControlFlow(absl::string_view op_type) {
  return op_type == "If" || op_type == "Loop" || op_type == "Scan";
}

// Calls `use` with every value that a node reads, also from inside the graphs
// in its attributes.
template <typename Use>
void ForEachInput(const onnx::NodeProto& node, const Use& use) {
  for (const std::string& input : node.input()) use(input);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const auto& output : attribute.g().output()) use(output.name());
    for (const onnx::NodeProto& inner : attribute.g().node()) {
      ForEachInput(inner, use);
    }
  }
}

// Which of the nodes some output needs.
template <typename Nodes>
std::vector<bool> NeededNodes(const Nodes& nodes,
                              const std::vector<std::string>& outputs) {
  std::map<std::string, int> producer;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes.Get(i).output()) {
      if (!output.empty()) producer.emplace(output, i);
    }
  }
  std::vector<bool> needed(static_cast<size_t>(nodes.size()), false);
  std::vector<int> pending;
  const auto need = [&](const std::string& value) {
    const auto found = producer.find(value);
    if (found == producer.end() || needed[found->second]) return;
    needed[found->second] = true;
    pending.push_back(found->second);
  };
  for (const std::string& output : outputs) need(output);
  while (!pending.empty()) {
    const int i = pending.back();
    pending.pop_back();
    ForEachInput(nodes.Get(i), need);
  }
  return needed;
}

template <typename Outputs>
std::vector<std::string> OutputNames(const Outputs& outputs) {
  std::vector<std::string> names;
  for (const auto& output : outputs) names.push_back(output.name());
  return names;
}

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_NEEDED_NODES_H_
