#ifndef EK_COMPILER_QUANTIZE_VALUE_LOOPS_H_
#define EK_COMPILER_QUANTIZE_VALUE_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "compiler/quantize/value_kernels.h"

// The kernels for any vector width, for the value_kernels_*.cc files only.
// Internal linkage on purpose, and no inline functions of other headers: each
// of those files is compiled for other instructions, and the linker must never
// merge their copies.
namespace edgekiln::compiler {

template <typename T, int kLanes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(kLanes * sizeof(T))));
};

template <int kLanes>
static Extremes ExtremesIn(const float* values, size_t count) {
  using Floats = typename Lanes<float, kLanes>::Vector;
  using Truths = typename Lanes<int32_t, kLanes>::Vector;
  // Several vectors, so that no comparison waits for the one before it.
  constexpr size_t kVectors = 4;
  constexpr size_t kStep = kVectors * kLanes;
  Floats low[kVectors];
  Floats high[kVectors];
  Truths strange[kVectors] = {};
  for (size_t v = 0; v < kVectors; ++v) {
    low[v] = high[v] = Floats{} + values[0];
  }
  const size_t whole = count / kStep * kStep;
  for (size_t i = 0; i < whole; i += kStep) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      Floats some;
      __builtin_memcpy(&some, values + i + v * kLanes, sizeof(some));
      low[v] = some < low[v] ? some : low[v];
      high[v] = some > high[v] ? some : high[v];
      strange[v] |= some != some;
    }
  }
  float lows[kVectors * kLanes];
  float highs[kVectors * kLanes];
  Truths any_strange = {};
  __builtin_memcpy(lows, low, sizeof(lows));
  __builtin_memcpy(highs, high, sizeof(highs));
  for (size_t v = 0; v < kVectors; ++v) any_strange |= strange[v];
  // By halves.
  for (size_t left = kStep / 2; left > 0; left /= 2) {
    for (size_t i = 0; i < left; ++i) {
      lows[i] = lows[i + left] < lows[i] ? lows[i + left] : lows[i];
      highs[i] = highs[i + left] > highs[i] ? highs[i + left] : highs[i];
    }
  }
  int32_t not_numbers = 0;
  for (int lane = 0; lane < kLanes; ++lane) not_numbers |= any_strange[lane];
  Extremes result = {lows[0], highs[0],
                     not_numbers == 0 && values[0] == values[0]};
  for (size_t i = whole; i < count; ++i) {
    result.low = values[i] < result.low ? values[i] : result.low;
    result.high = values[i] > result.high ? values[i] : result.high;
    result.numbers = result.numbers && values[i] == values[i];
  }
  // Which of 0 and -0 was found depends on the order: -0 + 0 is 0.
  result.low += 0.0f;
  result.high += 0.0f;
  return result;
}

template <int kLanes>
static void BinsOf(const float* values, size_t count, float per_width,
                   int32_t negative, int32_t* bins) {
  using Floats = typename Lanes<float, kLanes>::Vector;
  using Bins = typename Lanes<int32_t, kLanes>::Vector;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats some;
    __builtin_memcpy(&some, values + i, sizeof(some));
    const Floats scaled = some * per_width;
    const Floats magnitude = scaled < 0 ? -scaled : scaled;
    const Bins done = __builtin_convertvector(magnitude, Bins) +
                      ((some < 0) & (Bins{} + negative));
    __builtin_memcpy(bins + i, &done, sizeof(done));
  }
  for (; i < count; ++i) {
    const float scaled = values[i] * per_width;
    bins[i] = static_cast<int32_t>(scaled < 0 ? -scaled : scaled) +
              (values[i] < 0 ? negative : 0);
  }
}

// Of `kLanes` channels from `c` on, whose totals stay in registers; without
// branches, which follow no pattern.
template <int kLanes, bool kSquares>
static void AddClampedLanes(const ClampedRows& rows, size_t c,
                            const ClampedTotals& totals) {
  using Doubles = typename Lanes<double, kLanes>::Vector;
  using Floats = typename Lanes<float, kLanes>::Vector;
  using Truths = typename Lanes<int64_t, kLanes>::Vector;
  Doubles shift, errors, differences, squares, counts;
  __builtin_memcpy(&shift, totals.shift + c, sizeof(shift));
  __builtin_memcpy(&errors, totals.errors + c, sizeof(errors));
  __builtin_memcpy(&differences, totals.differences + c, sizeof(differences));
  __builtin_memcpy(&squares, totals.squares + c, sizeof(squares));
  __builtin_memcpy(&counts, totals.counts + c, sizeof(counts));
  const Doubles high = Doubles{} + rows.high;
  for (size_t row = 0; row < rows.rows; ++row) {
    const Doubles low = Doubles{} + rows.low[row];
    Floats real_row, our_row;
    __builtin_memcpy(&real_row, rows.real + row * rows.channels + c,
                     sizeof(real_row));
    __builtin_memcpy(&our_row, rows.ours + row * rows.channels + c,
                     sizeof(our_row));
    const Doubles real = __builtin_convertvector(real_row, Doubles);
    const Doubles ours = __builtin_convertvector(our_row, Doubles) + shift;
    const Doubles real_raised = real < low ? low : real;
    const Doubles ours_raised = ours < low ? low : ours;
    const Doubles error = (real_raised > high ? high : real_raised) -
                          (ours_raised > high ? high : ours_raised);
    errors += error * error;
    const Truths shut =
        ((real <= low) & (ours <= low)) | ((real >= high) & (ours >= high));
    const Doubles difference = shut ? Doubles{} : real - ours;
    differences += difference;
    if (kSquares) squares += difference * difference;
    counts += shut ? Doubles{} : Doubles{} + 1.0;
  }
  __builtin_memcpy(totals.errors + c, &errors, sizeof(errors));
  __builtin_memcpy(totals.differences + c, &differences, sizeof(differences));
  __builtin_memcpy(totals.squares + c, &squares, sizeof(squares));
  __builtin_memcpy(totals.counts + c, &counts, sizeof(counts));
}

template <int kLanes, bool kSquares>
static void AddClampedRows(const ClampedRows& rows,
                           const ClampedTotals& totals) {
  size_t c = 0;
  for (; c + kLanes <= rows.channels; c += kLanes) {
    AddClampedLanes<kLanes, kSquares>(rows, c, totals);
  }
  for (; c + 2 <= rows.channels; c += 2) {
    AddClampedLanes<2, kSquares>(rows, c, totals);
  }
  for (; c < rows.channels; ++c) {
    AddClampedLanes<1, kSquares>(rows, c, totals);
  }
}

template <int kLanes>
static void AddClamped(const ClampedRows& rows, bool squares,
                       const ClampedTotals& totals) {
  if (squares) {
    AddClampedRows<kLanes, true>(rows, totals);
  } else {
    AddClampedRows<kLanes, false>(rows, totals);
  }
}

// As AddClampedLanes().
template <int kLanes>
static void AddCodesLanes(const CodeRows& rows, size_t c,
                          const CodeTotals& totals) {
  using Doubles = typename Lanes<double, kLanes>::Vector;
  using Floats = typename Lanes<float, kLanes>::Vector;
  using Ints = typename Lanes<int32_t, kLanes>::Vector;
  using Truths = typename Lanes<int64_t, kLanes>::Vector;
  const Doubles low = Doubles{} + rows.low;
  const Doubles high = Doubles{} + rows.high;
  const Doubles least = 2 * low - high - 1;
  const Doubles most = 2 * high - low + 1;
  Doubles scale, offset, count, codes, reals, squares, products;
  __builtin_memcpy(&scale, totals.scales + c, sizeof(scale));
  __builtin_memcpy(&offset, totals.offsets + c, sizeof(offset));
  __builtin_memcpy(&count, totals.count + c, sizeof(count));
  __builtin_memcpy(&codes, totals.codes + c, sizeof(codes));
  __builtin_memcpy(&reals, totals.reals + c, sizeof(reals));
  __builtin_memcpy(&squares, totals.squares + c, sizeof(squares));
  __builtin_memcpy(&products, totals.products + c, sizeof(products));
  for (size_t row = 0; row < rows.rows; ++row) {
    Floats real_row;
    Ints code_row;
    __builtin_memcpy(&real_row, rows.real + row * rows.channels + c,
                     sizeof(real_row));
    __builtin_memcpy(&code_row, rows.codes + row * rows.channels + c,
                     sizeof(code_row));
    const Doubles code = __builtin_convertvector(code_row, Doubles);
    const Doubles given = __builtin_convertvector(real_row, Doubles);
    const Doubles raised = given < least ? least : given;
    const Doubles real = raised > most ? most : raised;
    const Doubles ours = scale * code + offset;
    const Truths shut =
        ((real <= low) & (ours <= low)) | ((real >= high) & (ours >= high));
    count += shut ? Doubles{} : Doubles{} + 1.0;
    codes += shut ? Doubles{} : code;
    reals += shut ? Doubles{} : real;
    squares += shut ? Doubles{} : code * code;
    products += shut ? Doubles{} : code * real;
  }
  __builtin_memcpy(totals.count + c, &count, sizeof(count));
  __builtin_memcpy(totals.codes + c, &codes, sizeof(codes));
  __builtin_memcpy(totals.reals + c, &reals, sizeof(reals));
  __builtin_memcpy(totals.squares + c, &squares, sizeof(squares));
  __builtin_memcpy(totals.products + c, &products, sizeof(products));
}

template <int kLanes>
static void AddCodes(const CodeRows& rows, const CodeTotals& totals) {
  size_t c = 0;
  for (; c + kLanes <= rows.channels; c += kLanes) {
    AddCodesLanes<kLanes>(rows, c, totals);
  }
  for (; c + 2 <= rows.channels; c += 2) AddCodesLanes<2>(rows, c, totals);
  for (; c < rows.channels; ++c) AddCodesLanes<1>(rows, c, totals);
}

// As AddClampedLanes().
template <int kLanes>
static void AddCodeErrorsLanes(const CodeRows& rows, const CodeFactors& factors,
                               size_t c, double* errors) {
  using Doubles = typename Lanes<double, kLanes>::Vector;
  using Floats = typename Lanes<float, kLanes>::Vector;
  using Ints = typename Lanes<int32_t, kLanes>::Vector;
  const Doubles low = Doubles{} + rows.low;
  const Doubles high = Doubles{} + rows.high;
  const Ints least = Ints{} + static_cast<int32_t>(rows.low);
  const Ints most = Ints{} + static_cast<int32_t>(rows.high);
  Ints scale, offset;
  Doubles sums;
  __builtin_memcpy(&scale, factors.scales + c, sizeof(scale));
  __builtin_memcpy(&offset, factors.offsets + c, sizeof(offset));
  __builtin_memcpy(&sums, errors + c, sizeof(sums));
  for (size_t row = 0; row < rows.rows; ++row) {
    Floats real_row;
    Ints code;
    __builtin_memcpy(&real_row, rows.real + row * rows.channels + c,
                     sizeof(real_row));
    __builtin_memcpy(&code, rows.codes + row * rows.channels + c, sizeof(code));
    const Doubles given = __builtin_convertvector(real_row, Doubles);
    const Doubles raised = given < low ? low : given;
    const Doubles wanted = raised > high ? high : raised;
    const Ints made = (code * scale + offset) >> factors.shift;
    const Ints at_least = made < least ? least : made;
    const Ints ours = at_least > most ? most : at_least;
    const Doubles error = wanted - __builtin_convertvector(ours, Doubles);
    sums += error * error;
  }
  __builtin_memcpy(errors + c, &sums, sizeof(sums));
}

template <int kLanes>
static void AddCodeErrors(const CodeRows& rows, const CodeFactors& factors,
                          double* errors) {
  size_t c = 0;
  for (; c + kLanes <= rows.channels; c += kLanes) {
    AddCodeErrorsLanes<kLanes>(rows, factors, c, errors);
  }
  for (; c + 2 <= rows.channels; c += 2) {
    AddCodeErrorsLanes<2>(rows, factors, c, errors);
  }
  for (; c < rows.channels; ++c) {
    AddCodeErrorsLanes<1>(rows, factors, c, errors);
  }
}

// In doubles, which is exact: no quotient of such numbers is closer to the
// integer above it than a double can tell.
template <int kLanes>
static void CodesLanes(const int32_t* sums, int32_t gain, int32_t min,
                       int32_t max, int32_t* codes) {
  using Doubles = typename Lanes<double, kLanes>::Vector;
  using Ints = typename Lanes<int32_t, kLanes>::Vector;
  using Truths = typename Lanes<int64_t, kLanes>::Vector;
  Ints sum;
  __builtin_memcpy(&sum, sums, sizeof(sum));
  const Doubles quotient = __builtin_convertvector(sum, Doubles) / double(gain);
  const Ints towards_zero = __builtin_convertvector(quotient, Ints);
  const Truths above =
      quotient < __builtin_convertvector(towards_zero, Doubles);
  const Ints code = towards_zero + __builtin_convertvector(above, Ints);
  const Ints at_least = code < min ? Ints{} + min : code;
  const Ints done = at_least > max ? Ints{} + max : at_least;
  __builtin_memcpy(codes, &done, sizeof(done));
}

template <int kLanes>
static void CodesOf(const int32_t* sums, size_t count, int32_t gain,
                    int32_t min, int32_t max, int32_t* codes) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    CodesLanes<kLanes>(sums + i, gain, min, max, codes + i);
  }
  for (; i < count; ++i) CodesLanes<1>(sums + i, gain, min, max, codes + i);
}

template <int kLanes>
static void AddScaled(const double* from, double factor, size_t count,
                      double* to) {
  using Doubles = typename Lanes<double, kLanes>::Vector;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Doubles some, sums;
    __builtin_memcpy(&some, from + i, sizeof(some));
    __builtin_memcpy(&sums, to + i, sizeof(sums));
    sums += factor * some;
    __builtin_memcpy(to + i, &sums, sizeof(sums));
  }
  for (; i < count; ++i) to[i] += factor * from[i];
}

// Sums of eight lanes, however wide vectors are.
template <int kLanes>
static void AddNoise(const NoisyBytes& values, double* signal, double* noise) {
  using Doubles = typename Lanes<double, kLanes>::Vector;
  using Floats = typename Lanes<float, kLanes>::Vector;
  using Bytes = typename Lanes<int8_t, kLanes>::Vector;
  // Compilers widen bytes to int32 one by one.
  using Halves = typename Lanes<int16_t, kLanes>::Vector;
  using Ints = typename Lanes<int32_t, kLanes>::Vector;
  constexpr size_t kSums = 8;
  constexpr size_t kVectors = kSums / kLanes;
  Doubles signals[kVectors] = {};
  Doubles noises[kVectors] = {};
  const size_t whole = values.count / kSums * kSums;
  for (size_t i = 0; i < whole; i += kSums) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      Floats given;
      Bytes bytes;
      __builtin_memcpy(&given, values.real + i + v * kLanes, sizeof(given));
      __builtin_memcpy(&bytes, values.bytes + i + v * kLanes, sizeof(bytes));
      const Doubles real = __builtin_convertvector(given, Doubles);
      const Ints ints =
          __builtin_convertvector(__builtin_convertvector(bytes, Halves), Ints);
      const Doubles difference =
          real - values.scale * (__builtin_convertvector(ints, Doubles) -
                                 values.zero_point);
      signals[v] += real * real;
      noises[v] += difference * difference;
    }
  }
  double sums[2][kSums];
  __builtin_memcpy(sums[0], signals, sizeof(sums[0]));
  __builtin_memcpy(sums[1], noises, sizeof(sums[1]));
  for (size_t i = whole; i < values.count; ++i) {
    const double real = values.real[i];
    const double difference =
        real - values.scale * (values.bytes[i] - values.zero_point);
    sums[0][i - whole] += real * real;
    sums[1][i - whole] += difference * difference;
  }
  for (size_t lane = 0; lane < kSums; ++lane) {
    *signal += sums[0][lane];
    *noise += sums[1][lane];
  }
}

// Vectors of `kBytes`.
template <int kBytes>
static constexpr ValueKernels KernelsOf() {
  return {ExtremesIn<kBytes / 4>,    BinsOf<kBytes / 4>,
          AddClamped<kBytes / 8>,    AddCodes<kBytes / 8>,
          AddScaled<kBytes / 8>,     AddNoise<kBytes / 8>,
          AddCodeErrors<kBytes / 8>, CodesOf<kBytes / 8>};
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_VALUE_LOOPS_H_
