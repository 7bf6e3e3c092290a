#ifndef EK_COMPILER_QUANTIZE_VALUE_KERNELS_H_
#define EK_COMPILER_QUANTIZE_VALUE_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "compiler/quantize/extremes.h"
#include "ops/cpu_path.h"

// Loops over the values of calibration and bias correction, compiled for each
// instruction set, each in a source file of its own. All give the same bits.
namespace edgekiln::compiler {

// Float results of a layer and ours, [rows, channels], and the clamp.
struct ClampedRows {
  const float* real;
  const float* ours;
  const double* low;  // By row: the lower end.
  double high;
  size_t rows;
  size_t channels;
};

// By channel. With `shift` added to ours: sums of squared errors after the
// clamp; of differences before it, their squares and their number where not
// both values are on the same side of it.
struct ClampedTotals {
  const double* shift;
  double* errors;
  double* differences;
  double* squares;
  double* counts;
};

// Codes of a converter and real results, [rows, channels], in steps of the
// result, whose clamp is low .. high.
struct CodeRows {
  const float* real;
  const int32_t* codes;
  double low;
  double high;
  size_t rows;
  size_t channels;
};

// By channel. Of results of which not both, the real one and scale * code +
// offset, are on the same side of the clamp: their number, and sums for a
// regression. Real results count as at most the clamp's width beyond it.
struct CodeTotals {
  const double* scales;
  const double* offsets;
  double* count;
  double* codes;
  double* reals;
  double* squares;   // Of codes.
  double* products;  // Of codes and results.
};

// What makes results of codes: (code * scale + offset) >> shift, which fits
// int32, by channel.
struct CodeFactors {
  const int32_t* scales;
  const int32_t* offsets;
  int32_t shift;
};

// Real values, and the integers that stand for them.
struct NoisyBytes {
  const float* real;
  const int8_t* bytes;
  size_t count;
  double scale;
  double zero_point;
};

struct ValueKernels {
  // Of at least one value. A bound of 0 is not -0.
  Extremes (*extremes)(const float* values, size_t count);
  // bins[i] = |values[i]| * per_width without its fraction, which fits int32,
  // and `negative` more for values below 0.
  void (*bins)(const float* values, size_t count, float per_width,
               int32_t negative, int32_t* bins);
  // Adds to `totals`, row by row. Without `squares`, those stay.
  void (*add_clamped)(const ClampedRows& rows, bool squares,
                      const ClampedTotals& totals);
  void (*add_codes)(const CodeRows& rows, const CodeTotals& totals);
  // to[i] += factor * from[i].
  void (*add_scaled)(const double* from, double factor, size_t count,
                     double* to);
  // Adds the squares of the real values, and of what the others are off by.
  void (*add_noise)(const NoisyBytes& values, double* signal, double* noise);
  // Adds to `errors`, by channel and row by row, the squares of what results
  // within the clamp are off by. Bounds of the clamp are integers.
  void (*add_code_errors)(const CodeRows& rows, const CodeFactors& factors,
                          double* errors);
  // codes[i] = sums[i] / gain, rounded down, within min .. max; gain >= 1.
  void (*codes)(const int32_t* sums, size_t count, int32_t gain, int32_t min,
                int32_t max, int32_t* codes);
};

// Those of ops::ResolveCpuPath(path).
const ValueKernels& ValueKernelsFor(ops::CpuPath path);

extern const ValueKernels kScalarValueKernels;
extern const ValueKernels kAvx2ValueKernels;
extern const ValueKernels kAvx512ValueKernels;

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_VALUE_KERNELS_H_
