#ifndef EK_TARGET_LAYOUT_H_
#define EK_TARGET_LAYOUT_H_

// Where the elements of an array lie: the one reader of v1::Layout and v1::Box.
//
// A legal layout gives every element bytes of its own, which is decided from
// its terms alone:
//  - the terms of an axis, in order of `divide`, are the digits of its index:
//    the first divides by 1, each next one by divide * modulo of the one
//    before, and together they hold every index;
//  - in order of stride, all terms taken together, each stride is at least the
//    bytes that the terms before span. A last block that an axis fills only
//    partly spans as much as a full one.
// NHWC is three terms with or without gaps between pixels and rows; NCHW16c has
// two terms for C, K-blocked weights two for K.
//
// With reversed_bytes, these rules hold of the bytes before they are reversed:
// what the terms put at byte a lies at the mirror image of first_byte + a in
// its group. Such a layout begins on a multiple of its groups.
//
// The messages may be hostile. Nothing here allocates by what they say.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/layout.pb.h"

namespace edgekiln::target {

inline constexpr int kMaxLayoutAxes = 8;
inline constexpr int kMaxLayoutTerms = 16;
// Parts with equal strides into which partly filled blocks divide an array.
inline constexpr int kMaxLayoutPieces = 16;
inline constexpr int64_t kMaxLayoutBytes = int64_t{1} << 48;

// Immutable and thread-safe. "Dense" is row-major without gaps: the array's
// values one after the other.
class Layout {
 public:
  // INVALID_ARGUMENT says which rule `layout` breaks.
  static absl::StatusOr<Layout> Create(const v1::Layout& layout);

  // The elements of `box` where they lie in a dense tensor of `shape`, from the
  // tensor's first byte. INVALID_ARGUMENT if the box is no part, perhaps empty,
  // of such a tensor.
  static absl::StatusOr<Layout> OfBox(const v1::Box& box,
                                      absl::Span<const int64_t> shape,
                                      int64_t element_bytes);

  absl::Span<const int64_t> extents() const { return extents_; }
  int64_t element_bytes() const { return element_bytes_; }
  // Bytes of the values alone.
  int64_t dense_bytes() const { return dense_bytes_; }
  // One past the last byte that an element may lie at, or more.
  int64_t size_bytes() const { return size_bytes_; }
  // One past the last byte of any element, rounded up to whole groups where
  // bytes are reversed; 0 without elements.
  int64_t end_bytes() const;
  // Not of a layout in blocks that only happens to be dense, nor of reversed
  // bytes.
  bool is_dense() const;
  // Bytes that lie in reverse order together: 2, 4 or 8; 0 if they do not.
  int reversed_bytes() const { return reversed_bytes_; }

  // Bytes that lie together both here and in the dense array.
  struct Run {
    int64_t offset = 0;        // From the layout's first byte.
    int64_t dense_offset = 0;  // From the dense array's.
    int64_t bytes = 0;
  };
  // All bytes in as few runs as the terms tell, in dense order if no axis has a
  // last block that it fills only partly. Reversed bytes are a run each. A
  // visitor that returns false ends the walk, which then returns false.
  bool VisitRuns(absl::FunctionRef<bool(const Run&)> visit) const;

  // Which bytes the values take, without saying which takes which: `offset`
  // from the layout's first byte, `bytes` of them. Fewer visits than
  // VisitRuns() where bytes are reversed.
  bool VisitTaken(
      absl::FunctionRef<bool(int64_t offset, int64_t bytes)> visit) const;

  // `memory` holds size_bytes(), `dense` dense_bytes(). They do not overlap.
  void Gather(const char* memory, char* dense) const;
  void Scatter(const char* dense, char* memory) const;
  // The values dense: in place if they lie so, else gathered into `buffer`.
  absl::string_view View(const char* memory, std::string& buffer) const;

 private:
  // Nested loops over runs of equal length, outermost first.
  struct Loop {
    int64_t count = 1;
    int64_t step = 0;  // Bytes here.
    int64_t dense_step = 0;
  };
  using Loops = absl::InlinedVector<Loop, 4>;
  struct Piece {
    Run first;
    Loops loops;
  };
  // A term that tells elements apart.
  struct Digit {
    int64_t divide = 1;
    int64_t count = 1;  // Values that it takes.
    int64_t stride = 0;
  };
  using Digits = absl::InlinedVector<Digit, 2>;  // Of an axis, largest first.
  class PieceBuilder;

  // The array without its places.
  static absl::StatusOr<Layout> OfExtents(absl::Span<const int64_t> extents,
                                          int64_t element_bytes);
  static absl::StatusOr<Digits> DigitsOf(const v1::Layout& layout, int axis);
  static absl::StatusOr<int64_t> SpanOf(absl::Span<const Digits> axes,
                                        int64_t element_bytes);
  template <typename Visit>
  static bool Walk(const Piece& piece, const Visit& visit);
  template <typename Visit>
  bool WalkAll(const Visit& visit) const;
  // Where the terms' byte `offset` lies.
  int64_t Reversed(int64_t offset) const {
    return reversed_bytes_ == 0 ? offset : offset ^ (reversed_bytes_ - 1);
  }

  absl::InlinedVector<int64_t, 4> extents_;
  int64_t element_bytes_ = 1;
  int reversed_bytes_ = 0;
  int64_t dense_bytes_ = 0;
  int64_t size_bytes_ = 0;
  absl::InlinedVector<Piece, 1> pieces_;
};

// Whether an element of `a`, from byte 0 on, and one of `b`, from byte
// `b_offset` on, have a byte in common. Takes memory for each run of `b`.
bool ShareBytes(const Layout& a, const Layout& b, int64_t b_offset);

// OK if `box` is as large as the array of `layout` on every axis, and begins
// nowhere before 0.
absl::Status CheckBox(const v1::Box& box, const Layout& layout);

// An array with `strides_bytes` from one index of each axis to the next. They
// must make a legal layout.
v1::Layout StridedLayout(absl::Span<const int64_t> extents,
                         absl::Span<const int64_t> strides_bytes,
                         int64_t element_bytes);
v1::Layout DenseLayout(absl::Span<const int64_t> extents,
                       int64_t element_bytes);
// All of a tensor of `shape`.
v1::Box WholeBox(absl::Span<const int64_t> shape);

}  // namespace edgekiln::target

#endif  // EK_TARGET_LAYOUT_H_
