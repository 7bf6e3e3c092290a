#include "compiler/passes/transposed_tensor.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

// Element by element, from the definition.
std::string Turned(const Tensor& constant,
                   const std::vector<int32_t>& permutation,
                   const std::vector<int64_t>& shape) {
  const int rank = static_cast<int>(shape.size());
  const int64_t size = ElementBytes(constant.type);
  std::string out;
  for (int64_t i = 0; i < constant.num_elements(); ++i) {
    std::vector<int64_t> index(rank);
    for (int64_t d = rank - 1, rest = i; d >= 0; --d) {
      index[permutation[d]] = rest % shape[d];
      rest /= shape[d];
    }
    int64_t from = 0;
    for (int d = 0; d < rank; ++d) from = from * constant.shape[d] + index[d];
    out.append(constant.data->data() + from * size, size);
  }
  return out;
}

TEST(TransposedTensorTest, AnyShapeOrderAndType) {
  Rng rng(7);
  const v1::ElementType kTypes[] = {v1::INT8, v1::FLOAT16, v1::FLOAT32,
                                    v1::FLOAT64};
  for (int round = 0; round < 400; ++round) {
    Tensor constant;
    constant.type = kTypes[round % 4];
    const int rank = static_cast<int>(rng.InRange(0, 5));
    for (int d = 0; d < rank; ++d) {
      const int64_t most = rank > 3 ? 5 : 40;
      constant.shape.push_back(rng.InRange(round % 20 == 0 ? 0 : 1, most));
    }
    std::vector<int32_t> permutation(rank);
    std::iota(permutation.begin(), permutation.end(), 0);
    for (int d = rank - 1; d > 0; --d) {
      std::swap(permutation[d], permutation[rng.InRange(0, d)]);
    }
    // One byte in front, so that elements are not aligned.
    std::string bytes(static_cast<size_t>(constant.num_elements() *
                                          ElementBytes(constant.type)) +
                          1,
                      '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.InRange(0, 255));
    constant.data = ConstantData::Borrowed(absl::string_view(bytes).substr(1));
    const Tensor turned = TransposedTensor(constant, permutation);
    for (int d = 0; d < rank; ++d) {
      ASSERT_EQ(turned.shape[d], constant.shape[permutation[d]]);
    }
    ASSERT_FALSE(turned.data.is_borrowed());
    ASSERT_EQ(*turned.data, Turned(constant, permutation, turned.shape))
        << "round " << round;
  }
}

TEST(TransposedTensorTest, ChannelsGoWithTheirAxis) {
  Tensor constant;
  constant.type = v1::INT8;
  constant.shape = {2, 3};
  constant.data = ConstantData(std::string("abcdef"));
  constant.quantization = Quantization{{1, 2}, {0, 0}, 0};
  const Tensor turned = TransposedTensor(constant, {1, 0});
  EXPECT_EQ(*turned.data, "adbecf");
  EXPECT_EQ(turned.quantization->axis, 1);
}

}  // namespace
}  // namespace edgekiln::compiler
