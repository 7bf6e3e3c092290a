#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_LAYOUTS_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_LAYOUTS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "edgekiln/v1/layout.pb.h"

// Layouts of tensors and of their parts, compared by where elements lie. Those
// handed in are legal (target/layout.h), their arrays not empty.
namespace edgekiln::compiler::register_job {

// The same places by as few terms as possible, in order of axis and divide:
// layouts of equal extents that put each element at the same byte become equal.
v1::Layout Canonical(const v1::Layout& layout);

// Some neighbouring elements of a bigger array.
struct Part {
  int64_t offset = 0;  // Of its first element, from the array's first byte.
  v1::Layout layout;   // Canonical.
};

// Elements begin[axis] .. begin[axis] + extents[axis] of the array of `whole`.
// Nothing if blocks of the array and the part's end at different places, so
// that no layout describes it.
std::optional<Part> PartOf(const v1::Layout& whole,
                           absl::Span<const int64_t> begin,
                           absl::Span<const int64_t> extents);

// The layout of an image {h, w, c} for a tensor of `shape` with the same
// elements in the same dense order: canonical. Nothing if there is none.
std::optional<v1::Layout> InShape(const v1::Layout& image,
                                  absl::Span<const int64_t> shape);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_LAYOUTS_H_
