#include "compiler/engines/register_job/layouts.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "target/layout.h"

namespace edgekiln::compiler::register_job {
namespace {

// A term that tells elements apart.
struct Digit {
  int64_t divide = 1;
  int64_t count = 1;  // Values that it takes.
  int64_t stride = 0;
};
using Digits = absl::InlinedVector<Digit, 2>;  // Of an axis, rising divide.

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What is left of `digits` for indices below `extent`, in as few as possible.
Digits Reduced(const Digits& digits, int64_t extent) {
  Digits reduced;
  for (const Digit& digit : digits) {
    Digit next = digit;
    next.count = std::min(next.count, CeilDiv(extent, next.divide));
    if (next.count < 2) continue;
    if (!reduced.empty()) {
      Digit& last = reduced.back();
      // The digit below takes all of its values: it is not the highest.
      if (next.divide == last.divide * last.count &&
          next.stride == last.stride * last.count) {
        last.count *= next.count;
        continue;
      }
    }
    reduced.push_back(next);
  }
  return reduced;
}

Digits DigitsOf(const v1::Layout& layout, int axis) {
  const int64_t extent = layout.extents(axis);
  Digits digits;
  for (const v1::Layout::Term& term : layout.terms()) {
    if (term.axis() != axis) continue;
    Digit digit;
    digit.divide = std::max<int64_t>(term.divide(), 1);
    digit.count = CeilDiv(extent, digit.divide);
    if (term.modulo() > 0) digit.count = std::min(digit.count, term.modulo());
    digit.stride = term.stride_bytes();
    digits.push_back(digit);
  }
  std::sort(digits.begin(), digits.end(),
            [](const Digit& a, const Digit& b) { return a.divide < b.divide; });
  return Reduced(digits, extent);
}

void AddTerms(int axis, const Digits& digits, v1::Layout& layout) {
  for (size_t d = 0; d < digits.size(); ++d) {
    v1::Layout::Term& term = *layout.add_terms();
    term.set_axis(axis);
    if (digits[d].divide > 1) term.set_divide(digits[d].divide);
    if (d + 1 < digits.size()) {
      term.set_modulo(digits[d + 1].divide / digits[d].divide);
    }
    term.set_stride_bytes(digits[d].stride);
  }
}

// An array with the elements of `layout`, but no terms yet.
v1::Layout Empty(const v1::Layout& layout, absl::Span<const int64_t> extents) {
  v1::Layout empty;
  empty.set_element_bits(layout.element_bits());
  empty.set_size_bytes(layout.size_bytes());
  for (const int64_t extent : extents) empty.add_extents(extent);
  return empty;
}

// What elements span, from the first one's first byte.
int64_t SpanOf(const v1::Layout& layout) {
  int64_t span = layout.element_bits() / 8;
  for (int axis = 0; axis < layout.extents_size(); ++axis) {
    for (const Digit& digit : DigitsOf(layout, axis)) {
      span += (digit.count - 1) * digit.stride;
    }
  }
  return span;
}

// Digits of indices [begin, begin + extent) of an axis; adds to `offset` where
// the first of them lies.
std::optional<Digits> PartOfAxis(Digits digits, int64_t begin, int64_t extent,
                                 int64_t& offset) {
  while (!digits.empty()) {
    const Digit& high = digits.back();
    const bool aligned = begin % high.divide == 0;
    const bool inside =
        begin / high.divide == (begin + extent - 1) / high.divide;
    if (!aligned && !inside) return std::nullopt;
    offset += begin / high.divide * high.stride;
    begin %= high.divide;
    if (aligned) break;
    digits.pop_back();
  }
  return Reduced(digits, extent);
}

}  // namespace

v1::Layout Canonical(const v1::Layout& layout) {
  v1::Layout canonical = Empty(layout, layout.extents());
  for (int axis = 0; axis < layout.extents_size(); ++axis) {
    AddTerms(axis, DigitsOf(layout, axis), canonical);
  }
  return canonical;
}

std::optional<Part> PartOf(const v1::Layout& whole,
                           absl::Span<const int64_t> begin,
                           absl::Span<const int64_t> extents) {
  Part part;
  part.layout = Empty(whole, extents);
  for (int axis = 0; axis < whole.extents_size(); ++axis) {
    const auto digits = PartOfAxis(DigitsOf(whole, axis), begin[axis],
                                   extents[axis], part.offset);
    if (!digits) return std::nullopt;
    AddTerms(axis, *digits, part.layout);
  }
  part.layout.set_size_bytes(SpanOf(part.layout));
  return part;
}

std::optional<v1::Layout> InShape(const v1::Layout& image,
                                  absl::Span<const int64_t> shape) {
  const v1::Layout canonical = Canonical(image);
  const int64_t element_bytes = canonical.element_bits() / 8;
  const auto rank = static_cast<int>(shape.size());
  // Axes of the image from the tensor's last one on; the rest is its h.
  int64_t rows = 1;
  bool alike = true;
  for (int axis = 0; axis < rank; ++axis) {
    const int from_last = rank - 1 - axis;
    if (from_last < 2) {
      alike = alike && shape[axis] == canonical.extents(2 - from_last);
    } else {
      rows *= shape[axis];
    }
  }
  alike = alike && rows == canonical.extents(0) &&
          (rank > 1 || canonical.extents(1) == 1) &&
          (rank > 0 || canonical.extents(2) == 1);
  const Digits h = DigitsOf(canonical, 0);
  if (alike && h.size() < 2) {
    v1::Layout layout = Empty(canonical, shape);
    const int64_t row_stride = h.empty() ? 0 : h[0].stride;
    for (int axis = 0; axis < rank; ++axis) {
      const int from_last = rank - 1 - axis;
      if (from_last < 2) {
        AddTerms(axis, DigitsOf(canonical, 2 - from_last), layout);
        continue;
      }
      rows /= shape[axis];
      if (shape[axis] > 1) {
        AddTerms(axis, {{1, shape[axis], row_stride * rows}}, layout);
      }
    }
    return layout;
  }
  const v1::Layout dense = target::DenseLayout(
      {canonical.extents(0), canonical.extents(1), canonical.extents(2)},
      element_bytes);
  if (canonical.SerializeAsString() != dense.SerializeAsString()) {
    return std::nullopt;
  }
  return target::DenseLayout(shape, element_bytes);
}

}  // namespace edgekiln::compiler::register_job
