#include <algorithm>
#include <vector>

#include "ops/cell.h"
#include "ops/dot_output.h"
#include "ops/kernels.h"

namespace edgekiln::ops {
namespace {

// x [N,I], feature weights [F,I], time weights [F,M], bias, state [N,F*M].
template <typename T>
void SvdfReal(const v1::Svdf& op, Inputs inputs, Outputs outputs,
              CpuPath path) {
  const int64_t batch = inputs[0].shape[0];
  const int64_t filters = inputs[1].shape[0];
  const int64_t memory = inputs[2].shape[1];
  const int64_t units = filters / op.rank();
  const Matrix<T> features(inputs[1].as<T>(), filters, inputs[1].shape[1]);
  std::vector<T> fresh(batch * filters);
  features.Times(inputs[0].as<T>(), batch, fresh.data(), path);
  // The oldest step of each filter falls out, the new one comes last.
  std::vector<T> state(inputs[4].as<T>(),
                       inputs[4].as<T>() + batch * filters * memory);
  for (int64_t i = 0; i < batch * filters; ++i) {
    T* line = state.data() + i * memory;
    std::copy(line + 1, line + memory, line);
    line[memory - 1] = fresh[i];
  }
  const T* time = inputs[2].as<T>();
  const T* bias = InputOr(inputs, 3).as<T>();
  const FloatRange range = FloatRangeOf(op.clamp());
  for (int64_t i = 0; i < batch * units; ++i) {
    const int64_t unit = i % units;
    T sum = 0;
    for (int64_t r = 0; r < op.rank(); ++r) {
      const int64_t filter = unit * op.rank() + r;
      const T* line = state.data() + (i / units * filters + filter) * memory;
      T dot = 0;
      for (int64_t m = 0; m < memory; ++m) {
        dot += line[m] * time[filter * memory + m];
      }
      sum += dot;
    }
    if (bias != nullptr) sum += bias[unit];
    sum = sum < T{range.min} ? T{range.min} : sum;
    outputs[0].as<T>()[i] = sum > T{range.max} ? T{range.max} : sum;
  }
  if (outputs.size() > 1) {
    std::copy(state.begin(), state.end(), outputs[1].as<T>());
  }
}

}  // namespace

absl::Status Svdf(const v1::Svdf& op, Inputs inputs, Outputs outputs,
                  CpuPath path) {
  if (outputs[0].type == v1::FLOAT64) {
    SvdfReal<double>(op, inputs, outputs, path);
  } else {
    SvdfReal<float>(op, inputs, outputs, path);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
