#include "server/worker/stages/partition_input.h"

#include <utility>

#include "base/status_macros.h"
#include "server/worker/stages/graph_input.h"

namespace edgekiln::server {

absl::StatusOr<std::shared_ptr<const PartitionInput>> ReadPartitionInput(
    const StageInputs& inputs, std::initializer_list<absl::string_view> roles) {
  const auto read = [&]() -> absl::StatusOr<std::shared_ptr<PartitionInput>> {
    EK_RETURN_IF_ERROR(inputs.Fetch(roles));
    auto made = std::make_shared<PartitionInput>();
    EK_ASSIGN_OR_RETURN(made->partition,
                        inputs.Parse<v1::Partition>("partition"));
    EK_ASSIGN_OR_RETURN(made->graph, GraphOf(made->partition.graph()));
    made->partition.clear_graph();
    return made;
  };
  return inputs.Prepared<PartitionInput>({"partition"}, "", read);
}

}  // namespace edgekiln::server
