#include "compiler/engines/register_job/choice_memo.h"

#include <initializer_list>
#include <utility>

namespace edgekiln::compiler::register_job {
namespace {

// All that a search reads, as bytes.
class KeyWriter {
 public:
  void Add(std::initializer_list<int64_t> values) {
    for (const int64_t value : values) {
      key_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
  void Add(const std::string& bytes) {
    Add({std::ssize(bytes)});
    key_ += bytes;
  }

  void Add(const WindowAxis& axis) {
    Add({axis.kernel, axis.stride, axis.dilation, axis.pad_before});
  }

  void Add(const Operation& operation) {
    Add({operation.kernel, operation.input2 != kNoTensor,
         operation.weights != kNoTensor, operation.in.h, operation.in.w,
         operation.in.c, operation.out.h, operation.out.w, operation.out.c,
         operation.in_padding, operation.out_padding, operation.input_bytes,
         operation.output_bytes, operation.depth_multiplier,
         operation.takes_whole_axes});
    Add(operation.vertical);
    Add(operation.horizontal);
    for (const int64_t value : operation.variables.values()) Add({value});
  }

  void Add(const Operand& operand) {
    Add({operand.present(), operand.memory, operand.resident,
         operand.over != kNoTensor});
    if (operand.present()) Add(operand.whole.SerializeAsString());
  }

  // Of the op and its job alone.
  void AddJob(const Placement& placement) {
    Add({placement.chip->engine(), placement.job, placement.constants_in_place,
         placement.block, placement.cell_channels});
    Add(placement.operation);
  }

  void Add(const Placement& placement) {
    AddJob(placement);
    Add({placement.by_row, placement.input_channels_multiple,
         placement.input.tensor == placement.input2.tensor});
    Add(placement.input);
    Add(placement.input2);
    Add(placement.output);
  }

  std::string Take() { return std::move(key_); }

 private:
  std::string key_;
};

}  // namespace

absl::StatusOr<std::optional<Choice>> ChoiceMemo::BestChoice(
    const Placement& placement, int64_t bytes,
    const v1::register_job::TileDecisions& decisions) {
  KeyWriter writer;
  writer.Add(placement);
  writer.Add({bytes});
  writer.Add(decisions.SerializeAsString());
  const auto [known, is_new] =
      known_.try_emplace(writer.Take(), std::optional<Choice>());
  if (is_new) {
    known->second = register_job::BestChoice(placement, bytes, decisions);
  }
  return known->second;
}

OpCosts* ChoiceMemo::CostsOf(const Placement& placement) {
  KeyWriter writer;
  writer.AddJob(placement);
  std::unique_ptr<OpCosts>& costs = costs_[writer.Take()];
  if (costs == nullptr) costs = std::make_unique<OpCosts>();
  return costs.get();
}

}  // namespace edgekiln::compiler::register_job
