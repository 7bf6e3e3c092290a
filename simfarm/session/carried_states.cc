#include "simfarm/session/carried_states.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace edgekiln::simfarm {

absl::Status CarriedStates::Set(std::vector<std::string> values) {
  if (values.empty()) {
    values_ = loaded_.zero_states;
    return absl::OkStatus();
  }
  bool fits = values.size() == values_.size();
  for (size_t c = 0; fits && c < values.size(); ++c) {
    fits = values[c].size() == values_[c].size();
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        "values do not fit the states of the program");
  }
  values_ = std::move(values);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<absl::string_view>> CarriedStates::ValuesOfInputs(
    absl::Span<const absl::string_view> given) const {
  if (given.size() != loaded_.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program has ", loaded_.inputs.size(), " inputs, not ",
                     given.size()));
  }
  std::vector<absl::string_view> values(given.begin(), given.end());
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t bytes = loaded_.inputs[i].layout->dense_bytes();
    const int32_t carry = loaded_.carry_of_input[i];
    if (values[i].empty() && carry >= 0) values[i] = values_[carry];
    if (static_cast<int64_t>(values[i].size()) != bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " has ", bytes, " bytes, not ", values[i].size()));
    }
  }
  return values;
}

void CarriedStates::Keep(const std::vector<std::string>& outputs) {
  for (size_t c = 0; c < values_.size(); ++c) {
    values_[c] = outputs[loaded_.program.carries(static_cast<int>(c)).output()];
  }
}

}  // namespace edgekiln::simfarm
