#include "server/worker/stages/real_values.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/sample_layout.h"

namespace edgekiln::server {

absl::StatusOr<RealValues> RealValues::Create(const v1::Chunk::Array& array,
                                              int64_t samples) {
  const v1::TensorType& type = array.type();
  const auto misfit = [&] {
    return absl::InternalError(
        absl::StrCat("array '", type.name(), "' of a chunk is malformed"));
  };
  const auto element = compiler::NpyTypeOf(type.element_type());
  const auto elements = CheckedProduct(compiler::SampleShape(type));
  if (!element || !elements) return misfit();
  const auto sample_bytes = CheckedMul(*elements, NpyTypeBytes(*element));
  const auto bytes =
      sample_bytes ? CheckedMul(*sample_bytes, samples) : std::nullopt;
  if (bytes != static_cast<int64_t>(array.data().size())) return misfit();
  RealValues values;
  values.data_ = &array.data();
  values.type_ = *element;
  values.per_sample_ = *elements;
  if (!type.has_quantization() || IsFloat(*element)) return values;
  const v1::Quantization& quantization = type.quantization();
  values.scales_.assign(quantization.scale().begin(),
                        quantization.scale().end());
  values.zero_points_.assign(quantization.zero_point().begin(),
                             quantization.zero_point().end());
  if (values.scales_.empty() ||
      values.scales_.size() != values.zero_points_.size()) {
    return misfit();
  }
  if (values.scales_.size() == 1) return values;
  const int axis = quantization.axis();
  if (axis < 0 || axis >= type.shape_size() ||
      type.shape(axis) != static_cast<int64_t>(values.scales_.size())) {
    return misfit();
  }
  // A leading batch of 1 does not move the elements.
  for (int d = axis + 1; d < type.shape_size(); ++d) {
    values.channel_stride_ *= type.shape(d);
  }
  return values;
}

void RealValues::Read(int64_t index, std::vector<double>& values) const {
  const int64_t bytes = NpyTypeBytes(type_);
  const char* at = data_->data() + index * per_sample_ * bytes;
  values.resize(static_cast<size_t>(per_sample_));
  for (int64_t i = 0; i < per_sample_; ++i, at += bytes) {
    double value = compiler::NpyValueAt(type_, at);
    if (!scales_.empty()) {
      const size_t channel =
          static_cast<size_t>(i / channel_stride_) % scales_.size();
      value = static_cast<float>(static_cast<double>(scales_[channel]) *
                                 (value - zero_points_[channel]));
    }
    values[static_cast<size_t>(i)] = value;
  }
}

}  // namespace edgekiln::server
