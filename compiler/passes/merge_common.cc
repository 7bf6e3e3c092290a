// Ops that compute the same of the same become one, constants with the same
// values too.

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

// Type, shape and quantization of a tensor as bytes.
std::string TypeKey(const Tensor& tensor) {
  std::string key = absl::StrCat(static_cast<int>(tensor.type), "[");
  for (const int64_t extent : tensor.shape) absl::StrAppend(&key, extent, ",");
  key += "]";
  if (!tensor.quantization.has_value()) return key;
  const Quantization& q = *tensor.quantization;
  absl::StrAppend(&key, q.axis, "/", q.scale.size(), "/");
  key.append(reinterpret_cast<const char*>(q.scale.data()),
             q.scale.size() * sizeof(float));
  key.append(reinterpret_cast<const char*>(q.zero_point.data()),
             q.zero_point.size() * sizeof(int32_t));
  return key;
}

// What an op computes: its attributes, inputs, and the types it gives.
std::string OpKey(const Graph& graph, const Op& op) {
  std::string key = absl::StrCat(static_cast<int>(op.attributes.op_case()), ":",
                                 op.attributes.SerializeAsString());
  for (const TensorId input : op.inputs) absl::StrAppend(&key, ",", input);
  for (const TensorId output : op.outputs) {
    absl::StrAppend(&key, ";", TypeKey(graph.tensors[output]));
  }
  return key;
}

class MergeCommon : public Pass {
 public:
  absl::string_view name() const override { return "merge-common"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    MergeConstants(editor);
    std::map<std::string, int32_t> seen;
    // In order: what an op reads has been merged before it is looked at.
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      const auto [found, is_new] = seen.emplace(OpKey(graph, graph.ops[i]), i);
      if (is_new || graph.ops[i].outputs.size() != 1) continue;
      const TensorId first = graph.ops[found->second].outputs[0];
      // Graph outputs have names of their own to keep.
      if (editor.is_graph_output(graph.ops[i].outputs[0])) continue;
      editor.ReplaceByInput(i, first);
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  static void MergeConstants(GraphEditor& editor) {
    Graph& graph = editor.graph();
    using Key = std::tuple<std::string, absl::string_view>;
    std::map<Key, TensorId> seen;
    std::vector<TensorId> same(graph.tensors.size());
    for (TensorId id = 0; id < static_cast<TensorId>(same.size()); ++id) {
      same[id] = id;
      const Tensor& tensor = graph.tensors[id];
      if (!tensor.is_constant() || editor.is_graph_output(id)) continue;
      const Key key(TypeKey(tensor), *tensor.data);
      same[id] = seen.emplace(key, id).first->second;
    }
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      for (size_t k = 0; k < graph.ops[i].inputs.size(); ++k) {
        const TensorId input = graph.ops[i].inputs[k];
        if (input != kNoTensor && same[input] != input) {
          editor.SetInput(i, static_cast<int>(k), same[input]);
        }
      }
    }
  }
};

}  // namespace

std::unique_ptr<Pass> NewMergeCommonPass() {
  return std::make_unique<MergeCommon>();
}

}  // namespace edgekiln::compiler
