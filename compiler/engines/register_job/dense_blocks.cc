#include "compiler/engines/register_job/dense_blocks.h"

#include <algorithm>
#include <vector>

#include "compiler/engines/register_job/constants_in_place.h"
#include "compiler/engines/register_job/placement.h"

namespace edgekiln::compiler::register_job {
namespace {

int64_t BytesOf(const Tensor& tensor) {
  return tensor.num_elements() * ElementBytes(tensor.type);
}

// Bytes of the op's weights as dense blocks; 0 if it cannot have them.
int64_t BlockBytes(const Chip& chip, const Region& region, int32_t op) {
  Region one;
  one.graph = region.graph;
  one.ops = {op};
  one.storage = region.storage;
  const auto placement =
      PlaceOperands(chip, one, chip.ram(), {}, /*dense_blocks=*/true);
  if (!placement.ok()) return 0;
  const auto whole = WholeConstantsOf(*placement);
  return whole.ok() ? whole->bytes : 0;
}

}  // namespace

bool DenseBlocksFit(const Chip& chip, const Region& region) {
  const Graph& graph = *region.graph;
  int64_t constants = 0;
  int64_t activations = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.is_constant()) constants += BytesOf(tensor);
  }
  for (const Op& op : graph.ops) {
    int64_t bytes = 0;
    for (const std::vector<TensorId>* tensors : {&op.inputs, &op.outputs}) {
      for (const TensorId tensor : *tensors) {
        if (tensor == kNoTensor || graph.tensors[tensor].is_constant()) {
          continue;
        }
        bytes += BytesOf(graph.tensors[tensor]);
      }
    }
    activations = std::max(activations, bytes);
  }
  int64_t left =
      chip.machine().memories(chip.flash()).capacity_bytes() - constants;
  if (chip.flash() == chip.ram()) left -= activations;
  for (int32_t op = 0; op <= region.ops[0]; ++op) {
    if (!graph.ops[op].attributes.has_depthwise_conv2d()) continue;
    left -= BlockBytes(chip, region, op);
  }
  return left >= 0;
}

}  // namespace edgekiln::compiler::register_job
