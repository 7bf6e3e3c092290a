#ifndef EK_OPS_IN_PLACE_H_
#define EK_OPS_IN_PLACE_H_

#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::ops {

// Whether the op's one result may have the memory of its first input: each
// element is computed from that input's element at the same place, and from
// nothing else, so that also the order of the elements does not matter. Both
// must have one element type.
bool MayOverwriteInput(const v1::OpAttributes& op);

// Whether each element of the op's one result is computed from the elements at
// the same place of its inputs, all of one shape or of one element, and from
// nothing else: then the order of the elements does not matter.
bool IsElementwise(const v1::OpAttributes& op);

}  // namespace edgekiln::ops

#endif  // EK_OPS_IN_PLACE_H_
