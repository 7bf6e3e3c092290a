#include "target/layout_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/rounding.h"
#include "target/layout.h"

namespace edgekiln::target {
namespace {

using Digit = LayoutDigit;
using Digits = LayoutDigits;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The digits of indices below `extent`, merged into as few as possible.
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

// Counts follow from the next digit's divide. That of the highest, merged from
// two, can be above what the extent lets it take.
bool SameDigits(const Digits& a, const Digits& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Digit& x, const Digit& y) {
                      return x.divide == y.divide && x.stride == y.stride;
                    });
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
  empty.set_reversed_bytes(layout.reversed_bytes());
  empty.set_first_byte(layout.first_byte());
  for (const int64_t extent : extents) empty.add_extents(extent);
  return empty;
}

// Bytes from the layout's first byte to the last byte of any element, in whole
// groups where bytes are reversed.
int64_t SpanOf(const v1::Layout& layout) {
  int64_t span = layout.first_byte() + layout.element_bits() / 8;
  for (int axis = 0; axis < layout.extents_size(); ++axis) {
    for (const Digit& digit : DigitsOf(layout, axis)) {
      span += (digit.count - 1) * digit.stride;
    }
  }
  return layout.reversed_bytes() == 0 ? span
                                      : RoundUp(span, layout.reversed_bytes());
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

// An axis as a range of the dense index: elements [weight, weight * extent).
struct Range {
  int64_t weight = 1;
  int64_t extent = 1;
};

// Of an array that is not empty; axes of one element are left out. Nothing if
// there are too many elements.
std::optional<std::vector<Range>> RangesOf(absl::Span<const int64_t> shape) {
  std::vector<Range> ranges(shape.size());
  int64_t weight = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    ranges[axis] = {weight, shape[axis]};
    const auto product = CheckedMul(weight, shape[axis]);
    if (!product) return std::nullopt;
    weight = *product;
  }
  return ranges;
}

// An array as digits of its dense index.
struct Flat {
  std::vector<Digit> digits;
  // Axes whose last block is filled only partly: they cannot be expressed as
  // digits of the dense index.
  struct Partial {
    Range range;
    std::vector<Digit> digits;  // Of the axis.
  };
  std::vector<Partial> partials;
};

// Merges digits with a common step.
std::vector<Digit> Merged(std::vector<Digit> digits) {
  std::sort(digits.begin(), digits.end(),
            [](const Digit& a, const Digit& b) { return a.divide < b.divide; });
  std::vector<Digit> merged;
  for (const Digit& digit : digits) {
    if (!merged.empty()) {
      Digit& last = merged.back();
      if (digit.divide == last.divide * last.count &&
          digit.stride == last.stride * last.count) {
        last.count *= digit.count;
        continue;
      }
    }
    merged.push_back(digit);
  }
  return merged;
}

Flat Flattened(const v1::Layout& layout, const std::vector<Range>& ranges) {
  Flat flat;
  for (int axis = 0; axis < layout.extents_size(); ++axis) {
    const Range& range = ranges[axis];
    const Digits of_axis = DigitsOf(layout, axis);
    std::vector<Digit> digits(of_axis.begin(), of_axis.end());
    if (digits.empty()) continue;
    if (digits.back().divide * digits.back().count != range.extent) {
      flat.partials.push_back({range, std::move(digits)});
      continue;
    }
    for (Digit digit : digits) {
      digit.divide *= range.weight;
      flat.digits.push_back(digit);
    }
  }
  flat.digits = Merged(std::move(flat.digits));
  return flat;
}

// Adds the terms of one axis of the array; false if a digit is also of another
// axis and cannot be divided between them.
bool AddAxis(const Flat& flat, const Range& range, int axis,
             v1::Layout& layout) {
  if (range.extent == 1) return true;
  for (const Flat::Partial& partial : flat.partials) {
    if (partial.range.weight == range.weight &&
        partial.range.extent == range.extent) {
      AddTerms(axis, Digits(partial.digits.begin(), partial.digits.end()),
               layout);
      return true;
    }
  }
  const int64_t end = range.weight * range.extent;
  Digits found;
  int64_t counted = 1;
  for (Digit digit : flat.digits) {
    if (digit.divide >= end || digit.divide * digit.count <= range.weight) {
      continue;
    }
    if (digit.divide < range.weight) {
      // Its lower digits belong to another axis.
      const int64_t below = range.weight / digit.divide;
      if (range.weight % digit.divide != 0 || digit.count % below != 0) {
        return false;
      }
      digit = {range.weight, digit.count / below, digit.stride * below};
    }
    if (digit.divide * digit.count > end) {
      if (end % digit.divide != 0 || digit.divide * digit.count % end != 0) {
        return false;
      }
      digit.count = end / digit.divide;
    }
    if (digit.divide % range.weight != 0) return false;
    digit.divide /= range.weight;
    counted *= digit.count;
    found.push_back(digit);
  }
  // Otherwise part of the axis belongs to one that fills its last block partly.
  if (counted != range.extent) return false;
  std::sort(found.begin(), found.end(),
            [](const Digit& a, const Digit& b) { return a.divide < b.divide; });
  AddTerms(axis, Reduced(found, range.extent), layout);
  return true;
}

}  // namespace

v1::Layout Canonical(const v1::Layout& layout) {
  v1::Layout canonical = Empty(layout, layout.extents());
  for (int axis = 0; axis < layout.extents_size(); ++axis) {
    AddTerms(axis, DigitsOf(layout, axis), canonical);
  }
  return canonical;
}

bool SamePlaces(const v1::Layout& a, const v1::Layout& b) {
  if (a.element_bits() != b.element_bits() ||
      a.reversed_bytes() != b.reversed_bytes() ||
      a.first_byte() != b.first_byte() ||
      !std::equal(a.extents().begin(), a.extents().end(), b.extents().begin(),
                  b.extents().end())) {
    return false;
  }
  for (int axis = 0; axis < a.extents_size(); ++axis) {
    if (!SameDigits(DigitsOf(a, axis), DigitsOf(b, axis))) return false;
  }
  return true;
}

std::optional<v1::Layout> WithoutGaps(const v1::Layout& layout) {
  std::vector<std::pair<int, Digit>> digits;  // With their axes.
  for (int axis = 0; axis < layout.extents_size(); ++axis) {
    const Digits of_axis = DigitsOf(layout, axis);
    int64_t count = 1;
    for (const Digit& digit : of_axis) {
      count *= digit.count;
      digits.emplace_back(axis, digit);
    }
    if (count != layout.extents(axis)) return std::nullopt;
  }
  std::sort(digits.begin(), digits.end(), [](const auto& a, const auto& b) {
    return a.second.stride < b.second.stride;
  });
  int64_t bytes = layout.element_bits() / 8;
  std::vector<Digits> of_axis(layout.extents_size());
  for (auto& [axis, digit] : digits) {
    digit.stride = bytes;
    bytes *= digit.count;
    of_axis[axis].push_back(digit);
  }
  if (layout.first_byte() != 0 ||
      (layout.reversed_bytes() != 0 && bytes % layout.reversed_bytes() != 0)) {
    return std::nullopt;
  }
  v1::Layout closer = Empty(layout, layout.extents());
  closer.set_size_bytes(bytes);
  for (int axis = 0; axis < layout.extents_size(); ++axis) {
    std::sort(
        of_axis[axis].begin(), of_axis[axis].end(),
        [](const Digit& a, const Digit& b) { return a.divide < b.divide; });
    AddTerms(axis, Reduced(of_axis[axis], layout.extents(axis)), closer);
  }
  return closer;
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
  if (whole.reversed_bytes() != 0) {
    const int64_t first = whole.first_byte() + part.offset;
    part.layout.set_first_byte(
        static_cast<int32_t>(first % whole.reversed_bytes()));
    part.offset = first - part.layout.first_byte();
  }
  part.layout.set_size_bytes(SpanOf(part.layout));
  return part;
}

PartComparison::PartComparison(const v1::Layout& whole, int axis,
                               const v1::Layout& part) {
  if (whole.element_bits() != part.element_bits() ||
      whole.reversed_bytes() != part.reversed_bytes() ||
      whole.extents_size() != part.extents_size()) {
    return;
  }
  for (int other = 0; other < whole.extents_size(); ++other) {
    if (other == axis) continue;
    if (whole.extents(other) != part.extents(other) ||
        !SameDigits(DigitsOf(whole, other), DigitsOf(part, other))) {
      return;
    }
  }
  others_are_same_ = true;
  extent_ = part.extents(axis);
  whole_ = DigitsOf(whole, axis);
  part_ = DigitsOf(part, axis);
}

bool PartComparison::SameSteps(int64_t begin) const {
  if (!others_are_same_) return false;
  int64_t offset = 0;
  const auto digits = PartOfAxis(whole_, begin, extent_, offset);
  return digits && SameDigits(*digits, part_);
}

std::optional<v1::Layout> InShape(const v1::Layout& layout,
                                  absl::Span<const int64_t> shape) {
  if (shape.size() > kMaxLayoutAxes) return std::nullopt;
  const auto from = RangesOf(layout.extents());
  const auto to = RangesOf(shape);
  if (!from || !to) return std::nullopt;
  const Flat flat = Flattened(layout, *from);
  v1::Layout result = Empty(layout, shape);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!AddAxis(flat, (*to)[axis], static_cast<int>(axis), result)) {
      return std::nullopt;
    }
  }
  if (result.terms_size() > kMaxLayoutTerms) return std::nullopt;
  return result;
}

v1::Layout Permuted(const v1::Layout& layout,
                    absl::Span<const int32_t> permutation) {
  v1::Layout permuted = Empty(layout, {});
  for (size_t axis = 0; axis < permutation.size(); ++axis) {
    permuted.add_extents(layout.extents(permutation[axis]));
    AddTerms(static_cast<int>(axis), DigitsOf(layout, permutation[axis]),
             permuted);
  }
  return permuted;
}

}  // namespace edgekiln::target
