#ifndef EK_TESTS_BENCH_SYNTHETIC_ONNX_H_
#define EK_TESTS_BENCH_SYNTHETIC_ONNX_H_

#include <cstdint>
#include <string>

namespace edgekiln::bench {

// A float ONNX model of at least `bytes` and hardly more: residual blocks of
// 3x3 convolutions with bias and ReLU on 32x32 pictures, `channels` wide, whose
// weights are raw_data. The same arguments give the same bytes; another seed
// changes nothing but the weights.
std::string SyntheticOnnx(int64_t bytes, int channels, uint64_t seed);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_SYNTHETIC_ONNX_H_
