#ifndef EK_COMPILER_CODEGEN_HOST_ORDERS_H_
#define EK_COMPILER_CODEGEN_HOST_ORDERS_H_

// Host ops that compute on tensors as an engine has them: in which order
// elements lie does not matter to them, so that the program's step is a dense
// op on the same bytes.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/views.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// Layouts of places that are not dense.
using HostLayouts = std::map<TensorId, v1::Layout>;

struct HostOrder {
  enum Kind {
    kElements,  // Element by element: all tensors in one layout without gaps.
    kChannels,  // A pool: channels in blocks (host_pools.h).
  };
  Kind kind = kElements;
  int32_t op = 0;
  // Of its tensors of more than one element, the result last.
  std::vector<TensorId> places;
  // A pool whose result can be put in plain order by way of the place of what
  // it reads, which nothing reads later, outputs of the graph included. It
  // makes at most half of what it reads, so that the two copies of its result
  // move no more bytes than it reads.
  bool restores = false;
};

// Those of the partition's host, by rising op: of bytes, with one scale, in
// places of their own shape that no folded op shares. Without ops in place,
// which have one place anyway.
std::vector<HostOrder> HostOrders(const Graph& graph,
                                  const v1::Partition& partition,
                                  const Views& views);

// Adds the layouts that places have because of others of the same op, but of
// those in `dense` (by place). Results of pools that restore the plain order
// are left.
void SpreadLayouts(const Graph& graph, const std::vector<HostOrder>& orders,
                   const std::vector<bool>& dense, HostLayouts& layouts);

// Leaves the layouts that all of these ops can have, spread over their places.
// The others' places become `dense`, but those of inputs of pools that can
// restore the plain order.
void SettleLayouts(const Graph& graph, const std::vector<HostOrder>& orders,
                   std::vector<bool>& dense, HostLayouts& layouts);

// The layouts of places in memories that the host reaches which are not dense,
// as the borders of the plans have them, and those that follow for places that
// only these ops use. INVALID_ARGUMENT if a border is of another graph.
absl::StatusOr<HostLayouts> ArrangedPlaces(const Graph& graph,
                                           const std::vector<HostOrder>& orders,
                                           const Views& views,
                                           const v1::RegionPlans& plans,
                                           const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_ORDERS_H_
