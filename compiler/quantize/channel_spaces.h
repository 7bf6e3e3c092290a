#ifndef EK_COMPILER_QUANTIZE_CHANNEL_SPACES_H_
#define EK_COMPILER_QUANTIZE_CHANNEL_SPACES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Activations of a float graph whose channels can be divided by factors
// together: between layers with constant weights lie only ops that commute
// with that, element by element or within a channel (add, ReLU, pools, a
// flattening).
struct ChannelSpace {
  int64_t channels = 0;
  // In the order in which they are made. Element i is of channel
  // i % channels.
  std::vector<TensorId> tensors;
  std::vector<int32_t> producers;  // Layers that make one of them.
  std::vector<int32_t> consumers;  // Layers that read one of them.
};

// All spaces, by the op that makes their first tensor. Graph inputs and outputs
// are in no space, nor is what another op reads or makes, or what has an upper
// limit, which would be another one for each channel.
std::vector<ChannelSpace> ChannelSpaces(const Graph& graph);

// The same for one factor of all values, with which more commutes: limits (to
// be divided, too), groups, concatenations, transpositions, means. Spaces have
// one channel.
std::vector<ChannelSpace> UniformSpaces(const Graph& graph);

// Divides channel c of the space's tensors by factors[c] > 0: in the weights
// and biases of its producers, and back in the weights of its consumers. The
// graph computes the same, up to the rounding of floats and to limits, which
// stay as they are; constants that others read are copied.
void ScaleChannels(const ChannelSpace& space, absl::Span<const double> factors,
                   Graph& graph);

// Channel of the space that weight `index` of the consumer is multiplied with.
int64_t ReadChannel(const Graph& graph, const Op& consumer,
                    const ChannelSpace& space, int64_t index);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_CHANNEL_SPACES_H_
