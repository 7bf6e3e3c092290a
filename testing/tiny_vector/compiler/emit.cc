#include "testing/tiny_vector/compiler/emit.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "edgekiln/v1/engines/tiny_vector.pb.h"
#include "target/layout.h"
#include "testing/tiny_vector/compiler/code_writer.h"
#include "testing/tiny_vector/compiler/layer.h"
#include "testing/tiny_vector/compiler/tiles.h"
#include "testing/tiny_vector/model.h"

namespace edgekiln::compiler::tiny_vector {
namespace {

using target::tiny_vector::Banks;
using target::tiny_vector::Command;

absl::Status Foreign() {
  return absl::InvalidArgumentError(
      "the region's plan belongs to another region or machine");
}

class Emitter {
 public:
  Emitter(const Region& region, const v1::Machine& machine, const Banks& banks,
          const RegionMemory& memory, CodeWriter code)
      : region_(region),
        machine_(machine),
        banks_(banks),
        memory_(memory),
        code_(std::move(code)) {}

  absl::StatusOr<RegionCode> Run(
      const v1::tiny_vector::RegionDecisions& decisions) {
    EK_ASSIGN_OR_RETURN(const std::vector<Layer> layers, LayersOf(region_));
    int decided = 0;
    for (const Layer& layer : layers) {
      if (layer.kind == Layer::Kind::kAlias) {
        AddAlias(layer);
        continue;
      }
      if (decided == decisions.layers_size()) return Foreign();
      EK_RETURN_IF_ERROR(AddLayer(layer, decisions.layers(decided++)));
    }
    if (decided != decisions.layers_size()) return Foreign();
    EK_RETURN_IF_ERROR(AddEnd());
    for (const int32_t bank : {banks_.a, banks_.b}) {
      result_.memories.push_back({bank, peak_bytes_});
    }
    result_.code = code_.TakeCode();
    return std::move(result_);
  }

 private:
  absl::StatusOr<int64_t> AddressOf(TensorId tensor) const {
    const auto found = memory_.tensors->find(region_.storage[tensor]);
    if (found == memory_.tensors->end()) return Foreign();
    return static_cast<int64_t>(found->second);
  }

  absl::Status AddLayer(const Layer& layer,
                        const v1::tiny_vector::RegionDecisions::Layer& how) {
    const Tile tile = {how.pixels(), how.channels()};
    if (how.op() != layer.op || tile.pixels < 1 || tile.channels < 1 ||
        tile.pixels > layer.out_w || tile.channels > layer.channels) {
      return Foreign();
    }
    const int64_t bytes = VectorsOf(tile, banks_.lanes) * banks_.lanes;
    for (const int32_t bank : {banks_.a, banks_.b}) {
      if (bytes > machine_.memories(bank).capacity_bytes()) return Foreign();
    }
    Addresses at;
    EK_ASSIGN_OR_RETURN(at.input, AddressOf(layer.input));
    EK_ASSIGN_OR_RETURN(at.output, AddressOf(layer.output));
    if (layer.input2 != kNoTensor) {
      EK_ASSIGN_OR_RETURN(at.input2, AddressOf(layer.input2));
    }
    const int64_t first_word = code_.words();
    const int64_t cycles = code_.cycles();
    RegionCode::LayerUse use = {.op = layer.op, .sram_bytes = bytes};
    EK_RETURN_IF_ERROR(
        WriteLayer(layer, tile, banks_.lanes, at, code_, use.tiles));
    use.cycles = code_.cycles() - cycles;
    result_.layers.push_back(use);
    peak_bytes_ = std::max(peak_bytes_, bytes);
    v1::Program::CommandRange& range = result_.ranges.emplace_back();
    range.set_first_command(static_cast<int32_t>(first_word));
    range.set_last_command(static_cast<int32_t>(code_.words() - 1));
    range.set_layer(layer.op);
    last_store_[region_.storage[layer.output]] = range.last_command();
    AddTap(layer.output, range.last_command());
    return absl::OkStatus();
  }

  // The same bytes, which are there as soon as they are under another shape.
  // Made outside the region: the caller's to show.
  void AddAlias(const Layer& layer) {
    result_.layers.push_back({.op = layer.op});
    const auto made = last_store_.find(region_.storage[layer.output]);
    if (made != last_store_.end()) AddTap(layer.output, made->second);
  }

  // A whole tensor, which the command has completed in system memory.
  void AddTap(TensorId tensor, int32_t command) {
    const std::vector<int64_t>& shape = region_.graph->tensors[tensor].shape;
    v1::Program::Tap& tap = result_.taps.emplace_back();
    tap.set_command(command);
    tap.set_tensor(tensor);
    *tap.mutable_box() = target::WholeBox(shape);
    tap.set_layout(static_cast<int32_t>(result_.layouts.size()));
    result_.layouts.push_back(target::DenseLayout(shape, 1));
    tap.mutable_location()->set_memory(memory_.ram);
    tap.mutable_location()->set_address(
        memory_.tensors->at(region_.storage[tensor]));
  }

  // END belongs to the layer before it.
  absl::Status AddEnd() {
    const int64_t cycles = code_.cycles();
    EK_RETURN_IF_ERROR(code_.Run(Command::kEnd));
    if (result_.ranges.empty()) return absl::OkStatus();
    v1::Program::CommandRange& last = result_.ranges.back();
    last.set_last_command(static_cast<int32_t>(code_.words() - 1));
    for (RegionCode::LayerUse& use : result_.layers) {
      if (use.op == last.layer()) use.cycles += code_.cycles() - cycles;
    }
    return absl::OkStatus();
  }

  const Region& region_;
  const v1::Machine& machine_;
  const Banks banks_;
  const RegionMemory& memory_;
  CodeWriter code_;
  RegionCode result_;
  int64_t peak_bytes_ = 0;
  // The command that completes a tensor, by storage.
  absl::flat_hash_map<TensorId, int32_t> last_store_;
};

}  // namespace

absl::StatusOr<RegionCode> EmitRegion(const Region& region,
                                      const v1::RegionPlan& plan,
                                      const v1::Machine& machine,
                                      const RegionMemory& memory) {
  v1::tiny_vector::RegionDecisions decisions;
  if (!plan.decisions().UnpackTo(&decisions)) return Foreign();
  EK_ASSIGN_OR_RETURN(CodeWriter code,
                      CodeWriter::Create(machine, plan.engine()));
  return Emitter(region, machine,
                 target::tiny_vector::BanksOf(machine, plan.engine()), memory,
                 std::move(code))
      .Run(decisions);
}

}  // namespace edgekiln::compiler::tiny_vector
