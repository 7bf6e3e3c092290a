#ifndef EK_SIMFARM_SESSION_CARRIED_STATES_H_
#define EK_SIMFARM_SESSION_CARRIED_STATES_H_

// What a session carries from one inference to the next.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "simfarm/session/loaded_program.h"

namespace edgekiln::simfarm {

// Not thread-safe.
class CarriedStates {
 public:
  // Real zero at first. `loaded` must outlive this object.
  explicit CarriedStates(const LoadedProgram& loaded)
      : loaded_(loaded), values_(loaded.zero_states) {}

  const std::vector<std::string>& values() const { return values_; }

  // As Session::SetStates().
  absl::Status Set(std::vector<std::string> values);

  // One dense value per input of the program: the given one or, for the input
  // of a carry that is given empty, its state. INVALID_ARGUMENT if their number
  // or a size is wrong. Valid until the states change.
  absl::StatusOr<std::vector<absl::string_view>> ValuesOfInputs(
      absl::Span<const absl::string_view> given) const;

  // An inference gave these values, one per output of the program.
  void Keep(const std::vector<std::string>& outputs);

 private:
  const LoadedProgram& loaded_;
  std::vector<std::string> values_;  // As program.carries.
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_CARRIED_STATES_H_
