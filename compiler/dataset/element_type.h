#ifndef EK_COMPILER_DATASET_ELEMENT_TYPE_H_
#define EK_COMPILER_DATASET_ELEMENT_TYPE_H_

// Between the element types of networks and those of array files.

#include <optional>

#include "compiler/dataset/npy.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// The array type that holds a network's values as they are; empty for
// ELEMENT_TYPE_UNSPECIFIED.
std::optional<NpyType> NpyTypeOf(v1::ElementType type);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_ELEMENT_TYPE_H_
