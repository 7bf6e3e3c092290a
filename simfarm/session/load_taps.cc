#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"
#include "target/memories.h"

namespace edgekiln::simfarm {
namespace {

// A tap is counted once for each launched range that contains its command.
constexpr int64_t kMaxStreamTaps = 1 << 20;

// Bytes that an element of a tensor may have: `sums` of int32 sums, `own` of
// what its result is like.
struct ElementSize {
  int64_t own = 0;
  int64_t sums = 0;
};
using ElementSizes = absl::flat_hash_map<int32_t, ElementSize>;

// Those of the quantized graph, and accumulators beyond them.
absl::StatusOr<ElementSizes> ElementSizesOf(const LoadedProgram& loaded) {
  const std::vector<int64_t>& bytes = loaded.options.tensor_element_bytes;
  const auto tensors = static_cast<int32_t>(bytes.size());
  ElementSizes sizes;
  for (int32_t i = 0; i < tensors; ++i) sizes[i] = {bytes[i], bytes[i]};
  for (const auto& accumulator : loaded.program.accumulators()) {
    const int32_t tensor = accumulator.tensor();
    if (tensor < 0 || accumulator.result() < 0 ||
        accumulator.result() >= tensors) {
      return InvalidProgram(
          absl::StrCat("tensor ", tensor, " as the accumulator of tensor ",
                       accumulator.result()),
          "accumulators", absl::StrCat(tensors, " tensors"));
    }
    if (tensor < tensors) continue;
    const ElementSize size = {bytes[accumulator.result()], sizeof(int32_t)};
    if (!sizes.try_emplace(tensor, size).second) {
      return InvalidProgram(absl::StrCat("tensor ", tensor, " twice"),
                            "accumulators");
    }
  }
  return sizes;
}

absl::StatusOr<LoadedTap> ReadTap(const v1::Program::Tap& tap,
                                  const ElementSizes& sizes,
                                  const LoadedProgram& loaded) {
  const auto size = sizes.find(tap.tensor());
  if (size == sizes.end()) {
    return InvalidProgram(absl::StrCat("no tensor ", tap.tensor()), "");
  }
  LoadedTap result{.tap = &tap};
  EK_ASSIGN_OR_RETURN(result.layout, loaded.FindLayout(tap.layout()));
  const int64_t bytes = result.layout->element_bytes();
  if (bytes != size->second.own && bytes != size->second.sums) {
    return InvalidProgram(
        absl::StrCat("a layout of elements of ", bytes, " bytes"),
        absl::StrCat("tensor ", tap.tensor()), absl::StrCat(size->second.sums));
  }
  const absl::Status fits = target::CheckBox(tap.box(), *result.layout);
  if (!fits.ok()) return InvalidProgram(std::string(fits.message()), "");
  if (result.layout->dense_bytes() == 0) {
    return InvalidProgram("a box without elements", "");
  }
  return result;
}

absl::Status CheckInStream(const v1::Program::Tap& tap,
                           const LoadedProgram& loaded) {
  if (tap.stream() < 0 || tap.stream() >= loaded.program.streams_size()) {
    return InvalidProgram(absl::StrCat("no stream ", tap.stream()), "");
  }
  const v1::Program::Stream& stream = loaded.program.streams(tap.stream());
  const int32_t word_bytes =
      loaded.machine.engines(stream.engine()).isa().word_bytes();
  if (tap.command() < 0 ||
      tap.command() >=
          static_cast<int64_t>(stream.code().size()) / word_bytes) {
    return InvalidProgram(absl::StrCat("no command ", tap.command()), "");
  }
  const int32_t memory = tap.location().memory();
  const std::vector<int32_t> own =
      target::PrivateMemoriesOf(loaded.machine, stream.engine());
  if (!loaded.IsSystem(memory) &&
      std::find(own.begin(), own.end(), memory) == own.end()) {
    return InvalidProgram("the scratchpad of another engine", "");
  }
  return absl::OkStatus();
}

// By stream.
using StreamTaps = std::vector<std::vector<LoadedTap>>;

absl::Status AddTap(const v1::Program::Tap& tap, const ElementSizes& sizes,
                    LoadedProgram* loaded, StreamTaps& of_streams) {
  EK_ASSIGN_OR_RETURN(const LoadedTap result, ReadTap(tap, sizes, *loaded));
  EK_RETURN_IF_ERROR(loaded->Reserve(tap.location().memory(),
                                     tap.location().address(),
                                     result.layout->size_bytes(), "location"));
  if (tap.stream() == -1) {
    if (tap.step() < 0 ||
        tap.step() >= static_cast<int64_t>(loaded->steps.size())) {
      return InvalidProgram(absl::StrCat("no step ", tap.step()), "");
    }
    if (loaded->IsScratchpad(tap.location().memory())) {
      return InvalidProgram("a scratchpad is visible inside a stream only", "");
    }
    loaded->steps[tap.step()].taps.push_back(result);
    return absl::OkStatus();
  }
  EK_RETURN_IF_ERROR(CheckInStream(tap, *loaded));
  of_streams[tap.stream()].push_back(result);
  return absl::OkStatus();
}

// Assigns taps to all launched ranges that contain their commands, at least one
// each. Sorts `of_streams`.
absl::Status AddToLaunches(StreamTaps& of_streams, LoadedProgram* loaded) {
  const auto is_before = [](const LoadedTap& a, const LoadedTap& b) {
    return a.tap->command() < b.tap->command();
  };
  for (std::vector<LoadedTap>& taps : of_streams) {
    std::stable_sort(taps.begin(), taps.end(), is_before);
  }
  std::vector<std::vector<bool>> launched;  // As `of_streams`.
  for (const std::vector<LoadedTap>& taps : of_streams) {
    launched.emplace_back(taps.size(), false);
  }
  int64_t total = 0;
  for (LoadedStream& stream : loaded->streams) {
    const std::vector<LoadedTap>& taps = of_streams[stream.program_stream];
    auto tap = std::partition_point(
        taps.begin(), taps.end(),
        [&](const LoadedTap& each) { return stream.WordOf(each) < 0; });
    for (;
         tap != taps.end() && stream.WordOf(*tap) < stream.stream->num_words();
         ++tap) {
      if (++total > kMaxStreamTaps) {
        return InvalidProgram("too many taps of launches", "taps",
                              absl::StrCat(kMaxStreamTaps));
      }
      stream.taps.push_back(*tap);
      launched[stream.program_stream][tap - taps.begin()] = true;
    }
  }
  for (size_t s = 0; s < of_streams.size(); ++s) {
    const auto never = std::find(launched[s].begin(), launched[s].end(), false);
    if (never == launched[s].end()) continue;
    const LoadedTap& tap = of_streams[s][never - launched[s].begin()];
    return InvalidProgram(
        "a tap of a command that no step launches",
        absl::StrCat("stream ", s, ", command ", tap.tap->command(),
                     ", tensor ", tap.tap->tensor()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadTaps(LoadedProgram* loaded) {
  if (loaded->options.tensor_element_bytes.empty()) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const ElementSizes sizes, ElementSizesOf(*loaded));
  StreamTaps of_streams(loaded->program.streams_size());
  for (int i = 0; i < loaded->program.taps_size(); ++i) {
    EK_RETURN_IF_ERROR(
        AddTap(loaded->program.taps(i), sizes, loaded, of_streams),
        absl::StrCat("tap ", i));
  }
  return AddToLaunches(of_streams, loaded);
}

}  // namespace edgekiln::simfarm
