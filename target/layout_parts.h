#ifndef EK_TARGET_LAYOUT_PARTS_H_
#define EK_TARGET_LAYOUT_PARTS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "edgekiln/v1/layout.pb.h"

// Layouts of parts of arrays and of reshaped arrays, and their comparison.
// Arguments are legal layouts (target/layout.h) of arrays that are not empty.
namespace edgekiln::target {

// The same layout with as few terms as possible, ordered by axis and divide.
// Layouts of equal extents that place each element alike become equal.
v1::Layout Canonical(const v1::Layout& layout);

// Whether two layouts of equal extents and elements put each element at the
// same bytes. Sizes may differ.
bool SamePlaces(const v1::Layout& a, const v1::Layout& b);

// The same with its elements closer together where there are gaps between them,
// in the same order: canonical. Nothing if no layout expresses it, as of blocks
// that an axis fills only partly, or reversed groups would not be whole.
std::optional<v1::Layout> WithoutGaps(const v1::Layout& layout);

// A part of an array: a range of indices on every axis.
struct Part {
  int64_t offset = 0;  // Of its first element, from the array's first byte.
  v1::Layout layout;   // Canonical.
};

// Elements begin[axis] .. begin[axis] + extents[axis] of the array of `whole`.
// Nothing if the part cuts blocks so that no layout describes it. Of reversed
// bytes, `offset` is that of the first one's group.
std::optional<Part> PartOf(const v1::Layout& whole,
                           absl::Span<const int64_t> begin,
                           absl::Span<const int64_t> extents);

// The layout for an array of `shape` with the same elements in the same dense
// order: canonical. Nothing if no layout expresses it: each digit of an index
// of one shape must be a digit of an index of the other, and an axis that fills
// its last block only partly must be an axis of both.
std::optional<v1::Layout> InShape(const v1::Layout& layout,
                                  absl::Span<const int64_t> shape);

// The layout for the array whose axis i is axis permutation[i] of this one:
// canonical. `permutation` has each axis once.
v1::Layout Permuted(const v1::Layout& layout,
                    absl::Span<const int32_t> permutation);

}  // namespace edgekiln::target

#endif  // EK_TARGET_LAYOUT_PARTS_H_
