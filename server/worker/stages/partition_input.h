#ifndef EK_SERVER_WORKER_STAGES_PARTITION_INPUT_H_
#define EK_SERVER_WORKER_STAGES_PARTITION_INPUT_H_

// The input "partition" of the stages that make a program of it.

#include <initializer_list>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

struct PartitionInput {
  compiler::Graph graph;
  v1::Partition partition;  // Without its graph.
};

// Reads and verifies it, or has it from an earlier stage: variants of a chip
// have one partition. Where it must be fetched, so are the inputs `roles`, in
// the same round trip. Only stages write partitions: INTERNAL for a bad graph.
// Never null.
absl::StatusOr<std::shared_ptr<const PartitionInput>> ReadPartitionInput(
    const StageInputs& inputs, std::initializer_list<absl::string_view> roles);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_PARTITION_INPUT_H_
