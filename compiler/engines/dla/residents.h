#ifndef EK_COMPILER_ENGINES_DLA_RESIDENTS_H_
#define EK_COMPILER_ENGINES_DLA_RESIDENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/engines/dla/planner.h"
#include "compiler/engines/dla/tiling.h"

namespace edgekiln::compiler::dla {

// Tensors that stay in SRAM: their storages, in order.
using Residents = std::vector<TensorId>;

// Tensors that are made and read within a subgraph. Each may stay in SRAM from
// the layer that makes it to the last one that reads it. Layers are named by
// their index; `keep`: the layer's output stays. `input` must outlive it.
class ResidentTensors {
 public:
  explicit ResidentTensors(const SubgraphInput& input);

  // Layer `l` makes such a tensor.
  bool CanKeep(size_t l) const { return tensors_[l].storage != kNoTensor; }
  // Its storage.
  TensorId MadeBy(size_t l) const { return tensors_[l].storage; }
  bool CouldStay(TensorId tensor) const {
    return tensor != kNoTensor && maker_.contains(input_.storage[tensor]);
  }
  bool Stays(TensorId tensor, const Residents& residents) const;
  // Of the layer's tensors, if these stay.
  Residency ResidencyOf(size_t l, const Residents& residents, bool keep) const;
  // Of the layer's tensors, all that could stay.
  Residency AllOf(size_t l) const;

  // Bytes of SRAM that what stays takes while the layer is computed.
  int64_t HeldBytes(size_t l, const Residents& residents, bool keep) const;
  // Bytes that leave SRAM although the output stays: others read it.
  int64_t WrittenBesides(size_t l, bool keep) const;
  // Bytes that the layer moves, at least, because something does not stay that
  // could.
  int64_t MovedBytes(size_t l, const Residents& residents, bool keep) const;
  // What stays beyond the layer.
  Residents After(size_t l, const Residents& before, bool keep) const;

 private:
  struct Tensor {
    TensorId storage = kNoTensor;
    int32_t last_layer = 0;
    int64_t bytes = 0;
  };
  const Tensor& Of(TensorId storage) const {
    return tensors_[maker_.at(storage)];
  }

  const SubgraphInput& input_;
  std::vector<Tensor> tensors_;                  // By the layer that makes it.
  absl::flat_hash_map<TensorId, size_t> maker_;  // By storage.
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_RESIDENTS_H_
