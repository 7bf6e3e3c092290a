#ifndef EK_OPS_TENSOR_VIEW_H_
#define EK_OPS_TENSOR_VIEW_H_

#include <cstdint>

#include "absl/types/span.h"
#include "edgekiln/v1/data.pb.h"

// Tensors as kernels see them: borrowed memory with a type. Nothing here owns
// or allocates; whoever makes a view keeps what it points to alive.
namespace edgekiln::ops {

// Affine quantization, real = scale[c] * (q - zero_point[c]); no entry (not
// quantized), one entry, or one per channel of dimension `axis`.
struct QuantizationView {
  absl::Span<const float> scale;
  absl::Span<const int32_t> zero_point;  // As many as scales.
  int32_t axis = 0;

  bool present() const { return !scale.empty(); }
  bool per_channel() const { return scale.size() > 1; }
  // Same parameters, bit for bit.
  friend bool operator==(const QuantizationView& a, const QuantizationView& b) {
    return a.scale == b.scale && a.zero_point == b.zero_point &&
           (!a.per_channel() || a.axis == b.axis);
  }
};

// A tensor that is read. Values are in native byte order, row-major, aligned
// for their type. An absent optional input is a default-constructed view;
// `data` is null where only the type matters (shape inference).
struct TensorView {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  absl::Span<const int64_t> shape;
  const void* data = nullptr;
  QuantizationView quantization = {};

  bool present() const { return type != v1::ELEMENT_TYPE_UNSPECIFIED; }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

// A tensor that is written.
struct MutableTensorView {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  absl::Span<const int64_t> shape;
  void* data = nullptr;
  QuantizationView quantization = {};

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  TensorView type_only() const { return {type, shape, nullptr, quantization}; }
};

// Bytes of one element; 0 for ELEMENT_TYPE_UNSPECIFIED.
int64_t ElementBytes(v1::ElementType type);

// Number of elements of a shape whose product is known to fit.
int64_t NumElements(absl::Span<const int64_t> shape);

}  // namespace edgekiln::ops

#endif  // EK_OPS_TENSOR_VIEW_H_
