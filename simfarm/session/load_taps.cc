#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"
#include "target/memories.h"

namespace edgekiln::simfarm {
namespace {

absl::StatusOr<LoadedTap> ReadTap(const v1::Program::Tap& tap,
                                  const LoadedProgram& loaded) {
  const std::vector<int64_t>& element_bytes =
      loaded.options.tensor_element_bytes;
  if (tap.tensor() < 0 ||
      tap.tensor() >= static_cast<int64_t>(element_bytes.size())) {
    return InvalidProgram(absl::StrCat("no tensor ", tap.tensor()), "");
  }
  LoadedTap result{.tap = &tap};
  EK_ASSIGN_OR_RETURN(result.layout, loaded.FindLayout(tap.layout()));
  if (result.layout->element_bytes() != element_bytes[tap.tensor()]) {
    return InvalidProgram(
        absl::StrCat("a layout of elements of ", result.layout->element_bytes(),
                     " bytes"),
        absl::StrCat("tensor ", tap.tensor()),
        absl::StrCat(element_bytes[tap.tensor()]));
  }
  const absl::Status fits = target::CheckBox(tap.box(), *result.layout);
  if (!fits.ok()) return InvalidProgram(std::string(fits.message()), "");
  if (result.layout->dense_bytes() == 0) {
    return InvalidProgram("a box without elements", "");
  }
  return result;
}

absl::Status AddTap(const v1::Program::Tap& tap, LoadedProgram* loaded) {
  EK_ASSIGN_OR_RETURN(const LoadedTap result, ReadTap(tap, *loaded));
  EK_RETURN_IF_ERROR(loaded->Reserve(tap.location().memory(),
                                     tap.location().address(),
                                     result.layout->size_bytes(), "location"));
  const bool system = loaded->IsSystem(tap.location().memory());
  if (tap.stream() == -1) {
    if (tap.step() < 0 ||
        tap.step() >= static_cast<int64_t>(loaded->steps.size())) {
      return InvalidProgram(absl::StrCat("no step ", tap.step()), "");
    }
    if (!system) {
      return InvalidProgram("a scratchpad is visible inside a stream only", "");
    }
    loaded->steps[tap.step()].taps.push_back(result);
    return absl::OkStatus();
  }
  if (tap.stream() < 0 ||
      tap.stream() >= static_cast<int64_t>(loaded->streams.size())) {
    return InvalidProgram(absl::StrCat("no stream ", tap.stream()), "");
  }
  LoadedStream& stream = loaded->streams[tap.stream()];
  if (tap.command() < 0 || tap.command() >= stream.stream->num_words()) {
    return InvalidProgram(absl::StrCat("no command ", tap.command()), "");
  }
  if (!system && tap.location().memory() !=
                     target::PrivateMemoryOf(loaded->machine, stream.engine)) {
    return InvalidProgram("the scratchpad of another engine", "");
  }
  stream.taps.push_back(result);
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadTaps(LoadedProgram* loaded) {
  if (loaded->options.tensor_element_bytes.empty()) return absl::OkStatus();
  for (int i = 0; i < loaded->program.taps_size(); ++i) {
    EK_RETURN_IF_ERROR(AddTap(loaded->program.taps(i), loaded),
                       absl::StrCat("tap ", i));
  }
  for (LoadedStream& stream : loaded->streams) {
    std::stable_sort(stream.taps.begin(), stream.taps.end(),
                     [](const LoadedTap& a, const LoadedTap& b) {
                       return a.tap->command() < b.tap->command();
                     });
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::simfarm
