#ifndef EK_OPS_TESTING_TEST_TENSOR_H_
#define EK_OPS_TESTING_TEST_TENSOR_H_

#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/evaluate.h"
#include "ops/tensor_view.h"

// Tensors that own their values, for tests of kernels.
namespace edgekiln::ops {

// `char` stands for BOOL.
template <typename T>
v1::ElementType ElementTypeOf() {
  if constexpr (std::is_same_v<T, char>) return v1::BOOL;
  if constexpr (std::is_same_v<T, _Float16>) return v1::FLOAT16;
  if constexpr (std::is_same_v<T, double>) return v1::FLOAT64;
  if constexpr (std::is_same_v<T, uint16_t>) return v1::UINT16;
  if constexpr (std::is_same_v<T, uint32_t>) return v1::UINT32;
  if constexpr (std::is_same_v<T, uint64_t>) return v1::UINT64;
  if constexpr (std::is_same_v<T, float>) return v1::FLOAT32;
  if constexpr (std::is_same_v<T, int8_t>) return v1::INT8;
  if constexpr (std::is_same_v<T, uint8_t>) return v1::UINT8;
  if constexpr (std::is_same_v<T, int16_t>) return v1::INT16;
  if constexpr (std::is_same_v<T, int32_t>) return v1::INT32;
  if constexpr (std::is_same_v<T, int64_t>) return v1::INT64;
  return v1::ELEMENT_TYPE_UNSPECIFIED;
}

template <typename T>
struct TestTensor {
  std::vector<int64_t> shape = {};
  std::vector<T> values = {};
  std::vector<float> scale = {};
  std::vector<int32_t> zero_point = {};
  int32_t axis = 0;

  int64_t elements() const { return NumElements(shape); }
  QuantizationView quantization() const { return {scale, zero_point, axis}; }
  TensorView view() const {
    return {ElementTypeOf<T>(), shape, values.data(), quantization()};
  }
  MutableTensorView mutable_view() {
    values.resize(elements());
    return {ElementTypeOf<T>(), shape, values.data(), quantization()};
  }
};

// Computes one op into a tensor whose shape and quantization are set.
template <typename T>
absl::Status Compute(const v1::OpAttributes& op,
                     const std::vector<TensorView>& inputs,
                     TestTensor<T>& output, CpuPath path = CpuPath::kAuto) {
  return Evaluate(op, inputs, {output.mutable_view()}, {.cpu_path = path});
}

// Seeded values, the same on every machine (std distributions are not).
class TestRandom {
 public:
  explicit TestRandom(uint32_t seed) : engine_(seed) {}

  // In [low, high].
  int64_t Int(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  // In [low, high), 24 bits of it.
  float Float(float low, float high) {
    const auto unit = static_cast<float>(Int(0, (1 << 24) - 1)) / (1 << 24);
    return low + unit * (high - low);
  }
  template <typename T>
  void Fill(TestTensor<T>& tensor) {
    tensor.values.resize(tensor.elements());
    for (T& value : tensor.values) {
      if constexpr (std::is_same_v<T, float>) {
        value = Float(-2, 2);
      } else if constexpr (sizeof(T) == 1) {
        value = static_cast<T>(
            Int(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
      } else {
        value = static_cast<T>(Int(-5000, 5000));
      }
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_TESTING_TEST_TENSOR_H_
