#include "compiler/codegen/tensor_uses.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace edgekiln::compiler {
namespace {

struct Life {
  int32_t first = -1;  // -1: nobody uses it.
  int32_t last = -1;

  void Add(int32_t layer) {
    first = first < 0 ? layer : std::min(first, layer);
    last = std::max(last, layer);
  }
};

// Whether the op's output is its input under another name or shape.
bool IsAlias(const Op& op, const std::vector<TensorId>& storage) {
  return !op.inputs.empty() && op.inputs[0] != kNoTensor &&
         storage[op.inputs[0]] == storage[op.outputs[0]];
}

// By storage: a use of a reshape is a use of its input.
std::vector<Life> LivesOf(const Graph& graph,
                          const std::vector<TensorId>& storage) {
  std::vector<Life> lives(graph.tensors.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (IsAlias(graph.ops[i], storage)) continue;
    const auto layer = static_cast<int32_t>(i);
    for (const TensorId tensor : graph.ops[i].inputs) {
      if (tensor != kNoTensor) lives[storage[tensor]].Add(layer);
    }
    for (const TensorId tensor : graph.ops[i].outputs) {
      lives[storage[tensor]].Add(layer);
    }
  }
  for (const TensorId input : graph.inputs) lives[storage[input]].Add(0);
  const auto last = static_cast<int32_t>(graph.ops.size()) - 1;
  for (const TensorId output : graph.outputs) {
    lives[storage[output]].Add(std::max(last, 0));
  }
  return lives;
}

// Scratchpad and address of what lies in no system memory. Taps show parts of
// it, the first byte among them. Not of what is never there as a whole.
ResidentPlaces ResidentTensors(const Graph& graph,
                               const std::vector<TensorId>& storage,
                               const TensorPlaces& places,
                               const v1::Program& program) {
  ResidentPlaces found = places.resident;
  std::map<TensorId, uint64_t> ends;
  for (const v1::Program::Tap& tap : program.taps()) {
    if (tap.stream() < 0) continue;
    const TensorId stored = storage[tap.tensor()];
    if (places.ram.contains(stored) || places.flash.contains(stored)) continue;
    const auto [place, is_new] = found.try_emplace(
        stored, tap.location().memory(), tap.location().address());
    place->second.second =
        std::min<uint64_t>(place->second.second, tap.location().address());
    uint64_t& end = ends[stored];
    end = std::max<uint64_t>(
        end,
        tap.location().address() +
            static_cast<uint64_t>(program.layouts(tap.layout()).size_bytes()));
  }
  for (const auto& [tensor, end] : ends) {
    const auto place = found.find(tensor);
    if (end - place->second.second <
        static_cast<uint64_t>(BytesOf(graph.tensors[tensor]))) {
      found.erase(place);
    }
  }
  return found;
}

// The first and the last step that use something.
struct Steps {
  int32_t first = -1;  // -1: none does.
  int32_t last = -1;

  void Add(const Steps& more) {
    if (more.first < 0) return;
    first = first < 0 ? more.first : std::min(first, more.first);
    last = std::max(last, more.last);
  }
};

struct Room {
  int32_t memory = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Which steps a layer's tensors are used in. Moves and ops of the host name
// places; launches and jobs use whatever their layer does.
class StepsOfLayers {
 public:
  explicit StepsOfLayers(const v1::Program& program)
      : program_(program),
        touches_(program.layers_size()),
        ranges_(program.streams_size()),
        ends_(EndsOf(program)) {
    for (const v1::Program::CommandRange& range : program.ranges()) {
      ranges_[range.stream()].push_back(&range);
    }
    for (int32_t i = 0; i < program.steps_size(); ++i) AddStep(i);
  }

  // Of a tensor in that room, in this layer.
  Steps In(int32_t layer, const Room& room) const {
    Steps named, any;
    for (const Touch& touch : touches_[layer]) {
      const Steps step = {touch.step, touch.last_step};
      any.Add(step);
      if (touch.room.memory == room.memory && touch.room.begin < room.end &&
          room.begin < touch.room.end) {
        named.Add(step);
      }
    }
    return named.first < 0 ? any : named;
  }

 private:
  struct Touch {
    int32_t step = 0;
    int32_t last_step = 0;
    Room room;  // Empty: none is named.
  };

  // By step: of a launch, the next wait for its engine, or the last step.
  static std::vector<int32_t> EndsOf(const v1::Program& program) {
    std::vector<int32_t> ends(program.steps_size());
    std::map<int32_t, int32_t> waits;  // By engine, the next one.
    for (int32_t i = program.steps_size() - 1; i >= 0; --i) {
      const v1::Program::Step& step = program.steps(i);
      if (step.has_wait()) {
        waits[step.wait().engine()] = i;
      } else if (step.has_launch()) {
        const auto wait =
            waits.find(program.streams(step.launch().stream()).engine());
        ends[i] = wait != waits.end() ? wait->second : program.steps_size() - 1;
      }
    }
    return ends;
  }

  void Add(int32_t layer, int32_t step, int32_t last_step, const Room& room) {
    if (layer < 0 || layer >= std::ssize(touches_)) return;
    touches_[layer].push_back({step, last_step, room});
  }

  void AddPlace(int32_t layer, int32_t step, const v1::Location& location,
                int64_t bytes) {
    Add(layer, step, step,
        {location.memory(), location.address(),
         location.address() + static_cast<uint64_t>(bytes)});
  }

  void AddStep(int32_t i) {
    const v1::Program::Step& step = program_.steps(i);
    if (step.has_host_op()) {
      for (const auto* operands :
           {&step.host_op().inputs(), &step.host_op().outputs()}) {
        for (const v1::Program::HostOp::Operand& operand : *operands) {
          if (operand.absent()) continue;
          int64_t bytes = ElementBytes(operand.type().element_type());
          for (const int64_t extent : operand.type().shape()) bytes *= extent;
          AddPlace(step.host_op().layer(), i, operand.location(), bytes);
        }
      }
    } else if (step.has_move()) {
      const v1::Program::Move& move = step.move();
      AddPlace(move.layer(), i, move.from(),
               program_.layouts(move.from_layout()).size_bytes());
      AddPlace(move.layer(), i, move.to(),
               program_.layouts(move.to_layout()).size_bytes());
    } else if (step.has_register_writes()) {
      Add(step.register_writes().layer(), i, i, {});
    } else if (step.has_poll()) {
      Add(step.poll().layer(), i, i, {});
    } else if (step.has_launch()) {
      AddLaunch(i, step.launch());
    }
  }

  void AddLaunch(int32_t i, const v1::Program::Launch& launch) {
    for (const v1::Program::CommandRange* range : ranges_[launch.stream()]) {
      const bool launched = range->last_command() >= launch.first_command() &&
                            (launch.end_command() == 0 ||
                             range->first_command() < launch.end_command());
      if (launched) Add(range->layer(), i, ends_[i], {});
    }
  }

  const v1::Program& program_;
  std::vector<std::vector<Touch>> touches_;  // By layer.
  std::vector<std::vector<const v1::Program::CommandRange*>>
      ranges_;  // By stream.
  std::vector<int32_t> ends_;
};

// By storage, of those that have a room.
std::vector<Steps> StepsOf(const Graph& graph,
                           const std::vector<TensorId>& storage,
                           const std::vector<Room>& rooms,
                           const v1::Program& program) {
  const StepsOfLayers layers(program);
  std::vector<Steps> found(rooms.size());
  const auto use = [&](TensorId id, int32_t layer) {
    if (id == kNoTensor || rooms[storage[id]].end == 0) return;
    found[storage[id]].Add(layers.In(layer, rooms[storage[id]]));
  };
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    const Op& op = graph.ops[i];
    if (IsAlias(op, storage)) continue;
    for (const TensorId id : op.inputs) use(id, i);
    for (const TensorId id : op.outputs) use(id, i);
  }
  const int32_t last = std::max(program.steps_size() - 1, 0);
  for (const TensorId id : graph.inputs) found[storage[id]].Add({0, 0});
  for (const TensorId id : graph.outputs) found[storage[id]].Add({last, last});
  return found;
}

}  // namespace

void AddTensorUses(const Graph& graph, const std::vector<TensorId>& storage,
                   const v1::Machine& machine, const TensorPlaces& places,
                   v1::Program* program) {
  const std::vector<Life> lives = LivesOf(graph, storage);
  std::vector<std::tuple<int32_t, uint64_t, TensorId>> sorted;
  for (const auto& [tensor, address] : places.ram) {
    sorted.emplace_back(MemoryAt(machine, places.memories.rams, address),
                        address, tensor);
  }
  for (const auto& [tensor, address] : places.flash) {
    sorted.emplace_back(places.memories.flash, address, tensor);
  }
  for (const auto& [tensor, place] :
       ResidentTensors(graph, storage, places, *program)) {
    sorted.emplace_back(place.first, place.second, tensor);
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<Room> rooms(graph.tensors.size());
  for (const auto& [memory, address, tensor] : sorted) {
    const auto bytes = static_cast<uint64_t>(BytesOf(graph.tensors[tensor]));
    rooms[tensor] = {memory, address, address + bytes};
  }
  const std::vector<Steps> steps = StepsOf(graph, storage, rooms, *program);
  for (const auto& [memory, address, tensor] : sorted) {
    const Tensor& described = graph.tensors[tensor];
    v1::TensorUse* use = program->add_tensors();
    use->set_name(described.name);
    use->set_memory(machine.memories(memory).name());
    use->set_address(address);
    use->set_bytes(BytesOf(described));
    use->set_first_layer(std::max(lives[tensor].first, 0));
    use->set_last_layer(std::max(lives[tensor].last, 0));
    if (program->steps_size() == 0) {
      use->set_first_step(use->first_layer());
      use->set_last_step(use->last_layer());
      continue;
    }
    const Steps& used = steps[tensor];
    use->set_first_step(std::max(used.first, 0));
    use->set_last_step(std::max(used.last, 0));
  }
}

}  // namespace edgekiln::compiler
