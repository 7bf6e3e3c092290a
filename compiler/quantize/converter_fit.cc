#include "compiler/quantize/converter_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/passes/clamps.h"
#include "compiler/quantize/scales.h"
#include "ops/converter.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kValues = int64_t{1} << 16;  // Looked at, of all channels.
constexpr int64_t kFewestRows = 512;
constexpr int kRounds = 3;
// Each gain that is tried is larger than the one before by a fifth.
constexpr int32_t kGainSteps = 5;
// Of them, every so many are tried first.
constexpr int64_t kGainStride = 4;
// By one in so many of the rows, spread over all of them. Odd, see StrideOf().
constexpr int64_t kFewer = 5;
// Fewer results do not tell a scale from an offset.
constexpr double kFewestResults = 16;
constexpr double kInt16 = 32767;

// Steps from one row to the next. Odd, so that the columns of an image, whose
// number is mostly even, take turns.
int64_t StrideOf(int64_t rows, int64_t channels) {
  const int64_t wanted =
      std::max(kFewestRows, kValues / std::max<int64_t>(channels, 1));
  return std::max<int64_t>(1, rows / wanted) | 1;
}

// Of so many rows one is enough to choose among a few gains.
int64_t FewerOf(int64_t rows) {
  return (std::clamp<int64_t>(rows / kFewestRows, 1, kFewer) - 1) | 1;
}

template <typename T>
std::vector<T> EveryRow(int64_t step, int64_t channels,
                        const std::vector<T>& values) {
  std::vector<T> some;
  for (int64_t at = 0; at < std::ssize(values); at += step * channels) {
    const auto row = values.begin() + at;
    some.insert(some.end(), row, row + channels);
  }
  return some;
}

// A code stands for the middle of the sums that become it.
CodeLine LineOf(const ConvertedLayer& layer, size_t channel, int32_t gain) {
  const double scale = layer.steps[channel] * gain / layer.output_scale;
  return {scale, layer.bias[channel] / layer.output_scale + scale / 2};
}

// What results cannot tell from further away.
double WithinReach(const ConvertedLayer& layer, const CodeLine& line) {
  const double reach =
      std::abs(line.scale) * std::max(std::abs(double(layer.engine.min())),
                                      std::abs(double(layer.engine.max())));
  return std::clamp(line.offset, layer.range.min - reach - 1,
                    layer.range.max + reach + 1);
}

// The integers of the lines, with the largest shift that keeps the step in
// between within 16 bits.
v1::Converter Integers(const ConvertedLayer& layer, int32_t gain,
                       absl::Span<const CodeLine> lines) {
  v1::Converter converter;
  converter.set_gain(gain);
  converter.set_min(layer.engine.min());
  converter.set_max(layer.engine.max());
  for (int32_t shift = layer.engine.max_shift();; --shift) {
    converter.clear_scale();
    converter.clear_offset();
    bool fits = true;
    for (const CodeLine& line : lines) {
      const double unit = std::ldexp(1.0, shift);
      // Half a unit makes rounding down round to nearest.
      const double scale = std::floor(line.scale * unit + 0.5);
      const double offset = std::floor(WithinReach(layer, line) * unit +
                                       (shift > 0 ? unit / 2 : 0.5));
      const double at_min = scale * layer.engine.min() + offset;
      const double at_max = scale * layer.engine.max() + offset;
      fits = fits && std::abs(scale) <= kInt16 && std::abs(offset) <= kInt16 &&
             std::abs(at_min) <= kInt16 && std::abs(at_max) <= kInt16;
      if (!fits && shift > 0) break;
      // Nothing fits: the channel saturates.
      converter.add_scale(
          static_cast<int32_t>(std::clamp(scale, -kInt16, kInt16)));
      converter.add_offset(
          static_cast<int32_t>(std::clamp(offset, -kInt16, kInt16)));
    }
    if (!fits && shift > 0) continue;
    converter.set_shift(shift);
    return converter;
  }
}

}  // namespace

ConvertedLayer ConvertedLayerOf(const v1::Numerics::Converter& engine,
                                const Op& op, double input_scale,
                                const Quantization& weights,
                                const Quantization& output,
                                absl::Span<const float> bias) {
  ConvertedLayer layer = {.engine = engine, .output_scale = output.scale[0]};
  const ops::QuantizationView view = {output.scale, output.zero_point, -1};
  layer.range =
      ops::ClampRange(*ClampOf(op.attributes), v1::FLOOR, view, v1::INT8);
  for (size_t c = 0; c < bias.size(); ++c) {
    const size_t at = weights.scale.size() == 1 ? 0 : c;
    layer.steps.push_back(input_scale * weights.scale[at]);
    layer.bias.push_back(bias[c]);
  }
  return layer;
}

v1::Converter ConverterWithoutSamples(const ConvertedLayer& layer,
                                      double largest_result) {
  const double codes = std::max(1, layer.engine.max());
  double gain = 1;
  for (size_t c = 0; c < layer.steps.size(); ++c) {
    const double sums =
        (largest_result + std::abs(layer.bias[c])) / layer.steps[c];
    gain = std::max(gain, std::ceil(sums / codes));
  }
  const auto chosen = static_cast<int32_t>(
      std::min(gain, static_cast<double>(layer.engine.max_gain())));
  std::vector<CodeLine> lines;
  for (size_t c = 0; c < layer.steps.size(); ++c) {
    lines.push_back(LineOf(layer, c, chosen));
  }
  return Integers(layer, chosen, lines);
}

ConverterFit::ConverterFit(ConvertedLayer layer, int64_t rows,
                           ops::CpuPath cpu_path)
    : kernels_(ValueKernelsFor(cpu_path)),
      layer_(std::move(layer)),
      channels_(static_cast<int64_t>(layer_.steps.size())),
      stride_(StrideOf(rows, channels_)) {}

void ConverterFit::AddReal(int64_t first, int64_t count, const float* values) {
  for (int64_t row = 0; row < count; ++row) {
    if (!Takes(first + row)) continue;
    AddTakenReals({values + row * channels_, static_cast<size_t>(channels_)});
  }
}

void ConverterFit::AddTakenReals(absl::Span<const float> values) {
  for (const float value : values) {
    real_.push_back(static_cast<float>(value / layer_.output_scale));
  }
}

void ConverterFit::AddSums(int64_t first, int64_t count,
                           const int32_t* values) {
  for (int64_t row = 0; row < count; ++row) {
    if (!Takes(first + row)) continue;
    const int32_t* from = values + row * channels_;
    sums_.insert(sums_.end(), from, from + channels_);
  }
}

std::vector<int32_t> ConverterFit::CodesOf(
    int32_t gain, absl::Span<const int32_t> sums) const {
  std::vector<int32_t> codes(sums.size());
  kernels_.codes(sums.data(), sums.size(), gain, layer_.engine.min(),
                 layer_.engine.max(), codes.data());
  return codes;
}

// Of each channel, over results that count.
struct ConverterFit::Moments {
  explicit Moments(size_t channels)
      : count(channels),
        codes(channels),
        reals(channels),
        squares(channels),
        products(channels) {}
  std::vector<double> count;
  std::vector<double> codes;
  std::vector<double> reals;
  std::vector<double> squares;
  std::vector<double> products;
};

// One round of least squares over the results that the clamp lets through,
// whether as they are or as `lines` have them.
void ConverterFit::Regress(absl::Span<const float> real,
                           const std::vector<int32_t>& codes,
                           absl::Span<CodeLine> lines) const {
  std::vector<double> scales;
  std::vector<double> offsets;
  for (const CodeLine& line : lines) {
    scales.push_back(line.scale);
    offsets.push_back(line.offset);
  }
  Moments moments(lines.size());
  const CodeTotals totals = {scales.data(),          offsets.data(),
                             moments.count.data(),   moments.codes.data(),
                             moments.reals.data(),   moments.squares.data(),
                             moments.products.data()};
  constexpr size_t kRows = 64;  // At a time, to stay in the nearest cache.
  const size_t channels = lines.size();
  const size_t rows = codes.size() / std::max<size_t>(channels, 1);
  for (size_t first = 0; first < rows; first += kRows) {
    kernels_.add_codes(
        {real.data() + first * channels, codes.data() + first * channels,
         static_cast<double>(layer_.range.min),
         static_cast<double>(layer_.range.max), std::min(kRows, rows - first),
         channels},
        totals);
  }
  for (size_t c = 0; c < lines.size(); ++c) {
    const double count = moments.count[c];
    if (count == 0) continue;
    CodeLine& line = lines[c];
    const double sum = moments.codes[c];
    const double variance = moments.squares[c] - sum * sum / count;
    const double covariance =
        moments.products[c] - sum * moments.reals[c] / count;
    if (count >= kFewestResults && variance > count / kFewestResults) {
      // Sums that are too small everywhere need larger codes, not smaller ones.
      const double slope = covariance / variance;
      line.scale = std::clamp(slope, std::min(0.0, 2 * line.scale),
                              std::max(0.0, 2 * line.scale));
    }
    line.offset = (moments.reals[c] - line.scale * sum) / count;
  }
}

double ConverterFit::ErrorOf(const v1::Converter& converter,
                             absl::Span<const float> real,
                             const std::vector<int32_t>& codes) const {
  std::vector<double> errors(static_cast<size_t>(channels_), 0);
  // The integers were chosen so that nothing wraps.
  kernels_.add_code_errors(
      {real.data(), codes.data(), static_cast<double>(layer_.range.min),
       static_cast<double>(layer_.range.max), codes.size() / errors.size(),
       errors.size()},
      {converter.scale().data(), converter.offset().data(), converter.shift()},
      errors.data());
  double error = 0;
  for (const double of_channel : errors) error += of_channel;
  return error;
}

ConverterFit::Fitted ConverterFit::FitGain(
    int32_t gain, absl::Span<const float> real,
    absl::Span<const int32_t> sums) const {
  const std::vector<int32_t> codes = CodesOf(gain, sums);
  std::vector<CodeLine> lines;
  for (size_t c = 0; c < layer_.steps.size(); ++c) {
    lines.push_back(LineOf(layer_, c, gain));
  }
  for (int round = 0; round < kRounds; ++round) {
    Regress(real, codes, absl::MakeSpan(lines));
  }
  Fitted fitted = {Integers(layer_, gain, lines)};
  fitted.error = ErrorOf(fitted.converter, real, codes);
  return fitted;
}

v1::Converter ConverterFit::Best() const {
  Fitted best;
  best.error = std::numeric_limits<double>::infinity();
  int64_t largest = 1;
  for (const int32_t sum : sums_) {
    largest = std::max(largest, std::abs(int64_t{sum}));
  }
  // Larger gains leave no codes but -1 and 0.
  const auto most = static_cast<int32_t>(
      std::min<int64_t>(layer_.engine.max_gain(), largest));
  std::vector<int32_t> gains;
  for (int64_t gain = 1; gain <= most; gain += gain / kGainSteps + 1) {
    gains.push_back(static_cast<int32_t>(gain));
  }
  // The error falls up to some gain and rises from there: few of them first,
  // then those around the best.
  const auto count = std::ssize(gains);
  int64_t at = 0;
  const auto try_gain = [&](int64_t i, absl::Span<const float> real,
                            absl::Span<const int32_t> sums) {
    Fitted fitted = FitGain(gains[i], real, sums);
    if (!(fitted.error < best.error)) return;
    best = std::move(fitted);
    at = i;
  };
  const int64_t rows = std::ssize(real_) / std::max<int64_t>(channels_, 1);
  const int64_t step = FewerOf(rows);
  const std::vector<float> real = EveryRow(step, channels_, real_);
  const std::vector<int32_t> sums = EveryRow(step, channels_, sums_);
  for (int64_t i = 0; i < count; i += kGainStride) try_gain(i, real, sums);
  const int64_t middle = at;
  if (step > 1) {
    best.error = std::numeric_limits<double>::infinity();
    try_gain(middle, real_, sums_);
  }
  for (int64_t i = std::max<int64_t>(middle - kGainStride + 1, 0);
       i < std::min(middle + kGainStride, count); ++i) {
    if (i != middle) try_gain(i, real_, sums_);
  }
  return std::move(best.converter);
}

}  // namespace edgekiln::compiler
