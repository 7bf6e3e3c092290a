#ifndef EK_COMPILER_PARTITION_OP_FORMS_H_
#define EK_COMPILER_PARTITION_OP_FORMS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/op_split.h"
#include "compiler/partition/pad_kernels.h"
#include "compiler/partition/undo_phases.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

// How the engines of a target can run each op: whole, or as two halves, on one
// engine or several.
namespace edgekiln::compiler {

// OpForm::second of an op that is not split.
inline constexpr int32_t kWhole = -2;

struct OpForm {
  int32_t engine = -1;  // -1: the host.
  // Engine of the second half, which requantizes or clips; -1: the host.
  int32_t second = kWhole;
  bool operator==(const OpForm&) const = default;
};

// A partitioned graph with no op split and with all splits; both share the
// tensor ids of `whole`.
struct OpForms {
  Graph whole;  // Nothing is split.
  // Split: each op that was, or of which some engine runs the first half. Of an
  // op that different engines split in different ways, one: as it was, else
  // that of the first engine.
  Graph split;
  // By op of `whole`: its index in split.ops, where its second half, if any,
  // comes next; and how it is split.
  std::vector<int32_t> in_split;
  std::vector<OpSplit> splits;
  // By op of `whole`: its form in the partition, and all forms it could have.
  // The host runs a second half only where no engine can. Reshapes and members
  // of chains have no choices.
  std::vector<OpForm> placed;
  std::vector<std::vector<OpForm>> choices;
  // By op of `whole` whose kernel was padded for an engine: what the host runs.
  std::map<int32_t, UnpaddedOp> unpadded;
  // By op of `whole` that works on the phases of its image, the same.
  std::map<int32_t, WholeImage> whole_images;
};

// `partition` is one of PartitionGraph(). INVALID_ARGUMENT if its graph and
// placements do not go together.
absl::StatusOr<OpForms> OpFormsOf(const v1::Partition& partition,
                                  const v1::Capabilities& capabilities);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_OP_FORMS_H_
