#include "server/worker/stages/chunk_states.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "edgekiln/v1/graph.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace edgekiln::server {
namespace {

using Values = google::protobuf::RepeatedPtrField<std::string>;

bool Fit(const Values& values, const compiler::Graph& graph) {
  if (values.size() != static_cast<int>(graph.states.size())) return false;
  for (int i = 0; i < values.size(); ++i) {
    const compiler::State& state = graph.states[static_cast<size_t>(i)];
    const compiler::Tensor& tensor =
        graph.tensors[static_cast<size_t>(state.input)];
    if (static_cast<int64_t>(values[i].size()) !=
        tensor.num_elements() * compiler::ElementBytes(tensor.type)) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<ChunkStates> StatesBefore(const StageInputs& inputs,
                                         const compiler::Graph& graph,
                                         const ChunkReader& chunk,
                                         bool with_chip) {
  if (!chunk.is_sequential() || chunk.first_sample() == 0) {
    return ChunkStates();
  }
  EK_ASSIGN_OR_RETURN(const v1::ChunkStates left,
                      inputs.Parse<v1::ChunkStates>("states"));
  if (left.next_sample() != chunk.first_sample()) {
    return absl::InternalError(
        absl::StrCat("states for sample ", left.next_sample(),
                     " of a sequence, not for ", chunk.first_sample()));
  }
  if (!Fit(left.reference(), graph) ||
      (with_chip && !Fit(left.chip(), graph))) {
    return absl::InternalError("states do not fit the graph");
  }
  ChunkStates states;
  states.reference.assign(left.reference().begin(), left.reference().end());
  states.chip.assign(left.chip().begin(), left.chip().end());
  return states;
}

void AddStates(const ChunkReader& chunk, const ChunkStates& states,
               StageOutput& output) {
  if (!chunk.is_sequential()) return;
  v1::ChunkStates left;
  left.set_next_sample(chunk.first_sample() + chunk.samples());
  for (const std::string& value : states.reference) left.add_reference(value);
  for (const std::string& value : states.chip) left.add_chip(value);
  output.Add("states", left);
}

}  // namespace edgekiln::server
