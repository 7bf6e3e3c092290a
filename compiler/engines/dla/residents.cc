#include "compiler/engines/dla/residents.h"

#include <algorithm>

namespace edgekiln::compiler::dla {

ResidentTensors::ResidentTensors(const SubgraphInput& input)
    : input_(input), tensors_(input.layers.size()) {
  for (size_t l = 0; l < input.layers.size(); ++l) {
    const Layer& layer = input.layers[l];
    if (layer.op == LayerOp::kAlias) continue;
    for (const TensorId tensor : {layer.input, layer.input2}) {
      if (tensor == kNoTensor) continue;
      const auto it = maker_.find(input.storage[tensor]);
      if (it == maker_.end()) continue;
      tensors_[it->second].last_layer = static_cast<int32_t>(l);
    }
    const TensorId output = input.storage[layer.output];
    tensors_[l] = {output, static_cast<int32_t>(l), layer.all_out_bytes()};
    maker_[output] = l;
  }
  maker_.clear();
  for (size_t l = 0; l < tensors_.size(); ++l) {
    Tensor& tensor = tensors_[l];
    if (tensor.storage == kNoTensor) continue;
    if (tensor.last_layer > static_cast<int32_t>(l)) {
      maker_[tensor.storage] = l;
    } else {
      tensor = {};  // Nobody reads it here.
    }
  }
}

bool ResidentTensors::Stays(TensorId tensor, const Residents& residents) const {
  return tensor != kNoTensor &&
         std::binary_search(residents.begin(), residents.end(),
                            input_.storage[tensor]);
}

Residency ResidentTensors::ResidencyOf(size_t l, const Residents& residents,
                                       bool keep) const {
  const Layer& layer = input_.layers[l];
  return {.input = Stays(layer.input, residents),
          .input2 = Stays(layer.input2, residents),
          .output = keep};
}

Residency ResidentTensors::AllOf(size_t l) const {
  const Layer& layer = input_.layers[l];
  return {.input = CouldStay(layer.input),
          .input2 = CouldStay(layer.input2),
          .output = CanKeep(l)};
}

int64_t ResidentTensors::HeldBytes(size_t l, const Residents& residents,
                                   bool keep) const {
  int64_t held = keep ? tensors_[l].bytes : 0;
  for (const TensorId tensor : residents) held += Of(tensor).bytes;
  return held;
}

int64_t ResidentTensors::WrittenBesides(size_t l, bool keep) const {
  return keep && input_.external.contains(tensors_[l].storage)
             ? tensors_[l].bytes
             : 0;
}

int64_t ResidentTensors::MovedBytes(size_t l, const Residents& residents,
                                    bool keep) const {
  const Layer& layer = input_.layers[l];
  int64_t bytes = keep ? 0 : tensors_[l].bytes;
  // Windows that leave out input may read none of it.
  if (SkipsInput(layer)) return bytes;
  for (const TensorId tensor : {layer.input, layer.input2}) {
    if (CouldStay(tensor) && !Stays(tensor, residents)) ++bytes;
  }
  return bytes;
}

Residents ResidentTensors::After(size_t l, const Residents& before,
                                 bool keep) const {
  Residents after;
  for (const TensorId tensor : before) {
    if (Of(tensor).last_layer > static_cast<int32_t>(l)) {
      after.push_back(tensor);
    }
  }
  if (keep) {
    const TensorId made = tensors_[l].storage;
    after.insert(std::upper_bound(after.begin(), after.end(), made), made);
  }
  return after;
}

}  // namespace edgekiln::compiler::dla
