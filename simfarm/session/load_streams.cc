#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"
#include "target/memories.h"

namespace edgekiln::simfarm {
namespace {

// Limit on the commands of all launched ranges of a stream, which may overlap:
// as a multiple of the stream's commands.
constexpr int64_t kMaxOverlap = 4;

// Layer of every word of a stream.
absl::StatusOr<std::vector<int32_t>> LayersOfWords(const LoadedProgram& loaded,
                                                   int32_t stream,
                                                   int64_t words) {
  std::vector<int32_t> layer_of_word(words, -1);
  for (const v1::Program::CommandRange& range : loaded.program.ranges()) {
    if (range.stream() != stream) continue;
    if (range.layer() < 0 || range.layer() >= loaded.program.layers_size() ||
        range.first_command() < 0 ||
        range.first_command() > range.last_command() ||
        range.last_command() >= words) {
      return InvalidProgram("a command range is unusable",
                            absl::StrCat("ranges, stream ", stream));
    }
    for (int32_t word = range.first_command(); word <= range.last_command();
         ++word) {
      if (layer_of_word[word] >= 0) {
        return InvalidProgram(
            "two command ranges overlap",
            absl::StrCat("stream ", stream, ", command ", word));
      }
      layer_of_word[word] = range.layer();
    }
  }
  return layer_of_word;
}

StreamContext ContextOf(const LoadedProgram& loaded, int32_t engine,
                        const std::vector<int32_t>& layer_of_word) {
  StreamContext context;
  context.engine = engine;
  const int32_t scratchpad = target::PrivateMemoryOf(loaded.machine, engine);
  if (scratchpad >= 0) {
    context.scratchpad_bytes =
        loaded.machine.memories(scratchpad).capacity_bytes();
  }
  for (const v1::ResolvedMemory& memory : loaded.machine.memories()) {
    if (!memory.host_reaches()) continue;
    context.system.push_back({memory.base_address(), memory.capacity_bytes(),
                              target::IsWritable(memory)});
  }
  context.layer_name = [&program = loaded.program,
                        layers = layer_of_word](int32_t word) {
    const bool known =
        word < static_cast<int32_t>(layers.size()) && layers[word] >= 0;
    return known ? program.layers(layers[word]).id() : std::string("(none)");
  };
  context.cpu_path = loaded.options.cpu_path;
  return context;
}

// Every cycle of a stream must have an owner.
absl::Status CheckOwners(const LoadedStream& loaded) {
  for (const StreamTiming::Segment& segment :
       loaded.stream->timing().segments) {
    if (loaded.layer_of_word[segment.word] < 0) {
      return InvalidProgram(
          "a command belongs to no layer",
          absl::StrCat(loaded.name, ", command ", segment.word));
    }
  }
  for (const StreamTiming::Transfer& transfer :
       loaded.stream->timing().transfers) {
    if (loaded.layer_of_word[transfer.word] < 0) {
      return InvalidProgram(
          "a transfer belongs to no layer",
          absl::StrCat(loaded.name, ", command ", transfer.word));
    }
  }
  return absl::OkStatus();
}

absl::Status ReserveReach(LoadedProgram* loaded, const LoadedStream& stream) {
  for (const int32_t scratchpad :
       target::PrivateMemoriesOf(loaded->machine, stream.engine)) {
    int64_t& used = loaded->used_bytes[scratchpad];
    used = std::max(used, stream.stream->scratchpad_extent(scratchpad));
  }
  for (const EngineStream::SystemRange& range :
       stream.stream->system_ranges()) {
    for (int32_t m = 0; m < loaded->machine.memories_size(); ++m) {
      const v1::ResolvedMemory& memory = loaded->machine.memories(m);
      if (loaded->IsSystem(m) && range.begin >= memory.base_address() &&
          range.end <= memory.base_address() + memory.capacity_bytes()) {
        EK_RETURN_IF_ERROR(loaded->Reserve(
            m, range.begin, static_cast<int64_t>(range.end - range.begin),
            "transfer"));
      }
    }
  }
  return absl::OkStatus();
}

// Loads the ranges of one stream that steps launch.
class StreamLoader {
 public:
  // The stream's engine has a simulator.
  StreamLoader(LoadedProgram* loaded, int32_t index)
      : loaded_(loaded),
        index_(index),
        stream_(loaded->program.streams(index)),
        engine_(loaded->machine.engines(stream_.engine())),
        words_(static_cast<int64_t>(stream_.code().size()) /
               engine_.isa().word_bytes()) {}

  absl::Status Begin() {
    EK_ASSIGN_OR_RETURN(layer_of_word_,
                        LayersOfWords(*loaded_, index_, words_));
    return absl::OkStatus();
  }

  // The index in loaded.streams of commands [first, end); end = 0: to the end
  // of the stream.
  absl::StatusOr<int32_t> Load(int32_t first, int32_t end) {
    const std::string what =
        first == 0 && end == 0 ? absl::StrCat("stream ", index_)
                               : absl::StrCat("stream ", index_, ", commands [",
                                              first, ", ", end, ")");
    const int64_t last = end == 0 ? words_ : end;
    const bool all = first == 0 && end == 0;
    if (first < 0 || last > words_ || (first >= last && !all)) {
      return InvalidProgram(
          "a launch of no commands, or of some beyond the "
          "stream",
          what, absl::StrCat(words_, " commands"));
    }
    const auto [found, added] = ranges_.try_emplace(
        {first, last}, static_cast<int32_t>(loaded_->streams.size()));
    if (!added) return found->second;
    total_words_ += last - first;
    if (total_words_ > kMaxOverlap * words_) {
      return InvalidProgram(
          "ranges of the stream are launched that overlap "
          "too often",
          what, absl::StrCat(kMaxOverlap * words_, " commands"));
    }
    EK_RETURN_IF_ERROR(LoadRange(first, last, what), what);
    return found->second;
  }

 private:
  absl::Status LoadRange(int64_t first, int64_t last, std::string name) {
    LoadedStream result;
    result.engine = stream_.engine();
    result.program_stream = index_;
    result.first_word = static_cast<int32_t>(first);
    result.layer_of_word.assign(layer_of_word_.begin() + first,
                                layer_of_word_.begin() + last);
    result.name = std::move(name);
    // Bytes behind the last whole word: the simulator refuses them.
    absl::string_view code = stream_.code();
    code.remove_prefix(first * engine_.isa().word_bytes());
    if (last < words_) {
      code = code.substr(0, (last - first) * engine_.isa().word_bytes());
    }
    EK_ASSIGN_OR_RETURN(result.stream, loaded_->simulators[result.engine]->Load(
                                           code, loaded_->machine,
                                           ContextOf(*loaded_, result.engine,
                                                     result.layer_of_word)));
    EK_RETURN_IF_ERROR(CheckOwners(result));
    EK_RETURN_IF_ERROR(ReserveReach(loaded_, result));
    loaded_->streams.push_back(std::move(result));
    return absl::OkStatus();
  }

  LoadedProgram* loaded_;
  int32_t index_;
  const v1::Program::Stream& stream_;
  const v1::Machine::Engine& engine_;
  int64_t words_;
  std::vector<int32_t> layer_of_word_;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, int32_t> ranges_;
  int64_t total_words_ = 0;
};

// Steps that launch each stream.
absl::StatusOr<std::vector<std::vector<int32_t>>> LaunchesOf(
    const v1::Program& program) {
  std::vector<std::vector<int32_t>> launches(program.streams_size());
  for (int32_t i = 0; i < program.steps_size(); ++i) {
    if (!program.steps(i).has_launch()) continue;
    const int32_t stream = program.steps(i).launch().stream();
    if (stream < 0 || stream >= program.streams_size()) {
      return InvalidProgram(absl::StrCat("no stream ", stream),
                            absl::StrCat("step ", i));
    }
    launches[stream].push_back(i);
  }
  return launches;
}

absl::Status LoadStream(int32_t index, const std::vector<int32_t>& launches,
                        SimulatorMaker new_simulator, LoadedProgram* loaded) {
  const int32_t engine = loaded->program.streams(index).engine();
  const std::string where = absl::StrCat("stream ", index);
  EK_RETURN_IF_ERROR(loaded->NeedSimulator(engine, new_simulator), where);
  if (!loaded->machine.engines(engine).has_isa()) {
    return InvalidProgram(
        absl::StrCat("engine ", loaded->machine.engines(engine).name(),
                     " runs no streams: the host drives it"),
        where);
  }
  StreamLoader loader(loaded, index);
  EK_RETURN_IF_ERROR(loader.Begin());
  for (const int32_t step : launches) {
    const v1::Program::Launch& launch = loaded->program.steps(step).launch();
    EK_ASSIGN_OR_RETURN(
        loaded->steps[step].stream,
        loader.Load(launch.first_command(), launch.end_command()));
  }
  return launches.empty() ? loader.Load(0, 0).status() : absl::OkStatus();
}

}  // namespace

absl::Status LoadStreams(LoadedProgram* loaded, SimulatorMaker new_simulator) {
  EK_ASSIGN_OR_RETURN(const auto launches, LaunchesOf(loaded->program));
  for (int32_t s = 0; s < loaded->program.streams_size(); ++s) {
    EK_RETURN_IF_ERROR(LoadStream(s, launches[s], new_simulator, loaded));
  }
  for (const v1::Program::CommandRange& range : loaded->program.ranges()) {
    if (range.stream() < 0 ||
        range.stream() >= loaded->program.streams_size()) {
      return InvalidProgram(absl::StrCat("no stream ", range.stream()),
                            "ranges");
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::simfarm
