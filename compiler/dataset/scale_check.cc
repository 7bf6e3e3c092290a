#include "compiler/dataset/scale_check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/dataset/input_option.h"

namespace edgekiln::compiler {
namespace {

constexpr double kMaxClippedShare = 0.5;
constexpr double kMaxSpanRatio = 8;  // Of the data's range to the grid's.
constexpr double kMinSteps = 2;      // Of the grid, that the data must span.
constexpr double kManyValues = 16;   // Whole numbers that cannot collapse so.

// Beyond these a warning. Outliers of real features are a few in a hundred.
constexpr double kManyClipped = 0.1;
// A grid whose middle is that near to zero, in parts of its length, was made
// for values of both signs.
constexpr double kMaxSkew = 0.02;
// How far from the grid's upper end the largest value may lie, in parts of its
// upper half, if the data was scaled to fill that half.
constexpr double kEndTolerance = 0.15;
// What masks and sparse events lack: values between the ends.
constexpr double kMinUpperShare = 0.05;

// Smallest value a stored integer type can hold; the grid's end it belongs to.
bool LowestStored(NpyType type, double& lowest) {
  if (type == NpyType::kUint8) lowest = 0;
  if (type == NpyType::kInt8) lowest = -128;
  return type == NpyType::kUint8 || type == NpyType::kInt8;
}

// Maps the stored bytes one to one on to the network's; false if the data does
// not consist of bytes.
bool MapBytes(const ScaleQuestion& q, v1::InputTransform& change) {
  double lowest = 0;
  if (q.grid.highest - q.grid.lowest != 255 ||
      !LowestStored(q.stored.info.type, lowest) || q.stored.scale.size() != 1 ||
      q.stored.offset.size() != 1 || q.stored.scale[0] == 0) {
    return false;
  }
  const double shift = static_cast<double>(q.grid.lowest) - lowest -
                       static_cast<double>(q.grid.zero_point);
  const double scale = q.grid.scale / q.stored.scale[0];
  change.add_scale(scale);
  change.add_offset(shift * q.grid.scale - scale * q.stored.offset[0]);
  return true;
}

// The option that maps the stored values on to the grid.
std::string Fix(const ScaleQuestion& q) {
  v1::InputTransform change;
  if (MapBytes(q, change)) {
    return absl::StrCat(SuggestInput(q.input, q.given, change),
                        ", which maps the stored values on to that range");
  }
  const bool given =
      q.given != nullptr && q.given->scale_size() + q.given->offset_size() > 0;
  return given ? absl::StrCat("correct scale and offset in ",
                              InputOption(q.given->input(), *q.given),
                              " to what the network was trained with")
               : absl::StrCat("add --input '", q.input,
                              ":scale=..,offset=..' as the network was "
                              "trained");
}

// As Fix(), for values that fill the upper half of the grid: twice as far apart
// and moved down by what then is too much.
std::string FixHalf(const ScaleQuestion& q) {
  v1::InputTransform change;
  if (MapBytes(q, change)) return SuggestInput(q.input, q.given, change);
  const double half = (q.grid.max() - q.grid.min()) / 2;
  // The exact end if the data has it: 1, not 0.996.
  const double end =
      std::abs(q.seen.max() - half) <= kMaxSkew * half ? q.seen.max() : half;
  const auto value = [](const auto& list, int i, double otherwise) {
    if (list.empty()) return otherwise;
    return list.Get(list.size() == 1 ? 0 : i);
  };
  const v1::InputTransform none;
  const v1::InputTransform& given = q.given == nullptr ? none : *q.given;
  const int scales = std::max(given.scale_size(), 1);
  for (int c = 0; c < scales; ++c) {
    change.add_scale(2 * value(given.scale(), c, 1));
  }
  const int offsets = std::max(given.offset_size(), 1);
  for (int c = 0; c < offsets; ++c) {
    change.add_offset(2 * value(given.offset(), c, 0) - end);
  }
  return SuggestInput(q.input, q.given, change);
}

std::string Percent(double share) {
  return absl::StrCat(std::lround(share * 100), " %");
}

std::string RangeText(double min, double max) {
  return absl::StrCat(min, " .. ", max);
}

std::string GridText(const InputGrid& grid) {
  return RangeText(grid.min(), grid.max());
}

// Most of the data falls off the grid, or whole numbers have another magnitude.
bool OfOtherMagnitude(const ScaleQuestion& q) {
  const double span = q.seen.max() - q.seen.min();
  // How many whole numbers apart the stored extremes are, if it holds such.
  double factor = std::abs(q.stored.scale[0]);
  if (q.given != nullptr && q.given->scale_size() > 0) {
    factor *= std::abs(q.given->scale(0));
  }
  const bool whole = !IsFloat(q.stored.info.type) && factor > 0;
  const double stored_span = whole ? span / factor : 0;
  const bool too_wide =
      whole && span > kMaxSpanRatio * (q.grid.max() - q.grid.min());
  const bool too_narrow =
      whole && stored_span >= kManyValues && span < kMinSteps * q.grid.scale;
  return q.seen.clipped_share() > kMaxClippedShare || too_wide || too_narrow;
}

// Pixels 0..1 where -1..1 is expected, and the like: only the upper half of a
// grid for both signs is used, that up to its end, and with values between. A
// symmetric quantizer of such data makes the same picture; hence a warning.
bool FillsUpperHalfOnly(const ScaleQuestion& q) {
  const double low = q.grid.min();
  const double high = q.grid.max();
  const bool both_signs = std::abs(low + high) <= kMaxSkew * (high - low);
  const bool to_the_end = std::abs(q.seen.max() - high) <= kEndTolerance * high;
  // Wider integers are symmetric by convention.
  const bool bytes = q.grid.highest - q.grid.lowest == 255;
  return bytes && both_signs && to_the_end &&
         q.seen.min() >= -q.grid.scale / 2 &&
         q.seen.upper_share() >= kMinUpperShare;
}

absl::Status Misfit(const ScaleQuestion& q) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "DATA_SCALE",
       .what = absl::StrCat(
           "the data's values do not fit this quantized input: ",
           Percent(q.seen.clipped_share()), " are beyond its range"),
       .where = q.input,
       .limit = absl::StrCat("real values ", GridText(q.grid), " in steps of ",
                             q.grid.scale),
       .need = absl::StrCat("data of that range; it holds ",
                            RangeText(q.seen.min(), q.seen.max())),
       .fix = Fix(q)});
}

std::string Warning(const ScaleQuestion& q, absl::string_view what,
                    absl::string_view fix) {
  return absl::StrCat("input '", q.input, "': ", what, ": the data holds ",
                      RangeText(q.seen.min(), q.seen.max()),
                      ", the network quantizes ", GridText(q.grid),
                      " in steps of ", q.grid.scale, "; ", fix);
}

}  // namespace

SeenValues::SeenValues(const InputGrid& grid)
    : lowest_(grid.min() - grid.scale / 2),
      highest_(grid.max() + grid.scale / 2),
      upper_begin_(grid.max() * kMinUpperShare),
      upper_end_(grid.max() * (1 - kMinUpperShare)) {}

void SeenValues::Note(double real) {
  min_ = count_ == 0 ? real : std::min(min_, real);
  max_ = count_ == 0 ? real : std::max(max_, real);
  ++count_;
  clipped_ += real < lowest_ || real > highest_;
  upper_ += real > upper_begin_ && real < upper_end_;
}

double SeenValues::Share(int64_t part) const {
  if (count_ == 0) return 0;
  return static_cast<double>(part) / static_cast<double>(count_);
}

absl::Status CheckScaleOfData(const ScaleQuestion& q,
                              std::vector<std::string>& warnings) {
  if (q.seen.count() == 0) return absl::OkStatus();
  const double span = q.seen.max() - q.seen.min();
  if (OfOtherMagnitude(q) && q.grid.declared) return Misfit(q);
  if (q.seen.clipped_share() > kManyClipped) {
    warnings.push_back(Warning(
        q,
        absl::StrCat(Percent(q.seen.clipped_share()),
                     " of the data's values are beyond its range and become "
                     "its ends"),
        absl::StrCat(Fix(q),
                     q.grid.declared ? "" : ", or calibrate on such data")));
  } else if (span > kMaxSpanRatio * (q.grid.max() - q.grid.min())) {
    warnings.push_back(
        Warning(q, "the data spans more than 8 times its range", Fix(q)));
  } else if (q.seen.count() >= kManyValues && span > 0 &&
             span < kMinSteps * q.grid.scale) {
    warnings.push_back(
        Warning(q, "the data spans less than two steps of its range", Fix(q)));
  } else if (FillsUpperHalfOnly(q)) {
    warnings.push_back(Warning(
        q, "the data uses the upper half of its range alone",
        absl::StrCat("if the network was trained on both halves, as -1 .. 1 "
                     "for pixels, ",
                     FixHalf(q))));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
