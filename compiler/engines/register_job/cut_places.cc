#include "compiler/engines/register_job/cut_places.h"

#include <algorithm>

namespace edgekiln::compiler::register_job {
namespace {

// Of an operand, in the places of all. A group has 8 bytes at most.
constexpr int kPlaceBits = 3;
constexpr int ShiftOf(CutOperand which) {
  return kPlaceBits * static_cast<int>(which);
}

// What an index of an axis adds to the first byte's place.
int64_t PlaceOf(const v1::Layout& whole, int axis, int64_t index) {
  int64_t offset = 0;
  for (const v1::Layout::Term& term : whole.terms()) {
    if (term.axis() != axis) continue;
    int64_t digit = index / std::max<int64_t>(term.divide(), 1);
    if (term.modulo() > 0) digit %= term.modulo();
    offset += digit * term.stride_bytes();
  }
  return offset % whole.reversed_bytes();
}

bool Reverses(const Operand& operand) {
  return operand.present() && operand.whole.reversed_bytes() > 1;
}

}  // namespace

int64_t PlaceInGroup(const Operand& operand, CutOperand which,
                     const CutAxis::Kind& h, const CutAxis::Kind& w,
                     const CutAxis::Kind& c) {
  if (!Reverses(operand)) return 0;
  int64_t place = operand.whole.first_byte();
  for (const CutAxis::Kind* const kind : {&h, &w, &c}) {
    place += kind->place >> ShiftOf(which) & ((1 << kPlaceBits) - 1);
  }
  return place % operand.whole.reversed_bytes();
}

CutPlace CutPlaceOf(const Placement& placement) {
  if (!Reverses(placement.input) && !Reverses(placement.input2) &&
      !Reverses(placement.output)) {
    return {};
  }
  return [&placement](int axis, const Cut& cut) {
    int64_t place = 0;
    const auto add = [&](const Operand& operand, CutOperand which,
                         int64_t begin) {
      if (!Reverses(operand)) return;
      place |= PlaceOf(operand.whole, axis, begin) << ShiftOf(which);
    };
    add(placement.input, CutOperand::kInput, cut.in_begin);
    add(placement.input2, CutOperand::kInput2, cut.in_begin);
    add(placement.output, CutOperand::kOutput, cut.begin);
    return place;
  };
}

}  // namespace edgekiln::compiler::register_job
