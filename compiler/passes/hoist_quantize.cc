// quantize(max_pool(x)) -> max_pool(quantize(x)): so that a Quantize stands
// right behind the op whose result it rounds. Exact: rounding is increasing.

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/tensor_views.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/pass.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

class HoistQuantize : public Pass {
 public:
  absl::string_view name() const override { return "hoist-quantize"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    FreshNames names(graph);
    const std::vector<int32_t> producers = Producers(graph);
    const std::vector<std::vector<int32_t>> readers = Consumers(graph);
    std::vector<bool> is_output(graph.tensors.size(), false);
    for (const TensorId id : graph.outputs) is_output[id] = true;
    bool changed = false;
    // From the end, so that one op after another changes places with it.
    for (size_t i = graph.ops.size(); i-- > 0;) {
      if (!graph.ops[i].attributes.has_quantize()) continue;
      const TensorId chosen = graph.ops[i].inputs[0];
      const int32_t before = producers[chosen];
      if (before < 0 || is_output[chosen] || readers[chosen].size() != 1 ||
          graph.tensors[chosen].type != v1::FLOAT32 ||
          !ChoosesValues(graph.ops[before])) {
        continue;
      }
      changed |= Swap(graph, names, graph.ops[before], graph.ops[i]);
    }
    return changed ? Changed::kYes : Changed::kNo;
  }

 private:
  // The two ops change places; false if the one that chooses takes no integers
  // of this type.
  static bool Swap(Graph& graph, FreshNames& names, Op& chooser, Op& quantize) {
    const Tensor& output = graph.tensors[quantize.outputs[0]];
    if (output.quantization->per_channel()) return false;
    const TensorId real = chooser.inputs[0];
    Tensor integers = graph.tensors[real];
    integers.name = names.TensorName(absl::StrCat(integers.name, ".quantized"));
    integers.type = output.type;
    integers.quantization = output.quantization;
    integers.data = {};
    std::vector<ops::TensorView> views = ViewsOf(graph, chooser.inputs);
    views[0] = ViewOf(integers);
    if (!ops::CheckOp(chooser.attributes, views, {ViewOf(output)}).ok()) {
      return false;
    }
    const TensorId between = static_cast<TensorId>(graph.tensors.size());
    graph.tensors.push_back(std::move(integers));
    chooser.inputs[0] = between;
    chooser.outputs = quantize.outputs;
    quantize.inputs = {real};
    quantize.outputs = {between};
    std::swap(chooser, quantize);
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> NewHoistQuantizePass() {
  return std::make_unique<HoistQuantize>();
}

}  // namespace edgekiln::compiler
