#ifndef EK_COMPILER_DATASET_TESTING_TEST_DATA_H_
#define EK_COMPILER_DATASET_TESTING_TEST_DATA_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/npy.h"
#include "edgekiln/v1/graph.pb.h"

// For tests: types, arrays and files of them.
namespace edgekiln::compiler {

// Of a tensor called "in"; no quantization without a scale.
v1::TensorType Type(v1::ElementType element, std::vector<int64_t> shape,
                    float scale = 0, int zero_point = 0);

template <typename T>
NpyArray Array(NpyType type, std::vector<int64_t> shape,
               std::vector<T> values) {
  NpyArray array{type, std::move(shape), std::string()};
  for (const T value : values) AppendAs(value, array.data);
  return array;
}
NpyArray U8(std::vector<int64_t> shape, std::vector<uint8_t> values);
NpyArray I8(std::vector<int64_t> shape, std::vector<int8_t> values);
NpyArray F32(std::vector<int64_t> shape, std::vector<float> values);
// Of uint8.
NpyArray Bytes(std::vector<int64_t> shape, std::string data);

using Arrays = std::vector<std::pair<std::string, NpyArray>>;

// A file of arrays; "" if they cannot be written.
std::string Npz(const Arrays& arrays);
// x = "abcd" and y = 1, 2.
std::string SmallNpz();
// Two images of 1 x 2, and their labels 7 and 3.
std::string IdxImages();
std::string IdxLabels();
std::string Gzip(const std::string& bytes);

// "DATA_SHAPE" and the like.
std::string Reason(const absl::Status& status);
// "type shape: values", or the reason of the error.
std::string Describe(const absl::StatusOr<NpyArray>& array);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_TESTING_TEST_DATA_H_
