#ifndef EK_COMPILER_DATASET_SAMPLE_LAYOUT_H_
#define EK_COMPILER_DATASET_SAMPLE_LAYOUT_H_

// Which element of a stored sample each element of a model input takes.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// The part of a model input's shape that one sample fills: without a leading
// batch of 1, unless that is all there is.
std::vector<int64_t> SampleShape(const v1::TensorType& input);

struct LayoutQuestion {
  std::string input;                   // For errors.
  std::vector<int64_t> stored_shape;   // Of one sample.
  std::vector<int64_t> network_shape;  // SampleShape().
  // Whether the model reads this input as NCHW. Decides only what becomes of a
  // cube with a `layout`: it looks the same in both.
  bool network_is_nchw = false;
  // Whether it surely reads it as NHWC. Neither may be known.
  bool network_is_nhwc = false;
  v1::InputTransform::Layout layout = v1::InputTransform::LAYOUT_UNSPECIFIED;
  v1::InputTransform::ChannelOrder order =
      v1::InputTransform::CHANNEL_ORDER_UNSPECIFIED;
  // What the caller gave for this input, for suggestions; may be null.
  const v1::InputTransform* given = nullptr;
  // Lengths of the per-channel lists that will be applied; 1 = no channels.
  int64_t stored_factors = 1;
  int64_t network_factors = 1;
};

// Whether the samples of an array of `stored_shape`, samples along the first
// axis, could be the network's in some layout: have as many elements. Errors:
// INVALID_ARGUMENT naming both shapes.
absl::Status CheckStoredSize(const std::string& input,
                             absl::Span<const int64_t> stored_shape,
                             absl::Span<const int64_t> network_shape);

// All lists have one entry per element of the model input, in its order.
struct SampleLayout {
  std::vector<int64_t> source;           // Index into the stored sample.
  std::vector<int32_t> stored_channel;   // Into lists of stored factors.
  std::vector<int32_t> network_channel;  // Into lists of network factors.
};

// Rules, in order:
// 1. Equal shapes: as stored, also if the extents are equal. So are HxW for one
//    channel, and any two shapes of which one is flat and both hold as many
//    elements. A batch of 1 in front of a stored sample does not count.
// 2. Three dimensions: NHWC and NCHW are told apart by which of them gives the
//    network's shape.
// A `layout` that says otherwise than the shapes do is refused; where they say
// nothing, because all extents are equal, it turns data that the network reads
// in the other layout.
// Channels, for per-channel factors and order=bgr, lie where the layout says;
// without one, where the network has them, if that is known and the shapes are
// equal; otherwise on the first or last axis, whichever has the right extent.
// Factors of the data set count channels as stored, those of a transform as the
// network sees them, after a reversal.
//
// Errors: INVALID_ARGUMENT naming both shapes, or what is ambiguous.
absl::StatusOr<SampleLayout> ResolveLayout(const LayoutQuestion& question);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_SAMPLE_LAYOUT_H_
