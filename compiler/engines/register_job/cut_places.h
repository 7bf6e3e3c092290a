#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_CUT_PLACES_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_CUT_PLACES_H_

#include <cstdint>

#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/tiles.h"

// Where the parts of cut tensors begin within groups of reversed bytes. A link
// that counts nothing but bytes moves whole groups, so that parts of equal
// extents cost differently where they begin differently.
namespace edgekiln::compiler::register_job {

// Which operand of a placement.
enum class CutOperand { kInput, kInput2, kOutput };

// Of the operand's part of a tile with these cuts: the first byte's place in
// its group, which the kinds' CutPlaceOf() tell. 0 where no bytes are reversed.
int64_t PlaceInGroup(const Operand& operand, CutOperand which,
                     const CutAxis::Kind& h, const CutAxis::Kind& w,
                     const CutAxis::Kind& c);

// For the tiles of this op: tells apart cuts that begin at another place of a
// group of some operand. Empty if no operand has reversed bytes. `placement`
// must outlive it.
CutPlace CutPlaceOf(const Placement& placement);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_CUT_PLACES_H_
