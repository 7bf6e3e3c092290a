#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

// What a weight of zero is stored as; empty if not every type of it is known.
std::optional<char> ZeroOf(const Tensor& weights, int64_t output) {
  if (weights.type == v1::FLOAT32) return '\0';
  if (weights.type != v1::INT8 && weights.type != v1::UINT8) {
    return std::nullopt;
  }
  if (!weights.quantization) return '\0';
  const Quantization& q = *weights.quantization;
  return static_cast<char>(
      q.zero_point[q.per_channel() && q.axis == 0 ? output : 0]);
}

// Weights [O,KH,KW,C/G] as [O,KH,KW,C], zero outside each group; empty if the
// result would be too large.
std::optional<Tensor> Dense(const Tensor& weights, int64_t groups,
                            int64_t max_bytes) {
  const std::optional<int64_t> bytes =
      CheckedMul(static_cast<int64_t>(weights.data->size()), groups);
  if (!bytes.has_value() || *bytes > max_bytes) return std::nullopt;
  const int64_t outputs = weights.shape[0];
  const int64_t window = weights.shape[1] * weights.shape[2];
  const int64_t run = weights.shape[3] * ElementBytes(weights.type);
  std::string data(static_cast<size_t>(*bytes), '\0');
  for (int64_t o = 0; o < outputs; ++o) {
    const std::optional<char> zero = ZeroOf(weights, o);
    if (!zero.has_value()) return std::nullopt;
    const int64_t group = o / (outputs / groups);
    char* row = data.data() + o * window * groups * run;
    std::memset(row, *zero, static_cast<size_t>(window * groups * run));
    for (int64_t k = 0; k < window; ++k) {
      std::memcpy(row + (k * groups + group) * run,
                  weights.data->data() + (o * window + k) * run,
                  static_cast<size_t>(run));
    }
  }
  Tensor dense = weights;
  dense.shape[3] *= groups;
  dense.data = std::make_shared<const std::string>(std::move(data));
  return dense;
}

// A convolution in groups -> a dense one whose weights are zero outside the
// groups. Only for engines that know no groups: the work grows with them.
class UngroupConvolutions : public Pass {
 public:
  absl::string_view name() const override { return "ungroup-convolutions"; }

  absl::StatusOr<Changed> Run(const PassContext& context,
                              Graph& graph) const override {
    GraphEditor editor(graph);
    bool changed = false;
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      Op& op = graph.ops[i];
      if (!op.attributes.has_conv2d()) continue;
      const int64_t groups = op.attributes.conv2d().groups();
      const Tensor& weights = graph.tensors[op.inputs[1]];
      if (groups <= 1 || !weights.is_constant()) continue;
      std::optional<Tensor> dense =
          Dense(weights, groups, context.max_folded_constant_bytes);
      if (!dense.has_value()) continue;
      editor.SetInput(i, 1, editor.AddTensor(*std::move(dense)));
      graph.ops[i].attributes.mutable_conv2d()->clear_groups();
      changed = true;
    }
    editor.Finish();
    return changed ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewUngroupConvolutionsPass() {
  return std::make_unique<UngroupConvolutions>();
}

}  // namespace edgekiln::compiler
