#ifndef EK_COMPILER_QUANTIZE_INPUT_MOMENTS_H_
#define EK_COMPILER_QUANTIZE_INPUT_MOMENTS_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/sample_batch.h"

namespace edgekiln::compiler {

// How the values that one output channel of a layer sums vary together, in
// units of the input's integers (of INT16, 256 of them): what decides how much
// an error of its weights moves its result. Element j of a patch is what weight
// j of the channel is multiplied by (WeightsOfChannel()).
struct InputMoments {
  // The covariances, or second moments about the zero point, of the elements
  // first .. first + size - 1; between blocks they count as 0.
  struct Block {
    int64_t first = 0;
    int64_t size = 0;
    std::vector<double> moments;  // [size, size], symmetric, diagonal > 0.
  };
  std::vector<Block> blocks;
};

// Output channels of a layer that read the same patches.
struct ChannelGroup {
  int64_t first = 0;
  int64_t channels = 0;
};

// Of a layer with weights: a convolution has one per group, a depthwise one for
// each input channel.
std::vector<ChannelGroup> ChannelGroupsOf(const Graph& graph, const Op& op);

// Indices of the weights of output channel `channel`, in the order of a patch.
std::vector<int64_t> WeightsOfChannel(const Graph& graph, const Op& op,
                                      int64_t channel);

// Whether moments of the op's input can be taken: INT8, UINT8 and INT16.
bool HasMoments(const Graph& graph, const Op& op);

// Bytes of the moments of all groups of the layer.
int64_t MomentBytes(const Graph& graph, const Op& op);

// By group, of patches spread evenly over all samples of the batch, in which
// the op's input is alive. `centred`: covariances, for layers whose bias takes
// up what the mean does. Exact integers up to the division by their number;
// what few patches say of pairs of elements counts less.
std::vector<InputMoments> MomentsOf(const SampleBatch& batch, const Op& op,
                                    bool centred);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_INPUT_MOMENTS_H_
