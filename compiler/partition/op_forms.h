#ifndef EK_COMPILER_PARTITION_OP_FORMS_H_
#define EK_COMPILER_PARTITION_OP_FORMS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

// How the engines of a target can run each op: whole, or as int32 sums that the
// same or another engine requantizes.
namespace edgekiln::compiler {

// OpForm::requantizer of an op that is not split.
inline constexpr int32_t kWhole = -2;

struct OpForm {
  int32_t engine = -1;  // -1: the host.
  // Engine that requantizes its sums; -1: the host.
  int32_t requantizer = kWhole;
  bool operator==(const OpForm&) const = default;
};

// A partitioned graph with no op split and with all splits; both share the
// tensor ids of `whole`.
struct OpForms {
  Graph whole;  // Nothing is split.
  Graph split;  // Split: each op that was, or whose sums some engine gives.
  // By op of `whole`: its index in split.ops, where its Requantize, if any,
  // comes next; and whether it is split.
  std::vector<int32_t> in_split;
  std::vector<bool> splits;
  // By op of `whole`: its form in the partition, and all forms it could have.
  // The host requantizes only where no engine can. Reshapes and members of
  // chains have no choices.
  std::vector<OpForm> placed;
  std::vector<std::vector<OpForm>> choices;
};

// `partition` is one of PartitionGraph(). INVALID_ARGUMENT if its graph and
// placements do not go together.
absl::StatusOr<OpForms> OpFormsOf(const v1::Partition& partition,
                                  const v1::Capabilities& capabilities);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_OP_FORMS_H_
