#include "target/layout.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/rounding.h"
#include "base/status_macros.h"

namespace edgekiln::target {
namespace {

constexpr int kMaxElementBits = 64;

absl::Status Illegal(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

bool IsGroup(int32_t reversed_bytes) {
  return reversed_bytes == 0 || reversed_bytes == 2 || reversed_bytes == 4 ||
         reversed_bytes == 8;
}

// Groups of `group` bytes from `from` on, each reversed.
void CopyReversed(const char* from, int64_t bytes, int group, char* to) {
  for (int64_t at = 0; at < bytes; at += group) {
    uint64_t word = 0;
    std::memcpy(&word, from + at, static_cast<size_t>(group));
    word = __builtin_bswap64(word) >> (64 - 8 * group);
    std::memcpy(to + at, &word, static_cast<size_t>(group));
  }
}

// Divides a run into whole groups of reversed bytes and single bytes before and
// behind them. `single` gets an index into the run, `whole` the first one and
// the number of bytes; both return whether to go on.
template <typename Single, typename Whole>
bool InGroups(const Layout::Run& run, int group, const Single& single,
              const Whole& whole) {
  const int64_t begin =
      std::min(RoundUp(run.offset, group) - run.offset, run.bytes);
  const int64_t bytes = (run.bytes - begin) / group * group;
  for (int64_t at = 0; at < begin; ++at) {
    if (!single(at)) return false;
  }
  if (bytes > 0 && !whole(begin, bytes)) return false;
  for (int64_t at = begin + bytes; at < run.bytes; ++at) {
    if (!single(at)) return false;
  }
  return true;
}

// Both are at least 1.
int64_t CeilDiv(int64_t a, int64_t b) { return (a - 1) / b + 1; }

// Bytes from one index of each axis to the next in a dense array, whose size
// fits 64 bits.
absl::InlinedVector<int64_t, 4> DenseStrides(absl::Span<const int64_t> extents,
                                             int64_t element_bytes) {
  absl::InlinedVector<int64_t, 4> strides(extents.size());
  int64_t stride = element_bytes;
  for (size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<int64_t>(extents[axis], 1);
  }
  return strides;
}

}  // namespace

// Turns the digits of all axes into pieces.
class Layout::PieceBuilder {
 public:
  PieceBuilder(absl::Span<const Digits> axes, Layout& layout)
      : axes_(axes),
        layout_(layout),
        dense_strides_(DenseStrides(layout.extents(), layout.element_bytes())) {
  }

  // False if there are too many of them.
  bool Build(int64_t offset) {
    if (layout_.dense_bytes_ == 0) return true;
    Piece piece;
    piece.first.offset = offset;
    BeginAxis(0, piece);
    return fits_;
  }

 private:
  void BeginAxis(size_t axis, const Piece& piece) {
    if (axis == axes_.size()) return Finish(piece);
    Split(axis, axes_[axis], layout_.extents_[axis], piece);
  }

  // `digits` are to count `extent` indices of the axis: as many full blocks of
  // the largest as there are, then what is left.
  void Split(size_t axis, absl::Span<const Digit> digits, int64_t extent,
             Piece piece) {
    if (digits.empty()) return BeginAxis(axis + 1, piece);
    const int64_t dense_stride = dense_strides_[axis];
    const Digit& largest = digits.front();
    const int64_t full = extent / largest.divide;
    if (full > 0) {
      Piece blocks = piece;
      int64_t count = full;
      for (size_t d = 0; d < digits.size(); ++d) {
        if (count > 1) {
          blocks.loops.push_back(
              {count, digits[d].stride, digits[d].divide * dense_stride});
        }
        if (d + 1 == digits.size()) break;
        count = digits[d].divide / digits[d + 1].divide;
      }
      BeginAxis(axis + 1, blocks);
    }
    if (extent % largest.divide == 0) return;
    piece.first.offset += full * largest.stride;
    piece.first.dense_offset += full * largest.divide * dense_stride;
    Split(axis, digits.subspan(1), extent % largest.divide, std::move(piece));
  }

  // Joins what lies together, and loops that are one.
  void Finish(Piece piece) {
    if (layout_.pieces_.size() == kMaxLayoutPieces) {
      fits_ = false;
      return;
    }
    int64_t& bytes = piece.first.bytes;
    bytes = layout_.element_bytes_;
    Loops& loops = piece.loops;
    while (!loops.empty() && loops.back().step == bytes &&
           loops.back().dense_step == bytes) {
      bytes *= loops.back().count;
      loops.pop_back();
    }
    for (size_t l = loops.size(); l-- > 1;) {
      Loop& outer = loops[l - 1];
      const Loop& inner = loops[l];
      if (outer.step == inner.count * inner.step &&
          outer.dense_step == inner.count * inner.dense_step) {
        outer = {outer.count * inner.count, inner.step, inner.dense_step};
        loops.erase(loops.begin() + static_cast<int64_t>(l));
      }
    }
    layout_.pieces_.push_back(std::move(piece));
  }

  absl::Span<const Digits> axes_;
  Layout& layout_;
  const absl::InlinedVector<int64_t, 4> dense_strides_;
  bool fits_ = true;
};

absl::StatusOr<Layout> Layout::OfExtents(absl::Span<const int64_t> extents,
                                         int64_t element_bytes) {
  if (extents.size() > kMaxLayoutAxes) {
    return Illegal(absl::StrCat(extents.size(), " axes, at most ",
                                kMaxLayoutAxes, " are possible"));
  }
  // An axis without indices must not hide what the others are.
  std::optional<int64_t> bytes = element_bytes;
  bool empty = false;
  for (const int64_t extent : extents) {
    if (extent == 0) empty = true;
    if (extent < 0 || !bytes) bytes.reset();
    if (bytes) bytes = CheckedMul(*bytes, std::max<int64_t>(extent, 1));
  }
  if (!bytes || *bytes > kMaxLayoutBytes) {
    return Illegal(
        absl::StrCat("unusable extents [", absl::StrJoin(extents, ", "), "]"));
  }
  Layout layout;
  layout.extents_.assign(extents.begin(), extents.end());
  layout.element_bytes_ = element_bytes;
  layout.dense_bytes_ = empty ? 0 : *bytes;
  return layout;
}

absl::StatusOr<Layout::Digits> Layout::DigitsOf(const v1::Layout& layout,
                                                int axis) {
  std::vector<v1::Layout::Term> terms;
  for (const v1::Layout::Term& term : layout.terms()) {
    if (term.axis() != axis) continue;
    terms.push_back(term);
    if (term.divide() == 0) terms.back().set_divide(1);
  }
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    return a.divide() < b.divide();
  });
  const int64_t extent = layout.extents(axis);
  Digits digits;
  // Where the next digit begins. Empty: no digit is above the last one.
  std::optional<int64_t> next = 1;
  for (const v1::Layout::Term& term : terms) {
    if (next != term.divide() || term.modulo() < 0 || term.modulo() == 1) {
      return Illegal(absl::StrCat("axis ", axis,
                                  ": its terms are not the digits of an index, "
                                  "at divide ",
                                  term.divide()));
    }
    const int64_t blocks = CeilDiv(std::max<int64_t>(extent, 1), term.divide());
    digits.push_back({term.divide(), blocks, term.stride_bytes()});
    next.reset();
    if (term.modulo() == 0) continue;
    digits.back().count = std::min(term.modulo(), blocks);
    next = CheckedMul(term.divide(), term.modulo());
  }
  // What exceeds 64 bits exceeds the extent, too.
  const bool unlimited = !terms.empty() && !next;
  if (!unlimited && *next < extent) {
    return Illegal(absl::StrCat("axis ", axis, ": its terms tell ", *next,
                                " indices apart, not ", extent));
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

absl::StatusOr<int64_t> Layout::SpanOf(absl::Span<const Digits> axes,
                                       int64_t element_bytes) {
  std::vector<Digit> all;
  for (const Digits& digits : axes) {
    for (const Digit& digit : digits) {
      if (digit.count > 1) all.push_back(digit);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
  int64_t span = element_bytes;
  for (const Digit& digit : all) {
    if (digit.stride < span) {
      return Illegal(absl::StrCat("elements overlap: a stride of ",
                                  digit.stride, " bytes over a span of ",
                                  span));
    }
    const auto reach = CheckedMul(digit.count - 1, digit.stride);
    const auto sum = reach ? CheckedAdd(*reach, span) : std::nullopt;
    if (!sum) return Illegal("its bytes exceed 64 bits");
    span = *sum;
  }
  return span;
}

absl::StatusOr<Layout> Layout::Create(const v1::Layout& layout) {
  if (layout.element_bits() < 8 || layout.element_bits() > kMaxElementBits ||
      layout.element_bits() % 8 != 0) {
    return Illegal(
        absl::StrCat("elements of ", layout.element_bits(),
                     " bits: whole bytes are possible, at most 8 of them"));
  }
  if (layout.terms_size() > kMaxLayoutTerms) {
    return Illegal(absl::StrCat(layout.terms_size(), " terms, at most ",
                                kMaxLayoutTerms, " are possible"));
  }
  if (!IsGroup(layout.reversed_bytes())) {
    return Illegal(absl::StrCat("reversed_bytes is ", layout.reversed_bytes(),
                                ": 2, 4 or 8 are possible"));
  }
  EK_ASSIGN_OR_RETURN(Layout result,
                      OfExtents(layout.extents(), layout.element_bits() / 8));
  result.reversed_bytes_ = layout.reversed_bytes();
  for (const v1::Layout::Term& term : layout.terms()) {
    if (term.axis() < 0 || term.axis() >= layout.extents_size()) {
      return Illegal(absl::StrCat("a term of axis ", term.axis(), " of ",
                                  layout.extents_size()));
    }
  }
  absl::InlinedVector<Digits, 4> axes;
  for (int axis = 0; axis < layout.extents_size(); ++axis) {
    EK_ASSIGN_OR_RETURN(Digits digits, DigitsOf(layout, axis));
    axes.push_back(std::move(digits));
  }
  int64_t span = 0;
  if (result.dense_bytes_ > 0) {
    EK_ASSIGN_OR_RETURN(span, SpanOf(axes, result.element_bytes_));
  }
  const int64_t first_byte = layout.first_byte();
  if (first_byte < 0 ||
      first_byte >= std::max<int64_t>(result.reversed_bytes_, 1)) {
    return Illegal(absl::StrCat("first_byte is ", first_byte,
                                ", not within a group of reversed bytes"));
  }
  span = CheckedAdd(span, first_byte).value_or(kMaxLayoutBytes + 1);
  if (layout.size_bytes() < span || layout.size_bytes() > kMaxLayoutBytes) {
    return Illegal(absl::StrCat("a size of ", layout.size_bytes(),
                                " bytes, the terms span ", span));
  }
  if (result.reversed_bytes_ > 0 &&
      layout.size_bytes() % result.reversed_bytes_ != 0) {
    return Illegal(absl::StrCat("a size of ", layout.size_bytes(),
                                " bytes, not of whole groups of ",
                                result.reversed_bytes_, " reversed bytes"));
  }
  result.size_bytes_ = layout.size_bytes();
  if (!PieceBuilder(axes, result).Build(0)) {
    return Illegal(absl::StrCat("more than ", kMaxLayoutPieces,
                                " combinations of partly filled blocks"));
  }
  for (Piece& piece : result.pieces_) piece.first.offset += first_byte;
  return result;
}

int64_t Layout::end_bytes() const {
  int64_t end = 0;
  for (const Piece& piece : pieces_) {
    int64_t last = piece.first.offset + piece.first.bytes;
    for (const Loop& loop : piece.loops) last += (loop.count - 1) * loop.step;
    end = std::max(end, last);
  }
  return reversed_bytes_ == 0 ? end : RoundUp(end, reversed_bytes_);
}

absl::StatusOr<Layout> Layout::OfBox(const v1::Box& box,
                                     absl::Span<const int64_t> shape,
                                     int64_t element_bytes) {
  const auto elements = CheckedProduct(shape);
  if (box.shape_size() > 0) {
    if (CheckedProduct(box.shape()) != elements) {
      return Illegal("the box counts another number of elements");
    }
    shape = box.shape();
  }
  EK_ASSIGN_OR_RETURN(const Layout whole, OfExtents(shape, element_bytes));
  const auto rank = static_cast<int>(shape.size());
  if (box.begin_size() != rank || box.end_size() != rank) {
    return Illegal("the box is of another rank");
  }
  const auto strides = DenseStrides(shape, element_bytes);
  absl::InlinedVector<int64_t, 4> extents;
  absl::InlinedVector<Digits, 4> axes;
  int64_t offset = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t begin = box.begin(axis);
    const int64_t end = box.end(axis);
    if (begin < 0 || end < begin || end > shape[axis]) {
      return Illegal(absl::StrCat("axis ", axis, ": [", begin, ", ", end,
                                  ") leaves [0, ", shape[axis], ")"));
    }
    extents.push_back(end - begin);
    axes.push_back({Digit{1, end - begin, strides[axis]}});
    offset += begin * strides[axis];
  }
  EK_ASSIGN_OR_RETURN(Layout result, OfExtents(extents, element_bytes));
  result.size_bytes_ = whole.dense_bytes();
  PieceBuilder(axes, result).Build(offset);
  return result;
}

bool Layout::is_dense() const {
  return dense_bytes_ == 0 ||
         (reversed_bytes_ == 0 && pieces_[0].first.offset == 0 &&
          pieces_[0].first.bytes == dense_bytes_);
}

template <typename Visit>
bool Layout::Walk(const Piece& piece, const Visit& visit) {
  Run run = piece.first;
  const Loops& loops = piece.loops;
  if (loops.empty()) return visit(run);
  const Loop& inner = loops.back();
  absl::InlinedVector<int64_t, 8> at(loops.size() - 1, 0);
  while (true) {
    Run next = run;
    for (int64_t i = 0; i < inner.count; ++i) {
      if (!visit(next)) return false;
      next.offset += inner.step;
      next.dense_offset += inner.dense_step;
    }
    size_t l = at.size();
    for (; l > 0; --l) {
      const Loop& loop = loops[l - 1];
      run.offset += loop.step;
      run.dense_offset += loop.dense_step;
      if (++at[l - 1] < loop.count) break;
      at[l - 1] = 0;
      run.offset -= loop.count * loop.step;
      run.dense_offset -= loop.count * loop.dense_step;
    }
    if (l == 0) return true;
  }
}

template <typename Visit>
bool Layout::WalkAll(const Visit& visit) const {
  for (const Piece& piece : pieces_) {
    if (!Walk(piece, visit)) return false;
  }
  return true;
}

bool Layout::VisitRuns(absl::FunctionRef<bool(const Run&)> visit) const {
  if (reversed_bytes_ == 0) return WalkAll(visit);
  return WalkAll([&](const Run& run) {
    for (int64_t b = 0; b < run.bytes; ++b) {
      if (!visit({Reversed(run.offset + b), run.dense_offset + b, 1})) {
        return false;
      }
    }
    return true;
  });
}

bool Layout::VisitTaken(absl::FunctionRef<bool(int64_t, int64_t)> visit) const {
  if (reversed_bytes_ == 0) {
    return WalkAll(
        [&](const Run& run) { return visit(run.offset, run.bytes); });
  }
  return WalkAll([&](const Run& run) {
    return InGroups(
        run, reversed_bytes_,
        [&](int64_t at) { return visit(Reversed(run.offset + at), 1); },
        [&](int64_t at, int64_t bytes) {
          return visit(run.offset + at, bytes);
        });
  });
}

bool ShareBytes(const Layout& a, const Layout& b, int64_t b_offset) {
  std::vector<std::pair<int64_t, int64_t>> taken;  // Begin and end.
  b.VisitTaken([&](int64_t offset, int64_t bytes) {
    taken.emplace_back(b_offset + offset, b_offset + offset + bytes);
    return true;
  });
  std::sort(taken.begin(), taken.end());
  // Those of a legal layout do not overlap, so that their ends rise, too.
  return !a.VisitTaken([&](int64_t offset, int64_t bytes) {
    const auto next = std::upper_bound(
        taken.begin(), taken.end(), offset,
        [](int64_t at, const auto& span) { return at < span.second; });
    return next == taken.end() || next->first >= offset + bytes;
  });
}

void Layout::Gather(const char* memory, char* dense) const {
  if (reversed_bytes_ > 0) {
    WalkAll([&](const Run& run) {
      char* const to = dense + run.dense_offset;
      return InGroups(
          run, reversed_bytes_,
          [&](int64_t at) {
            to[at] = memory[Reversed(run.offset + at)];
            return true;
          },
          [&](int64_t at, int64_t bytes) {
            CopyReversed(memory + run.offset + at, bytes, reversed_bytes_,
                         to + at);
            return true;
          });
    });
    return;
  }
  WalkAll([&](const Run& run) {
    std::memcpy(dense + run.dense_offset, memory + run.offset,
                static_cast<size_t>(run.bytes));
    return true;
  });
}

void Layout::Scatter(const char* dense, char* memory) const {
  if (reversed_bytes_ > 0) {
    WalkAll([&](const Run& run) {
      const char* const from = dense + run.dense_offset;
      return InGroups(
          run, reversed_bytes_,
          [&](int64_t at) {
            memory[Reversed(run.offset + at)] = from[at];
            return true;
          },
          [&](int64_t at, int64_t bytes) {
            CopyReversed(from + at, bytes, reversed_bytes_,
                         memory + run.offset + at);
            return true;
          });
    });
    return;
  }
  WalkAll([&](const Run& run) {
    std::memcpy(memory + run.offset, dense + run.dense_offset,
                static_cast<size_t>(run.bytes));
    return true;
  });
}

absl::string_view Layout::View(const char* memory, std::string& buffer) const {
  if (is_dense()) return {memory, static_cast<size_t>(dense_bytes_)};
  buffer.resize(static_cast<size_t>(dense_bytes_));
  Gather(memory, buffer.data());
  return buffer;
}

absl::Status CheckBox(const v1::Box& box, const Layout& layout) {
  const auto rank = static_cast<int>(layout.extents().size());
  if (box.begin_size() != rank || box.end_size() != rank) {
    return Illegal("box and layout are of different rank");
  }
  for (int axis = 0; axis < rank; ++axis) {
    const auto end = CheckedAdd(box.begin(axis), layout.extents()[axis]);
    if (box.begin(axis) < 0 || end != box.end(axis)) {
      return Illegal(absl::StrCat(
          "axis ", axis, ": the box is [", box.begin(axis), ", ", box.end(axis),
          "), the layout's extent ", layout.extents()[axis]));
    }
  }
  return absl::OkStatus();
}

v1::Layout StridedLayout(absl::Span<const int64_t> extents,
                         absl::Span<const int64_t> strides_bytes,
                         int64_t element_bytes) {
  v1::Layout layout;
  layout.set_element_bits(static_cast<int32_t>(8 * element_bytes));
  int64_t size = element_bytes;
  bool empty = false;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    layout.add_extents(extents[axis]);
    if (extents[axis] == 0) empty = true;
    if (extents[axis] < 2) continue;
    v1::Layout::Term& term = *layout.add_terms();
    term.set_axis(static_cast<int32_t>(axis));
    term.set_stride_bytes(strides_bytes[axis]);
    size += (extents[axis] - 1) * strides_bytes[axis];
  }
  layout.set_size_bytes(empty ? 0 : size);
  return layout;
}

v1::Layout DenseLayout(absl::Span<const int64_t> extents,
                       int64_t element_bytes) {
  return StridedLayout(extents, DenseStrides(extents, element_bytes),
                       element_bytes);
}

v1::Box WholeBox(absl::Span<const int64_t> shape) {
  v1::Box box;
  for (const int64_t extent : shape) {
    box.add_begin(0);
    box.add_end(extent);
  }
  return box;
}

}  // namespace edgekiln::target
