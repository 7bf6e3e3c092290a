#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"
#include "ops/shape_inference.h"

// Operators that take parts of a tensor.
namespace edgekiln::compiler::tflite_import {
namespace {

using Code = tflite::BuiltinOperator;

// What is taken of one dimension.
struct Range {
  int64_t begin = 0;
  int64_t extent = 0;
  int64_t stride = 1;
};

v1::OpAttributes SliceOf(const std::vector<Range>& ranges) {
  v1::OpAttributes attributes;
  v1::Slice& slice = *attributes.mutable_slice();
  for (const Range& range : ranges) {
    slice.add_begin(range.begin);
    slice.add_extent(range.extent);
    slice.add_stride(range.stride);
  }
  return attributes;
}

std::vector<Range> Whole(const Shape& shape) {
  std::vector<Range> ranges;
  for (const int64_t extent : shape) ranges.push_back({0, extent, 1});
  return ranges;
}

// Python's: negative bounds count from the end, then both are limited.
Range StridedRange(int64_t begin, int64_t end, int64_t stride, bool open_begin,
                   bool open_end, int64_t extent) {
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? extent : extent - 1;
  const auto limited = [&](int64_t at) {
    return std::clamp(at < 0 ? at + extent : at, low, high);
  };
  const int64_t first = open_begin ? (stride > 0 ? low : high) : limited(begin);
  const int64_t last = open_end ? (stride > 0 ? high : low) : limited(end);
  const int64_t span = stride > 0 ? last - first : first - last;
  const int64_t step = stride > 0 ? stride : -stride;
  const int64_t count = span <= 0 ? 0 : (span - 1) / step + 1;
  return {count == 0 ? 0 : first, count, stride};
}

// A strided slice as written: entry by entry, with bit masks over the entries.
struct StridedSpec {
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
  std::vector<int64_t> stride;
  uint32_t begin_mask = 0;
  uint32_t end_mask = 0;
  uint32_t ellipsis_mask = 0;
  uint32_t new_axis_mask = 0;
  uint32_t shrink_mask = 0;

  bool Has(uint32_t mask, size_t entry) const {
    return entry < 32 && ((mask >> entry) & 1) != 0;
  }
};

absl::StatusOr<StridedSpec> ReadStridedSpec(const Conversion& c) {
  const auto* options = c.from().builtin_options_as_StridedSliceOptions();
  if (options == nullptr) return MissingOptions("StridedSliceOptions");
  StridedSpec spec;
  EK_ASSIGN_OR_RETURN(spec.begin, c.Ints(1));
  EK_ASSIGN_OR_RETURN(spec.end, c.Ints(2));
  EK_ASSIGN_OR_RETURN(spec.stride, c.Ints(3));
  const size_t entries = spec.begin.size();
  if (spec.end.size() != entries || spec.stride.size() != entries ||
      entries > 2 * ops::kMaxRank) {
    return TfliteBroken("begin, end and strides of different length", "",
                        "one entry each per dimension");
  }
  for (size_t i = 0; i < entries; ++i) {
    constexpr int64_t kFar = int64_t{1} << 40;
    spec.begin[i] = std::clamp(spec.begin[i], -kFar, kFar);
    if (options->offset()) spec.end[i] = spec.begin[i] + spec.end[i];
    spec.end[i] = std::clamp(spec.end[i], -kFar, kFar);
    if (spec.stride[i] == 0) return TfliteBroken("stride 0", "", "not 0");
    spec.stride[i] = std::clamp(spec.stride[i], -kFar, kFar);
  }
  spec.begin_mask = options->begin_mask();
  spec.end_mask = options->end_mask();
  spec.ellipsis_mask = options->ellipsis_mask();
  spec.new_axis_mask = options->new_axis_mask();
  spec.shrink_mask = options->shrink_axis_mask();
  return spec;
}

// Ranges over the input's dimensions, and the shape once dimensions have been
// added and taken away.
absl::Status Resolve(const StridedSpec& spec, const Shape& x,
                     std::vector<Range>& ranges, Shape& shape) {
  size_t consumed = 0;  // By entries that are no ellipsis and no new axis.
  bool ellipsis = false;
  for (size_t i = 0; i < spec.begin.size(); ++i) {
    if (spec.Has(spec.ellipsis_mask, i)) {
      if (ellipsis) return TfliteBroken("two ellipses", "", "at most one");
      ellipsis = true;
    } else if (!spec.Has(spec.new_axis_mask, i)) {
      ++consumed;
    }
  }
  if (consumed > x.size()) {
    return TfliteBroken(
        absl::StrCat(consumed, " entries for ", x.size(), " dimensions"), "",
        "at most one for each dimension");
  }
  const auto whole = [&](size_t count) {
    for (size_t k = 0; k < count; ++k) {
      const int64_t extent = x[ranges.size()];
      ranges.push_back({0, extent, 1});
      shape.push_back(extent);
    }
  };
  for (size_t i = 0; i < spec.begin.size(); ++i) {
    if (spec.Has(spec.ellipsis_mask, i)) {
      whole(x.size() - consumed);
    } else if (spec.Has(spec.new_axis_mask, i)) {
      shape.push_back(1);
    } else if (spec.Has(spec.shrink_mask, i)) {
      const int64_t extent = x[ranges.size()];
      const int64_t at =
          spec.begin[i] < 0 ? spec.begin[i] + extent : spec.begin[i];
      if (at < 0 || at >= extent) {
        return TfliteBroken(
            absl::StrCat("index ", spec.begin[i], " of ", extent), "");
      }
      ranges.push_back({at, 1, 1});
    } else {
      ranges.push_back(StridedRange(spec.begin[i], spec.end[i], spec.stride[i],
                                    spec.Has(spec.begin_mask, i),
                                    spec.Has(spec.end_mask, i),
                                    x[ranges.size()]));
      shape.push_back(ranges.back().extent);
    }
  }
  whole(x.size() - ranges.size());
  return absl::OkStatus();
}

}  // namespace

absl::Status ConvertSlice(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> begin, c.Ints(1));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> size, c.Ints(2));
  const Shape shape = c.shape(x);
  if (begin.size() != shape.size() || size.size() != shape.size()) {
    return TfliteBroken("begin and size of another rank than the input", "",
                        "one entry each per dimension");
  }
  std::vector<Range> ranges;
  for (size_t d = 0; d < shape.size(); ++d) {
    // Also keeps the sum below from overflowing.
    const bool inside = begin[d] >= 0 && begin[d] <= shape[d] &&
                        size[d] >= -1 && size[d] <= shape[d] - begin[d];
    if (!inside) {
      return TfliteBroken(absl::StrCat("slice from ", begin[d], " of ", size[d],
                                       " in dimension ", d),
                          "", absl::StrCat("within 0 to ", shape[d]));
    }
    ranges.push_back(
        {begin[d], size[d] == -1 ? shape[d] - begin[d] : size[d], 1});
  }
  return c.Write(SliceOf(ranges), {x});
}

absl::Status ConvertStridedSlice(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const StridedSpec spec, ReadStridedSpec(c));
  std::vector<Range> ranges;
  Shape shape;
  EK_RETURN_IF_ERROR(Resolve(spec, c.shape(x), ranges, shape));
  Shape taken;
  for (const Range& range : ranges) taken.push_back(range.extent);
  if (taken == shape) return c.Write(SliceOf(ranges), {x});
  EK_ASSIGN_OR_RETURN(const TensorId part,
                      c.Emit("slice", SliceOf(ranges), {x}, x));
  return c.WriteReshape(part, std::move(shape));
}

// SPLIT: axis, x. SPLIT_V: x, sizes, axis.
absl::Status ConvertSplit(Conversion& c) {
  const bool equal = c.code() == Code::SPLIT;
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(equal ? 1 : 0));
  EK_ASSIGN_OR_RETURN(const int64_t axis_value, c.Int(equal ? 0 : 2));
  const Shape shape = c.shape(x);
  EK_ASSIGN_OR_RETURN(const int32_t axis, NormalAxis(axis_value, shape.size()));
  const auto outputs = static_cast<int64_t>(c.num_outputs());
  std::vector<int64_t> sizes(c.num_outputs(), shape[axis] / outputs);
  if (!equal) {
    EK_ASSIGN_OR_RETURN(sizes, c.Ints(1));
  }
  int64_t rest = shape[axis];
  int64_t open = 0;
  for (const int64_t size : sizes) {
    if (size < -1 || size > shape[axis]) open = 2;
    if (size == -1) ++open;
    if (size > 0) rest -= size;  // At most 1024 sizes of at most 2^31.
  }
  if (std::ssize(sizes) != outputs || open > 1 || rest < 0 ||
      (open == 0 && rest != 0)) {
    return TfliteBroken(absl::StrCat("split of ", shape[axis],
                                     " elements into ", outputs, " outputs"),
                        "", "sizes that add up, at most one of -1");
  }
  std::vector<Range> ranges = Whole(shape);
  int64_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ranges[axis] = {at, sizes[i] == -1 ? rest : sizes[i], 1};
    at += ranges[axis].extent;
    EK_RETURN_IF_ERROR(c.Write(SliceOf(ranges), {x}, i));
  }
  return absl::OkStatus();
}

absl::Status ConvertUnpack(Conversion& c) {
  const auto* options = c.from().builtin_options_as_UnpackOptions();
  if (options == nullptr) return MissingOptions("UnpackOptions");
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  const Shape shape = c.shape(x);
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      NormalAxis(options->axis(), shape.size()));
  if (std::ssize(shape) < 1 ||
      shape[axis] != static_cast<int64_t>(c.num_outputs())) {
    return TfliteBroken(
        absl::StrCat(c.num_outputs(), " outputs of ", shape[axis], " elements"),
        "", "one output for each element");
  }
  Shape without = shape;
  without.erase(without.begin() + axis);
  std::vector<Range> ranges = Whole(shape);
  for (size_t i = 0; i < c.num_outputs(); ++i) {
    ranges[axis] = {static_cast<int64_t>(i), 1, 1};
    EK_ASSIGN_OR_RETURN(const TensorId part, c.Emit(absl::StrCat("part_", i),
                                                    SliceOf(ranges), {x}, x));
    EK_RETURN_IF_ERROR(c.WriteReshape(part, without, i));
  }
  return absl::OkStatus();
}

absl::Status ConvertReverse(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.Ints(1));
  const Shape shape = c.shape(x);
  std::vector<Range> ranges = Whole(shape);
  for (const int64_t value : axes) {
    EK_ASSIGN_OR_RETURN(const int32_t axis, NormalAxis(value, shape.size()));
    if (shape[axis] > 0) ranges[axis] = {shape[axis] - 1, shape[axis], -1};
  }
  return c.Write(SliceOf(ranges), {x});
}

absl::Status ConvertGather(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const TensorId indices, c.Input(1));
  const auto* options = c.from().builtin_options_as_GatherOptions();
  v1::OpAttributes attributes;
  v1::Gather& gather = *attributes.mutable_gather();
  if (options != nullptr) {
    EK_ASSIGN_OR_RETURN(const int32_t axis,
                        NormalAxis(options->axis(), c.shape(x).size()));
    gather.set_axis(axis);
    const size_t rank = c.shape(indices).size();
    EK_ASSIGN_OR_RETURN(const int32_t batch_dims,
                        NormalAxis(options->batch_dims(), rank + 1));
    // NormalAxis counts negative ones from rank + 1.
    gather.set_batch_dims(options->batch_dims() < 0 ? batch_dims - 1
                                                    : batch_dims);
  }
  return c.Write(std::move(attributes), {x, indices});
}

}  // namespace edgekiln::compiler::tflite_import
