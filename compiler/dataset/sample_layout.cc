#include "compiler/dataset/sample_layout.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/input_option.h"
#include "compiler/dataset/npy.h"

namespace edgekiln::compiler {
namespace {

using Shape = std::vector<int64_t>;
using Transform = v1::InputTransform;

// What becomes of a stored sample.
enum class Change { kAsStored, kNhwcToNchw, kNchwToNhwc };

bool IsCube(const Shape& shape) {
  return shape.size() == 3 && shape[0] == shape[1] && shape[1] == shape[2] &&
         shape[0] > 1;
}

bool SameAsStored(const Shape& stored, const Shape& network) {
  if (stored == network) return true;
  const auto elements = CheckedProduct(stored);
  if (!elements || elements != CheckedProduct(network)) return false;
  if (stored.size() <= 1 || network.size() <= 1) return true;
  const auto is_plane_of = [](const Shape& plane, const Shape& image) {
    return plane.size() == 2 && image.size() == 3 &&
           (image == Shape{plane[0], plane[1], 1} ||
            image == Shape{1, plane[0], plane[1]});
  };
  return is_plane_of(stored, network) || is_plane_of(network, stored);
}

absl::Status WrongShape(const std::string& input,
                        absl::Span<const int64_t> stored,
                        absl::Span<const int64_t> network,
                        absl::string_view fix) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "DATA_SHAPE",
       .what = absl::StrCat("samples of the data set are ", ShapeText(stored)),
       .where = input,
       .need = absl::StrCat("samples of ", ShapeText(network),
                            network.size() == 3 ? ", as NHWC or NCHW" : ""),
       .fix = std::string(fix)});
}

constexpr char kOtherData[] = "use data of the size the network was trained on";

absl::Status Ambiguous(const LayoutQuestion& question, absl::string_view what) {
  v1::InputTransform nhwc;
  nhwc.set_layout(Transform::NHWC);
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "DATA_LAYOUT_AMBIGUOUS",
       .what = std::string(what),
       .where = question.input,
       .limit = absl::StrCat("samples are ", ShapeText(question.stored_shape),
                             ", the network takes ",
                             ShapeText(question.network_shape)),
       .need = "the layout of the stored data",
       .fix = absl::StrCat(SuggestInput(question.input, question.given, nhwc),
                           ", or layout=nchw")});
}

// The stated layout gives the network's shape only if the data has the other.
absl::Status Contradicts(const LayoutQuestion& question) {
  const bool nchw = question.layout == Transform::NCHW;
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "DATA_LAYOUT",
       .what = absl::StrCat("samples of ", ShapeText(question.stored_shape),
                            ", stated to be ", nchw ? "NCHW" : "NHWC",
                            ", do not give the network's ",
                            ShapeText(question.network_shape)),
       .where = question.input,
       .need = absl::StrCat("data stored as ", nchw ? "NCHW" : "NHWC",
                            ", or layout=", nchw ? "nhwc" : "nchw"),
       .fix =
           absl::StrCat(question.given == nullptr
                            ? absl::StrCat("leave layout out of --input '",
                                           question.input, "'")
                            : SuggestNoLayout(question.input, *question.given),
                        ": these shapes tell it")});
}

// Whether data of the network's own shape, stored as stated, would have to be
// turned; which would give another shape.
bool StatedAgainstNetwork(const LayoutQuestion& question) {
  const Shape& shape = question.stored_shape;
  if (shape.size() != 3 || shape != question.network_shape) return false;
  // One pixel of one channel.
  if (shape[0] == shape[1] && shape[1] == shape[2]) return false;
  return (question.layout == Transform::NHWC && question.network_is_nchw) ||
         (question.layout == Transform::NCHW && question.network_is_nhwc);
}

absl::StatusOr<Change> FindChange(const LayoutQuestion& question) {
  const Shape& from = question.stored_shape;
  const Shape& to = question.network_shape;
  const Transform::Layout layout = question.layout;
  if (IsCube(from) && from == to && layout != Transform::LAYOUT_UNSPECIFIED) {
    const bool stored_nchw = layout == Transform::NCHW;
    if (stored_nchw == question.network_is_nchw) return Change::kAsStored;
    return stored_nchw ? Change::kNchwToNhwc : Change::kNhwcToNchw;
  }
  if (StatedAgainstNetwork(question)) return Contradicts(question);
  if (SameAsStored(from, to)) return Change::kAsStored;
  const bool from_nhwc =
      from.size() == 3 && to == Shape{from[2], from[0], from[1]};
  const bool from_nchw =
      from.size() == 3 && to == Shape{from[1], from[2], from[0]};
  if (from_nhwc && layout != Transform::NCHW) return Change::kNhwcToNchw;
  if (from_nchw && layout != Transform::NHWC) return Change::kNchwToNhwc;
  if (from_nhwc || from_nchw) return Contradicts(question);
  return WrongShape(question.input, from, to, kOtherData);
}

// Axis of the stored sample on which `channels` channels lie.
absl::StatusOr<size_t> ChannelAxis(const LayoutQuestion& question,
                                   Change change, int64_t channels) {
  const Shape& shape = question.stored_shape;
  const size_t last = shape.empty() ? 0 : shape.size() - 1;
  std::optional<size_t> axis;
  if (change == Change::kNhwcToNchw) axis = last;
  if (change == Change::kNchwToNhwc) axis = 0;
  if (!axis && question.layout == Transform::NHWC) axis = last;
  if (!axis && question.layout == Transform::NCHW) axis = 0;
  // Data that is taken as stored lies as the network reads it.
  if (!axis && shape == question.network_shape) {
    if (question.network_is_nchw) axis = 0;
    if (question.network_is_nhwc) axis = last;
  }
  if (!axis && !shape.empty()) {
    const bool at_first = shape[0] == channels;
    const bool at_last = shape[last] == channels;
    if (at_first && at_last && last != 0) {
      return Ambiguous(question, absl::StrCat(channels,
                                              " channels fit the first "
                                              "and the last axis"));
    }
    if (at_last) axis = last;
    if (at_first) axis = 0;
  }
  if (!axis || *axis >= shape.size() || shape[*axis] != channels) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "DATA_CHANNELS",
         .what = absl::StrCat("samples of ", ShapeText(shape), " do not have ",
                              channels, " channels"),
         .where = question.input,
         .need =
             "as many scales and offsets as channels; 3 channels for order=bgr",
         .fix = "give one value for all channels; \"/\" separates channels, "
                "so write fractions as decimals"});
  }
  return *axis;
}

// Index of each stored element in the network's order.
std::vector<int64_t> Sources(const Shape& stored, int64_t elements,
                             Change change) {
  std::vector<int64_t> source(static_cast<size_t>(elements));
  if (change == Change::kAsStored || elements == 0) {
    for (int64_t i = 0; i < elements; ++i) source[static_cast<size_t>(i)] = i;
    return source;
  }
  // Both are the transposition of a matrix of pixels and channels.
  const bool to_nchw = change == Change::kNhwcToNchw;
  const int64_t channels = to_nchw ? stored[2] : stored[0];
  const int64_t pixels = elements / channels;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t planar = c * pixels + p;
      const int64_t packed = p * channels + c;
      source[static_cast<size_t>(to_nchw ? planar : packed)] =
          to_nchw ? packed : planar;
    }
  }
  return source;
}

int64_t Stride(const Shape& shape, size_t axis) {
  int64_t stride = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) stride *= shape[d];
  return stride;
}

}  // namespace

std::vector<int64_t> SampleShape(const v1::TensorType& input) {
  Shape shape(input.shape().begin(), input.shape().end());
  if (shape.size() > 1 && shape[0] == 1) shape.erase(shape.begin());
  return shape;
}

absl::Status CheckStoredSize(const std::string& input,
                             absl::Span<const int64_t> stored_shape,
                             absl::Span<const int64_t> network_shape) {
  const absl::Span<const int64_t> sample = stored_shape.subspan(1);
  const auto elements = CheckedProduct(network_shape);
  if (elements && elements == CheckedProduct(sample)) return absl::OkStatus();
  // One sample, stored as the network reads it.
  const bool no_axis =
      stored_shape == network_shape && CheckedProduct(sample) != elements;
  return WrongShape(input, sample, network_shape,
                    no_axis ? "samples lie along the first axis: store a "
                              "single one as array[None]"
                            : kOtherData);
}

absl::StatusOr<SampleLayout> ResolveLayout(const LayoutQuestion& asked) {
  LayoutQuestion question = asked;
  // Samples that were stored with the batch of 1 that the model declares.
  if (question.stored_shape.size() == question.network_shape.size() + 1 &&
      question.stored_shape.size() > 2 && question.stored_shape[0] == 1) {
    question.stored_shape.erase(question.stored_shape.begin());
  }
  EK_ASSIGN_OR_RETURN(const Change change, FindChange(question), "data layout");
  const Shape& stored = question.stored_shape;
  const auto elements = CheckedProduct(stored);
  if (!elements) return absl::InvalidArgumentError("sample is too large");
  SampleLayout layout;
  layout.source = Sources(stored, *elements, change);
  layout.stored_channel.assign(layout.source.size(), 0);
  layout.network_channel.assign(layout.source.size(), 0);
  const bool reverse = question.order == Transform::BGR;
  const auto channel_of = [&](int64_t index, size_t axis) {
    return index / Stride(stored, axis) % stored[axis];
  };
  if (question.stored_factors > 1) {
    EK_ASSIGN_OR_RETURN(const size_t axis,
                        ChannelAxis(question, change, question.stored_factors),
                        "scale of the data set");
    for (size_t i = 0; i < layout.source.size(); ++i) {
      layout.stored_channel[i] =
          static_cast<int32_t>(channel_of(layout.source[i], axis));
    }
  }
  if (question.network_factors > 1) {
    EK_ASSIGN_OR_RETURN(const size_t axis,
                        ChannelAxis(question, change, question.network_factors),
                        "scale and offset per channel");
    for (size_t i = 0; i < layout.source.size(); ++i) {
      layout.network_channel[i] =
          static_cast<int32_t>(channel_of(layout.source[i], axis));
    }
  }
  if (reverse) {
    EK_ASSIGN_OR_RETURN(const size_t axis, ChannelAxis(question, change, 3),
                        "order=bgr");
    const int64_t stride = Stride(stored, axis);
    for (size_t i = 0; i < layout.source.size(); ++i) {
      const int64_t channel = channel_of(layout.source[i], axis);
      layout.source[i] += (2 - 2 * channel) * stride;
      // The stored factors follow the element that is now read.
      if (question.stored_factors == 3) {
        layout.stored_channel[i] = static_cast<int32_t>(2 - channel);
      }
    }
  }
  return layout;
}

}  // namespace edgekiln::compiler
