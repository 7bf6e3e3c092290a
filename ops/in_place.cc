#include "ops/in_place.h"

namespace edgekiln::ops {

bool MayOverwriteInput(const v1::OpAttributes& op) { return op.has_clip(); }

}  // namespace edgekiln::ops
