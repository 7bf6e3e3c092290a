#include "simfarm/conformance/register_job/naive_job.h"

#include <algorithm>

#include "simfarm/conformance/register_job/naive_cells.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

using Jobs = v1::RegisterJobs;
using Index = std::vector<int64_t>;

// Low 32 bits, as a signed number.
int64_t Wrap32(int64_t value) {
  return static_cast<int32_t>(
      static_cast<uint32_t>(static_cast<uint64_t>(value)));
}

// a / b, halves to the even one; b > 0.
int64_t DivideHalfEven(int64_t a, int64_t b) {
  int64_t low = a / b;
  if (low * b > a) --low;
  const int64_t above = a - low * b;
  const int64_t below = b - above;
  if (above != below) return above < below ? low : low + 1;
  return low % 2 == 0 ? low : low + 1;
}

class Computation {
 public:
  Computation(const NaiveJob& job, const NaiveMemories& memories)
      : job_(job), memories_(memories) {}

  std::string Run() {
    const bool has_table = job_.operands.count("table") > 0;
    if (!TakesWeights()) return "a weight";
    for (int64_t c = 0; has_table && !sums_only() && c < V("out_c"); ++c) {
      if (V("converts") == 1) {
        if (!IsInt16(Table(c, 1))) return "scale";
        if (!IsInt16(Table(c, 2))) return "offset";
        continue;
      }
      if (Table(c, 1) < 0) return "multiplier";
      if (Table(c, 2) < -31 || Table(c, 2) > 30) return "shift";
    }
    for (int64_t y = 0; y < V("out_h"); ++y) {
      for (int64_t x = 0; x < V("out_w"); ++x) {
        for (int64_t c = 0; c < V("out_c"); ++c) {
          const int64_t value = Element(y, x, c);
          if (!error_.empty()) return error_;
          Store("out", {y, x, c}, value);
        }
      }
    }
    return "";
  }

 private:
  int64_t V(const char* name) const { return job_.v.at(name); }
  bool by_shift() const { return job_.results == Jobs::BY_SHIFT; }
  bool by_table() const { return job_.results == Jobs::BY_TABLE; }
  bool sums_only() const {
    return by_table() && job_.kernel != Jobs::REQUANTIZATION &&
           V("out_int32") == 1;
  }

  bool has_cells() const {
    return job_.operands.at("weights").cells.has_value();
  }
  const std::string& Memory(const char* operand) const {
    return *memories_.at(job_.operands.at(operand).memory);
  }
  // Of a convolution.
  int64_t Weight(int64_t o, int64_t y, int64_t x, int64_t i) const {
    if (!has_cells()) return Load("weights", {o, y, x, i});
    return WeightOfCells(job_, Memory("weights"), o, y, x, i);
  }

  static bool IsInt16(int64_t value) {
    return value >= -32768 && value <= 32767;
  }

  // Whether no weight is one that the engine does not have.
  bool TakesWeights() const {
    if (job_.weights == v1::WEIGHTS_ANY ||
        job_.operands.count("weights") == 0) {
      return true;
    }
    if (has_cells() && !AreWeights(job_, Memory("weights"))) return false;
    const int64_t channels = job_.kernel == Jobs::CONVOLUTION ? V("in_c") : 1;
    for (int64_t o = 0; o < V("out_c"); ++o) {
      for (int64_t y = 0; y < V("kernel_h"); ++y) {
        for (int64_t x = 0; x < V("kernel_w"); ++x) {
          for (int64_t i = 0; i < channels; ++i) {
            const int64_t weight = job_.kernel == Jobs::CONVOLUTION
                                       ? Weight(o, y, x, i)
                                       : Load("weights", {o, y, x});
            if (job_.weights == v1::WEIGHTS_TERNARY &&
                (weight < -1 || weight > 1)) {
              return false;
            }
            if (weight < -8 || weight > 7) return false;
          }
        }
      }
    }
    return true;
  }

  static int64_t Signed(uint32_t value, int64_t bytes) {
    return bytes == 1 ? int64_t{static_cast<int8_t>(value)}
                      : int64_t{static_cast<int32_t>(value)};
  }

  // Byte `i` of an element, from the least significant one.
  char& ByteOf(const NaiveOperand& operand, const Index& index,
               int64_t i) const {
    int64_t at = i;
    for (const NaiveOperand::Term& term : operand.terms) {
      int64_t digit = index.at(term.axis) / term.divide;
      if (term.modulo != 0) digit %= term.modulo;
      at += digit * term.stride;
    }
    return memories_.at(operand.memory)
        ->at(NaivePlace(operand.address + at, operand.group));
  }

  int64_t Load(const char* name, const Index& index) const {
    const NaiveOperand& operand = job_.operands.at(name);
    uint32_t value = 0;
    for (int64_t i = 0; i < operand.bytes; ++i) {
      value |= uint32_t{static_cast<uint8_t>(ByteOf(operand, index, i))}
               << (8 * i);
    }
    return Signed(value, operand.bytes);
  }

  void Store(const char* name, const Index& index, int64_t value) {
    const NaiveOperand& operand = job_.operands.at(name);
    for (int64_t i = 0; i < operand.bytes; ++i) {
      ByteOf(operand, index, i) =
          static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    }
  }

  // Of an output channel.
  int64_t Bias(int64_t o) const {
    if (by_table()) return Table(o, 0);
    if (!by_shift()) return 0;
    uint32_t value = 0;
    for (int64_t b = 0; b < 4; ++b) {
      value |= uint32_t{static_cast<uint8_t>(Load("bias", {o, b}))} << (8 * b);
    }
    return Signed(value, 4);
  }

  int64_t Table(int64_t channel, int64_t field) const {
    return Load("table", {3 * channel + field});
  }

  // Of a converter.
  int64_t Scale(int64_t channel) const {
    return by_table() ? Table(channel, 1) : Affine(channel, 0);
  }
  int64_t Offset(int64_t channel) const {
    return by_table() ? Table(channel, 2) : Affine(channel, 2);
  }
  int64_t Affine(int64_t channel, int64_t first) const {
    const int64_t low = Load("affine", {channel, first}) & 0xff;
    return 256 * Load("affine", {channel, first + 1}) + low;
  }

  int64_t Rescale(int64_t value, int64_t multiplier, int64_t shift) const {
    const int64_t n = 31 - shift;
    const int64_t product = value * multiplier;
    if (V("rounding") == 2) {
      const int64_t unit = int64_t{1} << n;
      const int64_t rest = (product % unit + unit) % unit;
      return Wrap32((product - rest) / unit);
    }
    if (V("rounding") == 1) {
      return Wrap32(DivideHalfEven(product, int64_t{1} << n));
    }
    return Wrap32((product + (int64_t{1} << (n - 1))) >> n);
  }

  int64_t Clamp(int64_t value) const {
    return std::min(std::max(value, V("clamp_min")), V("clamp_max"));
  }

  // `shift` bits less, down.
  int64_t ShiftDown(int64_t sum) const {
    const int64_t unit = int64_t{1} << V("shift");
    const int64_t rest = (sum % unit + unit) % unit;
    return Clamp((sum - rest) / unit);
  }

  // What the converter makes of a sum.
  int64_t Convert(int64_t sum, int64_t c) const {
    const int64_t gain = V("gain");
    int64_t code = sum / gain;
    if (code * gain > sum) --code;
    code = std::max(code, V("code_min"));
    code = std::min(code, V("code_max"));
    int64_t low = (code * Scale(c) + Offset(c)) & 0xffff;
    if (low >= 0x8000) low -= 0x10000;
    const int64_t step = int64_t{1} << V("code_shift");
    int64_t result = low / step;
    if (result * step > low) --result;
    return Clamp(result);
  }

  int64_t Finish(int64_t sum, int64_t c) const {
    if (by_shift()) return ShiftDown(sum);
    if (!by_table() || V("converts") == 1) return Convert(sum, c);
    return Clamp(Rescale(sum, Table(c, 1), Table(c, 2)) + V("out_zero_point"));
  }

  int64_t Element(int64_t y, int64_t x, int64_t c) {
    switch (job_.kernel) {
      case Jobs::CONVOLUTION:
      case Jobs::DEPTHWISE_CONVOLUTION: {
        const int64_t acc = Wrap32(Convolve(y, x, c) + Bias(c));
        return sums_only() ? acc : Finish(acc, c);
      }
      case Jobs::REQUANTIZATION:
        return Finish(Wrap32(Load("in", {y, x, c}) + Table(c, 0)), c);
      case Jobs::ADDITION: {
        if (by_shift()) {
          return ShiftDown(Load("in", {y, x, c}) + Load("in2", {y, x, c}));
        }
        const int64_t left = int64_t{1} << V("left_shift");
        const int64_t a =
            Rescale((Load("in", {y, x, c}) - V("in_zero_point")) * left,
                    V("in_multiplier"), V("in_shift"));
        const int64_t b =
            Rescale((Load("in2", {y, x, c}) - V("in2_zero_point")) * left,
                    V("in2_multiplier"), V("in2_shift"));
        return Clamp(
            Rescale(Wrap32(a + b), V("out_multiplier"), V("out_shift")) +
            V("out_zero_point"));
      }
      default:
        return Pool(y, x, c);
    }
  }

  int64_t Convolve(int64_t oy, int64_t ox, int64_t o) const {
    const bool depth = job_.kernel == Jobs::DEPTHWISE_CONVOLUTION;
    const int64_t zero = by_table() ? V("in_zero_point") : 0;
    int64_t sum = 0;
    for (int64_t ky = 0; ky < V("kernel_h"); ++ky) {
      for (int64_t kx = 0; kx < V("kernel_w"); ++kx) {
        const int64_t y =
            oy * V("stride_h") - V("pad_top") + ky * V("dilation_h");
        const int64_t x =
            ox * V("stride_w") - V("pad_left") + kx * V("dilation_w");
        if (y < 0 || x < 0 || y >= V("in_h") || x >= V("in_w")) continue;
        if (depth) {
          sum += (Load("in", {y, x, o / V("depth_multiplier")}) - zero) *
                 Load("weights", {o, ky, kx});
          continue;
        }
        for (int64_t i = 0; i < V("in_c"); ++i) {
          sum += (Load("in", {y, x, i}) - zero) * Weight(o, ky, kx, i);
        }
      }
    }
    return sum;
  }

  int64_t Pool(int64_t oy, int64_t ox, int64_t c) {
    const bool average = job_.kernel == Jobs::AVERAGE_POOLING;
    int64_t n = 0;
    int64_t sum = 0;
    int64_t largest = -128;
    for (int64_t ky = 0; ky < V("kernel_h"); ++ky) {
      for (int64_t kx = 0; kx < V("kernel_w"); ++kx) {
        const int64_t y = oy * V("stride_h") - V("pad_top") + ky;
        const int64_t x = ox * V("stride_w") - V("pad_left") + kx;
        if (y < 0 || x < 0 || y >= V("in_h") || x >= V("in_w")) {
          if (average && V("count_pad") == 1) {
            ++n;
            sum += V("in_zero_point");
          }
          continue;
        }
        ++n;
        sum += Load("in", {y, x, c});
        largest = std::max(largest, Load("in", {y, x, c}));
      }
    }
    if (n == 0) {
      error_ = "a window of nothing but padding";
      return 0;
    }
    if (!average) return Clamp(largest);
    if (V("rounding") == 1) {
      const int64_t zero = V("in_zero_point");
      return Clamp(DivideHalfEven(sum - n * zero, n) + zero);
    }
    return Clamp(sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n);
  }

  const NaiveJob& job_;
  const NaiveMemories& memories_;
  std::string error_;
};

}  // namespace

int64_t NaivePlace(int64_t at, int64_t group) {
  if (group == 0) return at;
  return at - at % group + (group - 1 - at % group);
}

std::string ComputeNaive(const NaiveJob& job, const NaiveMemories& memories) {
  return Computation(job, memories).Run();
}

}  // namespace edgekiln::simfarm::conformance::register_job
