#ifndef EK_TARGET_LAYOUT_PARTS_H_
#define EK_TARGET_LAYOUT_PARTS_H_

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
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

// A term of a canonical layout whose digit takes more than one value.
struct LayoutDigit {
  int64_t divide = 1;
  int64_t count = 1;  // Values that it takes.
  int64_t stride = 0;
};
// Of an axis, rising divide.
using LayoutDigits = absl::InlinedVector<LayoutDigit, 2>;

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

// Compares parts of an array that are whole but for one axis with another
// array: PartOf() and SamePlaces() for many parts, without layouts of them.
class PartComparison {
 public:
  PartComparison(const v1::Layout& whole, int axis, const v1::Layout& part);
  // Whether the part from index `begin` on, as long as the other array, has its
  // elements at the same distances. The first byte may be another one of its
  // group. False if no layout describes the part.
  bool SameSteps(int64_t begin) const;

 private:
  bool others_are_same_ = false;  // Axes, and what elements are.
  int64_t extent_ = 0;            // Of the other array.
  LayoutDigits whole_;
  LayoutDigits part_;
};

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
