#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"

namespace edgekiln::simfarm {
namespace {

// Extent of [begin, end), or empty if it is none.
std::optional<int64_t> ExtentOf(int64_t begin, int64_t end) {
  constexpr int64_t kMaxExtent = int64_t{1} << 31;
  if (begin < 0 || end <= begin || end > kMaxExtent) return std::nullopt;
  return end - begin;
}

absl::StatusOr<LoadedTap> ReadTap(const v1::Program::Tap& tap,
                                  const SessionOptions& options) {
  if (tap.tensor() < 0 ||
      tap.tensor() >=
          static_cast<int64_t>(options.tensor_element_bytes.size())) {
    return InvalidProgram(absl::StrCat("no tensor ", tap.tensor()), "");
  }
  const int64_t element_bytes = options.tensor_element_bytes[tap.tensor()];
  const auto rows = ExtentOf(tap.slice().h_begin(), tap.slice().h_end());
  const auto columns = ExtentOf(tap.slice().w_begin(), tap.slice().w_end());
  const auto channels = ExtentOf(tap.slice().c_begin(), tap.slice().c_end());
  const int64_t row_pitch = tap.layout().row_pitch_bytes();
  const int64_t pixel_pitch = tap.layout().pixel_pitch_bytes();
  if (!rows || !columns || !channels || element_bytes < 1 ||
      element_bytes > 8 || row_pitch < 0 || pixel_pitch < 0) {
    return InvalidProgram("an unusable slice or layout", "");
  }
  LoadedTap loaded{.tap = &tap,
                   .rows = *rows,
                   .columns = *columns,
                   .pixel_bytes = *channels * element_bytes};
  const auto down = CheckedMul(*rows - 1, row_pitch);
  const auto across = CheckedMul(*columns - 1, pixel_pitch);
  const auto sum = down && across ? CheckedAdd(*down, *across) : std::nullopt;
  const auto extent = sum ? CheckedAdd(*sum, loaded.pixel_bytes) : std::nullopt;
  const auto values = CheckedProduct({*rows, *columns, loaded.pixel_bytes});
  if (!extent || !values || *values > options.max_memory_bytes) {
    return InvalidProgram("the slice is too large", "");
  }
  loaded.extent_bytes = *extent;
  return loaded;
}

absl::Status AddTap(const v1::Program::Tap& tap, LoadedProgram* loaded) {
  EK_ASSIGN_OR_RETURN(const LoadedTap result, ReadTap(tap, loaded->options));
  EK_RETURN_IF_ERROR(loaded->Reserve(tap.location().memory(),
                                     tap.location().address(),
                                     result.extent_bytes, "location"));
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
                     loaded->machine.engines(stream.engine).scratchpad()) {
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
