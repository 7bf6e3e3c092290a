#ifndef EK_COMPILER_CODEGEN_HOST_POOLS_H_
#define EK_COMPILER_CODEGEN_HOST_POOLS_H_

// Pools of the host on images whose channels lie in blocks, as an engine has
// them: block b holds channels b * n to b * n + n - 1 of all pixels. A pool
// treats all channels alike, so that blocks are images of a batch, and bytes
// reversed within a pixel of a block stay so in the result.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/codegen/host_form.h"
#include "compiler/codegen/host_orders.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "target/host_cost.h"

namespace edgekiln::compiler {

// Channels of a block, if an array [n, h, w, c] of bytes lies in whole blocks
// without gaps, each group of reversed bytes within one pixel of a block; all
// channels are one block, or n is 1. 0 if it does not, or is dense.
int64_t ChannelsOfBlocks(const v1::Layout& layout);

// Such a layout of [n, h, w, c]. `reversed_bytes` as of Layout.
v1::Layout InChannelBlocks(absl::Span<const int64_t> shape, int64_t channels,
                           int32_t reversed_bytes);

// How a pool runs.
struct PoolRun {
  std::optional<HostForm> form;  // Over blocks, if there are several.
  // The result as the pool leaves it, where it has to be put in plain order
  // afterwards, through the place of the input.
  std::optional<v1::Layout> left;
};

// Of the host op at that position, if it is one of `orders` of kind kChannels
// and its input lies in such blocks.
std::optional<PoolRun> PoolRunAt(const Graph& graph, int32_t op,
                                 const std::vector<HostOrder>& orders,
                                 const HostLayouts& layouts);

// Wall cycles of a pool that runs so.
absl::StatusOr<int64_t> PoolRunCycles(const Graph& graph, const Op& op,
                                      const PoolRun& run,
                                      const v1::Machine& machine,
                                      const target::HostCosts& costs);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_POOLS_H_
