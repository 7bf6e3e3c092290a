#ifndef EK_OPS_CELL_H_
#define EK_OPS_CELL_H_

#include <algorithm>
#include <cstdint>

#include "edgekiln/v1/graph.pb.h"
#include "ops/gemm.h"
#include "ops/kernels.h"
#include "ops/unary_function.h"

// What LSTM, GRU and RNN share. Element type T is float or double: matrices are
// multiplied in T, functions evaluated in double, and every gate and state
// rounds to T.
namespace edgekiln::ops {

// The f, g or h of a cell; `absent` if the message names nothing.
class Activation {
 public:
  Activation(const v1::CellActivation& activation, bool present,
             v1::Unary::Function absent)
      : relu_(activation.relu()),
        identity_(activation.identity()),
        unary_(activation.function()) {
    if (!present || (!relu_ && !identity_ &&
                     unary_.function() == v1::Unary::FUNCTION_UNSPECIFIED)) {
      unary_.set_function(absent);
    }
  }

  double operator()(double x) const {
    if (identity_) return x;
    if (relu_) return x > 0 ? x : 0;
    return UnaryOf(unary_, x);
  }

 private:
  bool relu_;
  bool identity_;
  v1::Unary unary_;
};

// Limits to [-bound, bound]; 0: not at all.
template <typename T>
T Bounded(T value, float bound) {
  return bound > 0 ? std::clamp(value, T{-bound}, T{bound}) : value;
}

// [rows, depth] x weights [columns, depth] transposed.
template <typename T>
class Matrix {
 public:
  Matrix(const T* weights, int64_t columns, int64_t depth)
      : packed_(weights, depth, columns, 1, depth) {}

  void Times(const T* left, int64_t rows, T* out, CpuPath path) const {
    Multiply(path, rows, left, packed_, out, packed_.columns());
  }

 private:
  Packed<T> packed_;
};

// Steps that batch row `row` takes: `lengths` (int32 or absent), within
// `steps`.
inline int64_t LengthOf(const TensorView& lengths, int64_t row, int64_t steps) {
  if (!lengths.present()) return steps;
  return std::clamp<int64_t>(lengths.as<int32_t>()[row], 0, steps);
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_CELL_H_
