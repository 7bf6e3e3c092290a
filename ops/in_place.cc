#include "ops/in_place.h"

namespace edgekiln::ops {

bool MayOverwriteInput(const v1::OpAttributes& op) { return op.has_clip(); }

bool IsElementwise(const v1::OpAttributes& op) {
  return op.has_clip() || op.has_add() || op.has_mul() || op.has_unary() ||
         op.has_binary();
}

}  // namespace edgekiln::ops
