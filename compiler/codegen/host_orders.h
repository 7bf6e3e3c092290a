#ifndef EK_COMPILER_CODEGEN_HOST_ORDERS_H_
#define EK_COMPILER_CODEGEN_HOST_ORDERS_H_

// Host ops that compute on tensors as an engine has them: in which order
// elements lie does not matter to them, so that the program's step is a dense
// op on the same bytes.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compiler/codegen/views.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"

namespace edgekiln::compiler {

// Layouts of places that are not dense.
using HostLayouts = std::map<TensorId, v1::Layout>;

struct HostOrder {
  enum Kind {
    kElements,  // Element by element: all tensors in one layout without gaps.
    kChannels,  // A pool: bytes reversed in groups of the channels of a pixel.
  };
  Kind kind = kElements;
  int32_t op = 0;
  // Of its tensors of more than one element, the result last.
  std::vector<TensorId> places;
};

// Those of the partition's host, by rising op: of bytes, with one scale, in
// places of their own shape that no folded op shares. Without ops in place,
// which have one place anyway.
std::vector<HostOrder> HostOrders(const Graph& graph,
                                  const v1::Partition& partition,
                                  const Views& views);

// Whether an array of [.., c] is dense but for groups of reversed bytes, each
// within the channels of one pixel.
bool ReversesChannels(const v1::Layout& layout);

// Adds the layouts that places have because of others of the same op, but of
// those in `dense` (by place).
void SpreadLayouts(const Graph& graph, const std::vector<HostOrder>& orders,
                   const std::vector<bool>& dense, HostLayouts& layouts);

// Leaves the layouts that all of these ops can have, spread over their places.
// The others' places become `dense`.
void SettleLayouts(const Graph& graph, const std::vector<HostOrder>& orders,
                   std::vector<bool>& dense, HostLayouts& layouts);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_ORDERS_H_
