#ifndef EK_OPS_RESIZE_TAPS_H_
#define EK_OPS_RESIZE_TAPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"

// Which input positions the outputs of a Resize read along one axis, and with
// which weights. All in double; docs/numerics.md.
namespace edgekiln::ops {

struct Tap {
  int64_t index;
  double weight;
};

// For each output position a list of taps, ascending; an empty list stands for
// the extrapolation value.
class AxisTaps {
 public:
  // Of axis `axis`; the op has passed CheckOp().
  AxisTaps(const v1::Resize& op, int axis, int64_t in, int64_t out);

  absl::Span<const Tap> at(int64_t position) const {
    return absl::MakeConstSpan(taps_).subspan(
        begin_[position], begin_[position + 1] - begin_[position]);
  }
  // Output position i is input position i.
  bool identity() const { return identity_; }

 private:
  void AddNearest(const v1::Resize& op, double x, int64_t in);
  void AddWeighted(const v1::Resize& op, double x, int64_t in, double scale);

  std::vector<Tap> taps_;
  std::vector<int64_t> begin_{0};  // Of each position's list; one past the end.
  bool identity_ = true;
};

// At most so many taps does one axis have: output positions times taps of each.
double MostTaps(const v1::Resize& op, int axis, int64_t in, int64_t out);

}  // namespace edgekiln::ops

#endif  // EK_OPS_RESIZE_TAPS_H_
