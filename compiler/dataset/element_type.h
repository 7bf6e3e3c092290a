#ifndef EK_COMPILER_DATASET_ELEMENT_TYPE_H_
#define EK_COMPILER_DATASET_ELEMENT_TYPE_H_

// Between the element types of networks and those of array files.

#include <cstdint>
#include <optional>

#include "compiler/dataset/npy.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// The array type that holds a network's values as they are; empty for
// ELEMENT_TYPE_UNSPECIFIED.
std::optional<NpyType> NpyTypeOf(v1::ElementType type);

// Smallest and largest value of an integer type; {0, 0} of floats. Of 64-bit
// types, what a double holds exactly.
struct IntegerRange {
  int64_t lowest = 0;
  int64_t highest = 0;
};
IntegerRange IntegerRangeOf(NpyType type);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_ELEMENT_TYPE_H_
