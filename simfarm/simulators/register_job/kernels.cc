#include "simfarm/simulators/register_job/kernels.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/simulators/arithmetic.h"

namespace edgekiln::simfarm::register_job {
namespace {

using Jobs = v1::RegisterJobs;
using V = target::JobVariable;

constexpr int kMinShift = -31;
constexpr int kMaxShift = 30;

const uint8_t* Bytes(const std::string& bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}
uint8_t* Bytes(std::string& bytes) {
  return reinterpret_cast<uint8_t*>(bytes.data());
}

OutputLimits LimitsOf(const Job& job, bool moves_zero) {
  return {.zero_point =
              moves_zero ? static_cast<int32_t>(job[V::kOutZeroPoint]) : 0,
          .min = static_cast<int32_t>(job[V::kClampMin]),
          .max = static_cast<int32_t>(job[V::kClampMax])};
}

// By the job's rounding.
int32_t RescaleOf(const Job& job, int32_t value, int32_t multiplier, int n) {
  if (job[V::kRounding] == 2) {
    return static_cast<int32_t>(int64_t{value} * multiplier >> n);
  }
  return Rescale(value, multiplier, n, job[V::kRounding] != 0);
}

// The table, one entry per output channel.
struct Entry {
  int32_t bias = 0;
  int32_t multiplier = 0;  // With a converter, the scale.
  int n = 1;               // Bits that the product is shifted by.
  int32_t offset = 0;      // With a converter.
};

// What becomes of a sum, before the limits.
int32_t ResultOf(const Job& job, const Entry& entry, int32_t sum) {
  if (job.by_shift()) return sum >> job[V::kShift];
  if (!job.converts()) {
    return RescaleOf(job, sum, entry.multiplier, entry.n);
  }
  const int64_t gain = job[V::kGain];
  const int64_t code = (sum >= 0 ? sum : sum - (gain - 1)) / gain;
  const int64_t limited = std::clamp(code, job[V::kCodeMin], job[V::kCodeMax]);
  const auto scaled =
      static_cast<int16_t>(limited * entry.multiplier + entry.offset);
  return scaled >> job[V::kCodeShift];
}

bool IsInt16(int32_t value) {
  return value >= std::numeric_limits<int16_t>::min() &&
         value <= std::numeric_limits<int16_t>::max();
}

// Only results BY_TABLE depend on these variables.
bool GivesSums(const Job& job) {
  return job.has_table && job[V::kOutInt32] != 0 &&
         job.kernel != Jobs::REQUANTIZATION;
}
int32_t InZeroPoint(const Job& job) {
  return job.has_table ? static_cast<int32_t>(job[V::kInZeroPoint]) : 0;
}

// Entries that have nothing but a bias.
std::vector<Entry> Biases(const std::string& bias) {
  std::vector<Entry> entries(bias.size() / sizeof(int32_t));
  for (size_t o = 0; o < entries.size(); ++o) {
    entries[o].bias = LoadInt32(Bytes(bias) + o * sizeof(int32_t));
  }
  return entries;
}

// Entries that have nothing but the converter's numbers.
std::vector<Entry> Affine(const std::string& affine) {
  std::vector<Entry> entries(affine.size() / sizeof(int32_t));
  for (size_t o = 0; o < entries.size(); ++o) {
    const int32_t both = LoadInt32(Bytes(affine) + o * sizeof(int32_t));
    entries[o].multiplier = static_cast<int16_t>(both & 0xffff);
    entries[o].offset = both >> 16;
  }
  return entries;
}

absl::StatusOr<std::vector<Entry>> ReadTable(const Job& job,
                                             const std::string& table) {
  const bool sums = GivesSums(job);
  std::vector<Entry> entries(job[V::kOutC]);
  for (size_t o = 0; o < entries.size(); ++o) {
    const uint8_t* const bytes = Bytes(table) + o * target::kJobTableEntryBytes;
    const int32_t shift = LoadInt32(bytes + 8);
    entries[o].bias = LoadInt32(bytes);
    if (sums) continue;
    if (job.converts()) {
      entries[o].multiplier = LoadInt32(bytes + 4);
      entries[o].offset = shift;
      if (IsInt16(entries[o].multiplier) && IsInt16(shift)) continue;
      return JobError(
          absl::StrCat("a table entry has scale ", entries[o].multiplier,
                       " and offset ", shift),
          absl::StrCat("table, channel ", o), "-32768 to 32767");
    }
    if (shift < kMinShift || shift > kMaxShift) {
      return JobError(absl::StrCat("a table entry has shift ", shift),
                      absl::StrCat("table, channel ", o),
                      absl::StrCat(kMinShift, " to ", kMaxShift));
    }
    const int32_t multiplier = LoadInt32(bytes + 4);
    if (multiplier < 0) {
      return JobError(absl::StrCat("a table entry has multiplier ", multiplier),
                      absl::StrCat("table, channel ", o), "at least 0");
    }
    entries[o].multiplier = multiplier;
    entries[o].n = 31 - shift;
  }
  return entries;
}

// One axis of a window: which taps lie inside the input.
struct Taps {
  int64_t first = 0;  // Position in the input of tap 0; may be outside.
  int64_t begin = 0;  // Taps [begin, end) are inside.
  int64_t end = 0;
};

Taps TapsAt(int64_t output, int64_t stride, int64_t pad, int64_t kernel,
            int64_t dilation, int64_t extent) {
  Taps taps;
  taps.first = output * stride - pad;
  taps.end = kernel;
  if (taps.first < 0) {
    taps.begin = std::min((-taps.first + dilation - 1) / dilation, kernel);
  }
  if (taps.first >= extent) {
    taps.end = 0;
  } else {
    taps.end = std::min(kernel, (extent - 1 - taps.first) / dilation + 1);
  }
  taps.end = std::max(taps.end, taps.begin);
  return taps;
}

class Convolution {
 public:
  Convolution(const Job& job, DenseOperands& operands)
      : job_(job), operands_(operands) {}

  absl::Status Run() {
    EK_RETURN_IF_ERROR(CheckWeights());
    if (job_.by_shift()) {
      entries_ = Biases(operands_.bias);
    } else if (job_.by_converter()) {
      entries_ = Affine(operands_.affine);
    } else {
      EK_ASSIGN_OR_RETURN(entries_, ReadTable(job_, operands_.table));
    }
    sums_.resize(job_[V::kOutC]);
    if (job_.kernel == Jobs::CONVOLUTION) PackWeights();
    size_t pixel = 0;
    for (int64_t y = 0; y < job_[V::kOutH]; ++y) {
      const Taps rows =
          TapsAt(y, job_[V::kStrideH], job_[V::kPadTop], job_[V::kKernelH],
                 job_[V::kDilationH], job_[V::kInH]);
      for (int64_t x = 0; x < job_[V::kOutW]; ++x) {
        const Taps columns =
            TapsAt(x, job_[V::kStrideW], job_[V::kPadLeft], job_[V::kKernelW],
                   job_[V::kDilationW], job_[V::kInW]);
        std::fill(sums_.begin(), sums_.end(), 0);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
          for (int64_t c = columns.begin; c < columns.end; ++c) {
            const int64_t row = rows.first + r * job_[V::kDilationH];
            const int64_t column = columns.first + c * job_[V::kDilationW];
            AddPixel(Bytes(operands_.in) +
                         (row * job_[V::kInW] + column) * job_[V::kInC],
                     r * job_[V::kKernelW] + c);
          }
        }
        Finish(pixel++);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckWeights() const {
    for (size_t i = 0; i < operands_.weights.size(); ++i) {
      const auto weight = static_cast<int8_t>(operands_.weights[i]);
      if (weight >= job_.weights.min && weight <= job_.weights.max) continue;
      return JobError(absl::StrCat("a weight is ", weight),
                      absl::StrCat("weights, element ", i),
                      absl::StrCat(job_.weights.min, " to ", job_.weights.max));
    }
    return absl::OkStatus();
  }

  // Transposes [o, tap, i] to [tap, i, o], so that output channels are
  // contiguous.
  void PackWeights() {
    const int64_t taps = job_[V::kKernelH] * job_[V::kKernelW];
    const int64_t inner = taps * job_[V::kInC];
    const auto outer = static_cast<int64_t>(sums_.size());
    packed_.resize(inner * outer);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        packed_[i * outer + o] =
            static_cast<int8_t>(operands_.weights[o * inner + i]);
      }
    }
  }

  void AddPixel(const uint8_t* in, int64_t tap) {
    const int32_t zero = InZeroPoint(job_);
    const size_t outer = sums_.size();
    uint32_t* const sums = sums_.data();
    if (job_.kernel == Jobs::DEPTHWISE_CONVOLUTION) {
      const int64_t taps = job_[V::kKernelH] * job_[V::kKernelW];
      const auto* const weights =
          reinterpret_cast<const int8_t*>(operands_.weights.data());
      for (size_t o = 0; o < outer; ++o) {
        const int32_t value =
            LoadInt8(in + o / job_[V::kDepthMultiplier]) - zero;
        sums[o] += static_cast<uint32_t>(value * weights[o * taps + tap]);
      }
      return;
    }
    const int64_t channels = job_[V::kInC];
    for (int64_t i = 0; i < channels; ++i) {
      const int32_t value = LoadInt8(in + i) - zero;
      if (value == 0) continue;
      const int8_t* const weights =
          packed_.data() + (tap * channels + i) * outer;
      for (size_t o = 0; o < outer; ++o) {
        sums[o] += static_cast<uint32_t>(value * weights[o]);
      }
    }
  }

  void Finish(size_t pixel) {
    const size_t outer = sums_.size();
    const OutputLimits limits =
        LimitsOf(job_, !job_.converts() && !job_.by_shift());
    const bool sums = GivesSums(job_);
    for (size_t o = 0; o < outer; ++o) {
      const int32_t sum =
          WrapAdd(static_cast<int32_t>(sums_[o]), entries_[o].bias);
      const size_t index = pixel * outer + o;
      if (sums) {
        StoreInt32(sum, Bytes(operands_.out) + 4 * index);
      } else {
        Bytes(operands_.out)[index] =
            limits.Apply(ResultOf(job_, entries_[o], sum));
      }
    }
  }

  const Job& job_;
  DenseOperands& operands_;
  std::vector<Entry> entries_;
  std::vector<int8_t> packed_;
  std::vector<uint32_t> sums_;
};

void AddAndShift(const Job& job, DenseOperands& operands) {
  const OutputLimits limits = LimitsOf(job, /*moves_zero=*/false);
  for (size_t i = 0; i < operands.out.size(); ++i) {
    const int32_t sum =
        LoadInt8(Bytes(operands.in) + i) + LoadInt8(Bytes(operands.in2) + i);
    Bytes(operands.out)[i] = limits.Apply(sum >> job[V::kShift]);
  }
}

absl::Status Add(const Job& job, DenseOperands& operands) {
  if (job.by_shift()) {
    AddAndShift(job, operands);
    return absl::OkStatus();
  }
  const auto left = static_cast<int>(job[V::kLeftShift]);
  const OutputLimits limits = LimitsOf(job, /*moves_zero=*/true);
  const auto scaled = [&](uint8_t byte, V zero, V multiplier, V shift) {
    const int32_t value = LoadInt8(&byte) - static_cast<int32_t>(job[zero]);
    return RescaleOf(job, value * (1 << left),
                     static_cast<int32_t>(job[multiplier]),
                     31 - static_cast<int>(job[shift]));
  };
  for (size_t i = 0; i < operands.out.size(); ++i) {
    const int32_t a = scaled(Bytes(operands.in)[i], V::kInZeroPoint,
                             V::kInMultiplier, V::kInShift);
    const int32_t b = scaled(Bytes(operands.in2)[i], V::kIn2ZeroPoint,
                             V::kIn2Multiplier, V::kIn2Shift);
    Bytes(operands.out)[i] = limits.Apply(RescaleOf(
        job, WrapAdd(a, b), static_cast<int32_t>(job[V::kOutMultiplier]),
        31 - static_cast<int>(job[V::kOutShift])));
  }
  return absl::OkStatus();
}

// Average of n > 0 values: half away from zero, or half to even around the zero
// point. Between the smallest and the largest of them.
int32_t Average(int64_t sum, int64_t n, int64_t zero, bool half_even) {
  if (!half_even) {
    return static_cast<int32_t>(sum > 0 ? (sum + n / 2) / n
                                        : (sum - n / 2) / n);
  }
  const int64_t centred = sum - n * zero;
  // Rounds towards minus infinity first; the remainder decides.
  int64_t quotient = centred / n;
  if (centred % n < 0) --quotient;
  const int64_t twice = 2 * (centred - quotient * n);
  if (twice > n || (twice == n && quotient % 2 != 0)) ++quotient;
  return static_cast<int32_t>(quotient + zero);
}

absl::Status Pool(const Job& job, DenseOperands& operands) {
  const bool average = job.kernel == Jobs::AVERAGE_POOLING;
  const bool half_even = average && job[V::kRounding] != 0;
  const bool count_pad = average && job[V::kCountPad] != 0;
  const int64_t zero = job[V::kInZeroPoint];
  const OutputLimits limits = LimitsOf(job, /*moves_zero=*/false);
  const int64_t channels = job[V::kOutC];
  const int64_t whole = job[V::kKernelH] * job[V::kKernelW];
  std::vector<int64_t> values(channels);  // Windows may be huge.
  size_t pixel = 0;
  for (int64_t y = 0; y < job[V::kOutH]; ++y) {
    const Taps rows = TapsAt(y, job[V::kStrideH], job[V::kPadTop],
                             job[V::kKernelH], 1, job[V::kInH]);
    for (int64_t x = 0; x < job[V::kOutW]; ++x, ++pixel) {
      const Taps columns = TapsAt(x, job[V::kStrideW], job[V::kPadLeft],
                                  job[V::kKernelW], 1, job[V::kInW]);
      const int64_t inside =
          (rows.end - rows.begin) * (columns.end - columns.begin);
      if (inside == 0 && !count_pad) {
        return JobError("a window has no element",
                        absl::StrCat("row ", y, ", column ", x));
      }
      std::fill(values.begin(), values.end(), average ? 0 : -128);
      for (int64_t r = rows.begin; r < rows.end; ++r) {
        for (int64_t c = columns.begin; c < columns.end; ++c) {
          const uint8_t* const in =
              Bytes(operands.in) +
              ((rows.first + r) * job[V::kInW] + columns.first + c) * channels;
          for (int64_t o = 0; o < channels; ++o) {
            const int64_t value = LoadInt8(in + o);
            values[o] =
                average ? values[o] + value : std::max(values[o], value);
          }
        }
      }
      for (int64_t o = 0; o < channels; ++o) {
        int64_t value = values[o];
        if (average) {
          if (count_pad) value += (whole - inside) * zero;
          value = Average(value, count_pad ? whole : inside, zero, half_even);
        }
        Bytes(operands.out)[pixel * channels + o] =
            limits.Apply(static_cast<int32_t>(value));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Requantize(const Job& job, DenseOperands& operands) {
  EK_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                      ReadTable(job, operands.table));
  const OutputLimits limits = LimitsOf(job, !job.converts());
  for (size_t i = 0; i < operands.out.size(); ++i) {
    const Entry& entry = entries[i % entries.size()];
    const int32_t sum =
        WrapAdd(LoadInt32(Bytes(operands.in) + 4 * i), entry.bias);
    Bytes(operands.out)[i] = limits.Apply(ResultOf(job, entry, sum));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Compute(const Job& job, DenseOperands& operands) {
  switch (job.kernel) {
    case Jobs::CONVOLUTION:
    case Jobs::DEPTHWISE_CONVOLUTION:
      return Convolution(job, operands).Run();
    case Jobs::ADDITION:
      return Add(job, operands);
    case Jobs::AVERAGE_POOLING:
    case Jobs::MAXIMUM_POOLING:
      return Pool(job, operands);
    default:
      return Requantize(job, operands);
  }
}

}  // namespace edgekiln::simfarm::register_job
