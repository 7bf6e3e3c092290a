#ifndef EK_COMPILER_QUANTIZE_SCALE_CHOICE_H_
#define EK_COMPILER_QUANTIZE_SCALE_CHOICE_H_

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// How the tensors of a group can be quantized, and the error at the network's
// outputs that each way makes.
struct ScaleChoice {
  std::vector<Quantization> ways;
  std::vector<double> errors;  // As many; infinite: not tried.
};

// Two groups, by the tensors that stand for them: the scale of `above` is
// raised to that of `below` where it is smaller.
struct RisingScales {
  TensorId below = kNoTensor;
  TensorId above = kNoTensor;
};

// The way of each group with which all errors together are least, as far as
// changing one group, or one and all above it, at a time finds out; without
// `rising`, that is the best of each alone. Groups that are raised beyond all
// of their ways make errors that grow with the square of the scale. `fixed`:
// scales of groups in `rising` for which there is no choice.
std::map<TensorId, size_t> ChooseScales(
    const std::map<TensorId, ScaleChoice>& choices,
    const std::map<TensorId, float>& fixed,
    absl::Span<const RisingScales> rising);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_SCALE_CHOICE_H_
