#include "target/move_cost.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/checked_math.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "target/layout.h"

namespace edgekiln::target {
namespace {

// A term of one layout whose digit takes more than one value.
struct Term {
  int64_t divide = 1;
  int64_t stride = 0;
};
using Terms = absl::InlinedVector<Term, 4>;  // Of an axis, smallest first.

// Of both layouts.
struct Digit {
  int64_t divide = 1;
  int64_t from_step = 0;
  int64_t to_step = 0;
};
using Digits = absl::InlinedVector<Digit, 4>;  // Of an axis, smallest first.

using Counter = TransferLoop::Counter;
using Counters = absl::InlinedVector<Counter, 8>;

// The layout must be legal. Terms with a common step are merged.
Terms TermsOf(const v1::Layout& layout, int axis) {
  Terms all;
  for (const v1::Layout::Term& term : layout.terms()) {
    const int64_t divide = std::max<int64_t>(term.divide(), 1);
    if (term.axis() != axis || divide >= layout.extents(axis)) continue;
    all.push_back({divide, term.stride_bytes()});
  }
  std::sort(all.begin(), all.end(),
            [](const Term& a, const Term& b) { return a.divide < b.divide; });
  Terms terms;
  for (const Term& term : all) {
    if (!terms.empty()) {
      const Term& inner = terms.back();
      const auto reach = CheckedMul(term.divide / inner.divide, inner.stride);
      if (reach == term.stride) continue;
    }
    terms.push_back(term);
  }
  return terms;
}

// From one index at multiples of `divide` to the next. `terms` is not empty.
int64_t StepAt(const Terms& terms, int64_t divide) {
  const Term* term = &terms.front();
  for (const Term& each : terms) {
    if (each.divide <= divide) term = &each;
  }
  return divide / term->divide * term->stride;
}

// Empty if the cuts of the two do not divide each other.
Digits DigitsOf(const Terms& from, const Terms& to) {
  Digits digits;
  for (const Terms* terms : {&from, &to}) {
    for (const Term& term : *terms) digits.push_back({term.divide});
  }
  std::sort(digits.begin(), digits.end(),
            [](const Digit& a, const Digit& b) { return a.divide < b.divide; });
  digits.erase(std::unique(digits.begin(), digits.end(),
                           [](const Digit& a, const Digit& b) {
                             return a.divide == b.divide;
                           }),
               digits.end());
  for (size_t d = 0; d < digits.size(); ++d) {
    if (d > 0 && digits[d].divide % digits[d - 1].divide != 0) return {};
    digits[d].from_step = StepAt(from, digits[d].divide);
    digits[d].to_step = StepAt(to, digits[d].divide);
  }
  return digits;
}

// From an array's first byte to those with this index of an axis.
int64_t OffsetOf(const Terms& terms, int64_t index) {
  int64_t offset = 0;
  for (size_t t = terms.size(); t-- > 0;) {
    offset += index / terms[t].divide * terms[t].stride;
    index %= terms[t].divide;
  }
  return offset;
}

// Counts the transfers of all parts of an array, and their bytes.
class TransferCounter {
 public:
  TransferCounter(const v1::Layout& from, const v1::Layout& to, int dimensions,
                  int64_t granule_bytes)
      : element_bytes_(from.element_bits() / 8),
        dimensions_(dimensions),
        granule_bytes_(granule_bytes),
        group_(dimensions > 1 ? 0 : from.reversed_bytes()),
        apart_(
            from.reversed_bytes() != to.reversed_bytes() ||
            (group_ > 0 && (from.first_byte() != 0 || to.first_byte() != 0))) {
    for (int axis = 0; axis < from.extents_size(); ++axis) {
      const int64_t extent = from.extents(axis);
      if (extent == 1) continue;
      Terms from_terms = TermsOf(from, axis);
      Terms to_terms = TermsOf(to, axis);
      Digits digits = DigitsOf(from_terms, to_terms);
      if (digits.empty()) {
        walked_apart_ *= extent;
        apart_ = apart_ || group_ > 0;
        walked_.push_back({extent, std::move(from_terms), std::move(to_terms)});
      } else {
        axes_.push_back({extent, std::move(digits)});
      }
    }
  }

  // No overflow of transfers: they are at most as many as the bytes, which a
  // legal layout bounds. Nothing if the granules' bytes do.
  std::optional<MoveSize> Count() {
    CountAxis(0, {}, 0, 0);
    const auto granules = CheckedMul(granules_, walked_apart_);
    const auto bytes =
        granules ? CheckedMul(*granules, granule_bytes_) : std::nullopt;
    if (!bytes) return std::nullopt;
    return MoveSize{transfers_ * walked_apart_, *bytes};
  }

  // With `dimensions` 1: the transfers themselves, from the places of the
  // layouts' first bytes on.
  std::vector<TransferLoop> List(int64_t from_begin, int64_t to_begin) {
    std::vector<TransferLoop> loops;
    loops_ = &loops;
    from_first_ = from_begin;
    to_first_ = to_begin;
    WalkApart(0, 0, 0);
    loops_ = nullptr;
    return loops;
  }

 private:
  struct Axis {
    int64_t extent = 0;
    Digits digits;
  };
  // An axis of which each index is walked by itself.
  struct WalkedAxis {
    int64_t extent = 0;
    Terms from, to;
  };

  void WalkApart(size_t axis, int64_t from_begin, int64_t to_begin) {
    if (axis == walked_.size()) return CountAxis(0, {}, from_begin, to_begin);
    const WalkedAxis& walked = walked_[axis];
    for (int64_t i = 0; i < walked.extent; ++i) {
      WalkApart(axis + 1, from_begin + OffsetOf(walked.from, i),
                to_begin + OffsetOf(walked.to, i));
    }
  }

  // Of one part: of each byte by itself if groups are cut.
  void AddLoop(Counters counters, bool cut, int64_t from_begin,
               int64_t to_begin) {
    TransferLoop& loop = loops_->emplace_back();
    loop.from = from_first_ + from_begin;
    loop.to = to_first_ + to_begin;
    counters.push_back({element_bytes_, 1, 1});
    while (JoinTwo(counters)) {
    }
    loop.bytes = 1;
    if (!cut) loop.bytes = TakeBytes(counters);
    for (const Counter& counter : counters) {
      if (counter.count > 1) loop.counters.push_back(counter);
    }
  }

  // Of the part that begins at these bytes, in either place.
  void CountAxis(size_t axis, const Counters& counters, int64_t from_begin,
                 int64_t to_begin) {
    if (axis == axes_.size()) {
      int64_t bytes = element_bytes_;
      for (const Counter& counter : counters) bytes *= counter.count;
      const bool cut =
          apart_ ||
          (group_ > 0 && (from_begin % group_ != 0 || to_begin % group_ != 0));
      const int64_t transfers = cut ? bytes : TransfersOf(counters);
      if (loops_ != nullptr) {
        AddLoop(counters, transfers == bytes, from_begin, to_begin);
      }
      transfers_ += transfers;
      granules_ += transfers * CeilDiv(bytes / transfers, granule_bytes_);
      return;
    }
    // The full blocks, then the rest.
    const Digits& digits = axes_[axis].digits;
    int64_t extent = axes_[axis].extent;
    for (size_t largest = digits.size(); largest-- > 0;) {
      if (extent >= digits[largest].divide) {
        Counters full = counters;
        int64_t count = extent / digits[largest].divide;
        for (size_t d = largest + 1; d-- > 0;) {
          const Digit& digit = digits[d];
          if (count > 1) {
            full.push_back({count, digit.from_step, digit.to_step});
          }
          if (d > 0) count = digit.divide / digits[d - 1].divide;
        }
        CountAxis(axis + 1, full, from_begin, to_begin);
        const int64_t blocks = extent / digits[largest].divide;
        from_begin += blocks * digits[largest].from_step;
        to_begin += blocks * digits[largest].to_step;
      }
      extent %= digits[largest].divide;
      if (extent == 0) return;
    }
  }

  // Whether a counter takes groups of reversed bytes apart.
  bool CutsGroups(const Counters& counters) const {
    return group_ > 0 && std::any_of(counters.begin(), counters.end(),
                                     [this](const Counter& each) {
                                       return each.from_step % group_ != 0 ||
                                              each.to_step % group_ != 0;
                                     });
  }

  // Of one part.
  int64_t TransfersOf(Counters counters) const {
    int64_t all = element_bytes_;
    for (const Counter& counter : counters) all *= counter.count;
    // Bytes that lie together are the innermost counter.
    counters.push_back({element_bytes_, 1, 1});
    while (JoinTwo(counters)) {
    }
    TakeBytes(counters);
    if (CutsGroups(counters)) return all;
    std::sort(
        counters.begin(), counters.end(),
        [](const Counter& a, const Counter& b) { return a.count > b.count; });
    int64_t transfers = 1;
    for (size_t i = static_cast<size_t>(dimensions_) - 1; i < counters.size();
         ++i) {
      transfers *= counters[i].count;
    }
    return transfers;
  }

  // Removes the counter of bytes that lie together; its count.
  static int64_t TakeBytes(Counters& counters) {
    const auto bytes =
        std::find_if(counters.begin(), counters.end(), [](const Counter& each) {
          return each.from_step == 1 && each.to_step == 1;
        });
    const int64_t count = bytes->count;
    counters.erase(bytes);
    return count;
  }

  // Merges two counters with a common step in both places. False if there are
  // none.
  static bool JoinTwo(Counters& counters) {
    for (Counter& inner : counters) {
      const auto outer = std::find_if(
          counters.begin(), counters.end(), [&](const Counter& each) {
            return &each != &inner &&
                   each.from_step == inner.count * inner.from_step &&
                   each.to_step == inner.count * inner.to_step;
          });
      if (outer == counters.end()) continue;
      inner.count *= outer->count;
      counters.erase(outer);
      return true;
    }
    return false;
  }

  int64_t element_bytes_;
  int dimensions_;
  int64_t granule_bytes_;
  int64_t group_;  // Of reversed bytes that stay together; 0 without.
  bool apart_;     // Bytes do not move in groups.
  std::vector<Axis> axes_;
  int64_t walked_apart_ = 1;
  std::vector<WalkedAxis> walked_;
  std::vector<TransferLoop>* loops_ = nullptr;  // If they are listed.
  int64_t from_first_ = 0;
  int64_t to_first_ = 0;
  int64_t transfers_ = 0;
  int64_t granules_ = 0;
};

// The bytes of the array.
absl::StatusOr<int64_t> CheckPair(const v1::Layout& from,
                                  const v1::Layout& to) {
  EK_ASSIGN_OR_RETURN(const Layout source, Layout::Create(from), "move from");
  EK_ASSIGN_OR_RETURN(const Layout target, Layout::Create(to), "move to");
  if (source.extents() != target.extents() ||
      source.element_bytes() != target.element_bytes()) {
    return absl::InvalidArgumentError("a move between layouts of two arrays");
  }
  return source.dense_bytes();
}

}  // namespace

absl::StatusOr<std::vector<TransferLoop>> TransferLoopsOf(
    const v1::Layout& from, const v1::Layout& to) {
  EK_ASSIGN_OR_RETURN(const int64_t bytes, CheckPair(from, to));
  if (bytes == 0) return std::vector<TransferLoop>();
  return TransferCounter(from, to, /*dimensions=*/1, /*granule_bytes=*/1)
      .List(from.first_byte(), to.first_byte());
}

absl::StatusOr<MoveSize> MoveSizeOf(const v1::Layout& from,
                                    const v1::Layout& to, int dimensions,
                                    int64_t granule_bytes) {
  EK_ASSIGN_OR_RETURN(const int64_t array, CheckPair(from, to));
  if (array == 0) return MoveSize();
  const auto size =
      TransferCounter(from, to, dimensions, granule_bytes).Count();
  if (!size) return absl::OutOfRangeError("a move's bytes exceed 64 bits");
  return *size;
}

absl::StatusOr<int64_t> MoveTransfers(const v1::Layout& from,
                                      const v1::Layout& to, int dimensions) {
  EK_ASSIGN_OR_RETURN(const MoveSize size, MoveSizeOf(from, to, dimensions, 1));
  return size.transfers;
}

absl::StatusOr<int64_t> MoveCycles(const v1::ResolvedLink& link,
                                   const v1::Layout& from,
                                   const v1::Layout& to) {
  EK_ASSIGN_OR_RETURN(const MoveSize size,
                      MoveSizeOf(from, to, link.dimensions(),
                                 std::max<int64_t>(link.granule_bytes(), 1)));
  const auto setup = CheckedMul(size.transfers, link.setup_cycles());
  const auto cycles =
      setup ? CheckedAdd(*setup, CeilDiv(size.bytes, link.bytes_per_cycle()))
            : std::nullopt;
  if (!cycles) return absl::OutOfRangeError("a move's cycles exceed 64 bits");
  return *cycles;
}

}  // namespace edgekiln::target
