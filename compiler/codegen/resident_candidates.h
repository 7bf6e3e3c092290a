#ifndef EK_COMPILER_CODEGEN_RESIDENT_CANDIDATES_H_
#define EK_COMPILER_CODEGEN_RESIDENT_CANDIDATES_H_

// Which tensors could stay in a memory of engines that the host drives, and in
// which layouts.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/codegen/views.h"
#include "compiler/engines/backend.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// An op that an engine driven by the host runs: a region of its own.
struct DrivenOp {
  int32_t op = 0;
  int32_t engine = 0;
};

// A place whose tensors could stay: all their users are driven ops, reach one
// memory and can use it in one layout. Positions are indices into the list of
// driven ops.
struct ResidentCandidate {
  TensorId place = kNoTensor;
  int32_t memory = 0;
  // Layouts to try for the place: those of its users' jobs, its producer's
  // first; at least one. Users with another layout move tiles.
  std::vector<v1::Layout> layouts;
  size_t chosen = 0;  // Index into layouts.
  int64_t bytes = 0;  // Of the chosen layout, aligned.
  // Alive at positions [first, last].
  int32_t first = 0;
  int32_t last = 0;
  std::vector<int32_t> users;  // Positions, rising.
  bool stays = true;
  // If it does not stay, it lies in system memory in the chosen layout, not
  // densely: the host's code would have to rearrange it.
  bool arranged = false;
  // A host op uses it there, too (plane_sums.h, in_place_ops.h,
  // host_orders.h): it never stays.
  bool leaves = false;
};

// Sets `chosen` and `bytes`.
void ChooseLayout(size_t layout, const v1::Machine& machine,
                  ResidentCandidate& candidate);

// By rising place, each with its first layout chosen. `ops` are in order of
// execution; `maker` makes regions of `graph`; `ram` is the system memory of
// what does not stay. With `plane_sums`, pools on the host may work on places
// in an engine's layout; ops that work element by element always may. Errors
// are those of the back ends.
absl::StatusOr<std::vector<ResidentCandidate>> FindResidentCandidates(
    const Graph& graph, const Views& views, const v1::Partition& partition,
    const std::vector<DrivenOp>& ops, const v1::Machine& machine,
    MachineBackends& backends, const RegionMaker& maker, int32_t ram,
    bool plane_sums);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_RESIDENT_CANDIDATES_H_
