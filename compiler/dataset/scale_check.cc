#include "compiler/dataset/scale_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::compiler {
namespace {

constexpr double kMaxClippedShare = 0.5;
constexpr double kMaxSpanRatio = 8;  // Of the data's range to the grid's.
constexpr double kMinSteps = 2;      // Of the grid, that the data must span.
constexpr double kManyValues = 16;   // Whole numbers that cannot collapse so.

// Smallest value a stored integer type can hold; the grid's end it belongs to.
bool LowestStored(NpyType type, double& lowest) {
  if (type == NpyType::kUint8) lowest = 0;
  if (type == NpyType::kInt8) lowest = -128;
  return type == NpyType::kUint8 || type == NpyType::kInt8;
}

// The option that maps the stored bytes one to one on to the network's.
std::string Fix(const ScaleQuestion& q) {
  double lowest = 0;
  const bool bytes = q.writer.highest() - q.writer.lowest() == 255 &&
                     LowestStored(q.stored.values.type, lowest);
  if (!bytes || q.stored.scale.size() != 1 || q.stored.offset.size() != 1 ||
      q.stored.scale[0] == 0) {
    return absl::StrCat("add --input '", q.input,
                        ":scale=..,offset=..' as the network was trained");
  }
  const double shift = static_cast<double>(q.writer.lowest()) - lowest -
                       static_cast<double>(q.writer.zero_point());
  const double scale = q.writer.scale() / q.stored.scale[0];
  const double offset = shift * q.writer.scale() - scale * q.stored.offset[0];
  return absl::StrCat("add --input '", q.input, ":scale=", scale,
                      ",offset=", offset,
                      "', which maps the stored values on to that range");
}

}  // namespace

absl::Status CheckScaleOfData(const ScaleQuestion& q) {
  const WrittenRange& range = q.writer.range();
  if (!q.writer.quantized() || range.values == 0) return absl::OkStatus();
  const double step = q.writer.scale();
  const double grid_min =
      static_cast<double>(q.writer.lowest() - q.writer.zero_point()) * step;
  const double grid_max =
      static_cast<double>(q.writer.highest() - q.writer.zero_point()) * step;
  const double clipped =
      static_cast<double>(range.clipped) / static_cast<double>(range.values);
  const double span = range.max - range.min;
  // How many whole numbers apart the stored extremes are, if it holds such.
  const double factor = std::abs(q.stored.scale[0] * q.scale[0]);
  const bool whole = !IsFloat(q.stored.values.type) && factor > 0;
  const double stored_span = whole ? span / factor : 0;
  const bool too_wide = whole && span > kMaxSpanRatio * (grid_max - grid_min);
  const bool too_narrow =
      whole && stored_span >= kManyValues && span < kMinSteps * step;
  if (clipped <= kMaxClippedShare && !too_wide && !too_narrow) {
    return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "DATA_SCALE",
                    .what = absl::StrCat(
                        "the data's values do not fit this quantized input: ",
                        std::lround(clipped * 100), " % are beyond its range"),
                    .where = q.input,
                    .limit = absl::StrCat("real values ", grid_min, " .. ",
                                          grid_max, " in steps of ", step),
                    .need = absl::StrCat("data of that range; it holds ",
                                         range.min, " .. ", range.max),
                    .fix = Fix(q)});
}

}  // namespace edgekiln::compiler
