#include "simfarm/conformance/register_job/naive_variables.h"

#include "absl/strings/str_cat.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

using Jobs = v1::RegisterJobs;

constexpr int64_t kAny = int64_t{1} << 40;
constexpr NaiveRange kVariables[] = {
    {"kernel", -kAny, kAny},
    {"in_h in_w in_c out_h out_w out_c kernel_h kernel_w stride_h stride_w "
     "dilation_h dilation_w depth_multiplier",
     1, 65536},
    {"pad_top pad_left", 0, 65536},
    {"in_addr in2_addr weights_addr table_addr out_addr", 0, 1LL << 32},
    {"in_zero_point in2_zero_point out_zero_point clamp_min clamp_max", -128,
     127},
    {"in_multiplier in2_multiplier out_multiplier", 0, 2147483647},
    {"in_shift in2_shift out_shift", -31, 30},
    {"left_shift", 0, 22},
    {"rounding", 0, 2},
    {"out_int32 count_pad converts", 0, 1},
    {"gain", 0, 2147483647},
    {"code_min code_max", -32768, 32767},
    {"code_shift", 0, 15},
    {"shift", 0, 31},
    {"record_addr", 0, 1LL << 32}};

constexpr char kOfAll[] =
    "out_h out_w out_c in_addr out_addr clamp_min clamp_max";
constexpr char kOfWindows[] =
    " in_h in_w kernel_h kernel_w stride_h stride_w pad_top pad_left";
constexpr char kOfConvolutions[] = " in_c dilation_h dilation_w weights_addr";
constexpr char kOfTables[] =
    " table_addr in_zero_point out_zero_point rounding out_int32";
constexpr char kOfConverters[] = " converts gain code_min code_max code_shift";

}  // namespace

absl::Span<const NaiveRange> NaiveRanges() { return kVariables; }

std::string DependsOn(Jobs::Kernel kernel, Jobs::Results how) {
  const bool by_shift = how == Jobs::BY_SHIFT;
  const std::string results = by_shift ? " shift"
                              : how == Jobs::BY_CONVERTER
                                  ? " gain code_min code_max code_shift"
                                  : absl::StrCat(kOfTables, kOfConverters);
  switch (kernel) {
    case Jobs::CONVOLUTION:
      return absl::StrCat(kOfAll, kOfWindows, kOfConvolutions, results);
    case Jobs::DEPTHWISE_CONVOLUTION:
      return absl::StrCat(kOfAll, kOfWindows, kOfConvolutions, results,
                          " depth_multiplier");
    case Jobs::ADDITION:
      if (by_shift) return absl::StrCat(kOfAll, " in2_addr shift");
      return absl::StrCat(kOfAll,
                          " in2_addr in_zero_point in2_zero_point "
                          "out_zero_point in_multiplier in2_multiplier "
                          "out_multiplier in_shift in2_shift out_shift "
                          "left_shift rounding");
    case Jobs::AVERAGE_POOLING:
      return absl::StrCat(kOfAll, kOfWindows,
                          " in_zero_point rounding count_pad");
    case Jobs::MAXIMUM_POOLING:
      return absl::StrCat(kOfAll, kOfWindows);
    default:
      return absl::StrCat(kOfAll, kOfConverters,
                          " table_addr out_zero_point rounding");
  }
}

}  // namespace edgekiln::simfarm::conformance::register_job
