#include "server/sweep/axis.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/quantity.h"
#include "base/status_macros.h"
#include "server/sweep/pattern.h"

namespace edgekiln::server {
namespace {

constexpr absl::string_view kQuantization = "quantization";
constexpr double kDefaultPercentile = 99.99;
constexpr double kPpmOfPercent = 1e4;

struct NamedMethod {
  absl::string_view name;
  v1::CalibrateOptions::Method method;
};

constexpr NamedMethod kMethods[] = {
    {"minmax", v1::CalibrateOptions::MIN_MAX},
    {"moving-average", v1::CalibrateOptions::MOVING_AVERAGE},
    {"mse", v1::CalibrateOptions::MSE},
    {"kl", v1::CalibrateOptions::KL},
    {"output-mse", v1::CalibrateOptions::OUTPUT_MSE},
};

bool ParseCalibrationMethod(absl::string_view text, v1::SweepOptions& options) {
  v1::CalibrateOptions& calibrate = *options.mutable_calibrate();
  for (const NamedMethod& named : kMethods) {
    if (text != named.name) continue;
    calibrate.set_method(named.method);
    return true;
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  double percent = kDefaultPercentile;
  const bool has_value = parts.first.size() != text.size();
  if (parts.first != "percentile" ||
      (has_value && !absl::SimpleAtod(parts.second, &percent)) ||
      !(percent > 50 && percent <= 100)) {
    return false;
  }
  calibrate.set_method(v1::CalibrateOptions::PERCENTILE);
  calibrate.set_percentile_ppm(
      static_cast<int32_t>(std::lround(percent * kPpmOfPercent)));
  return true;
}

bool ParseIo(absl::string_view text, v1::SweepOptions& options) {
  if (text != "int" && text != "float") return false;
  options.set_io(text == "int" ? v1::IO_INTEGER : v1::IO_FLOAT);
  return true;
}

bool ParseLimit(absl::string_view text, v1::SweepOptions& options) {
  int64_t limit = 0;
  if (!absl::SimpleAtoi(text, &limit) || limit < 0) return false;
  options.set_limit(limit);
  return true;
}

bool ParseOffload(absl::string_view text, v1::SweepOptions& options) {
  if (text != "all" && text != "paying" && text != "none") return false;
  options.set_offload(text == "all"      ? v1::ALL
                      : text == "paying" ? v1::PAYING
                                         : v1::NONE);
  return true;
}

// The files were read by the client: Parse() takes what they hold.
bool ParseQuantization(absl::string_view, v1::SweepOptions&) { return true; }

bool ParseSeed(absl::string_view text, v1::SweepOptions& options) {
  uint64_t seed = 0;
  if (!absl::SimpleAtoi(text, &seed)) return false;
  options.set_seed(seed);
  return true;
}

struct OptionKey {
  const char* key;
  bool (*parse)(absl::string_view text, v1::SweepOptions& options);
  const char* accepted;
};

constexpr OptionKey kOptions[] = {
    {"calibration-method", ParseCalibrationMethod,
     "minmax, percentile, percentile:P with P above 50 and at most 100, "
     "moving-average, mse, kl or output-mse"},
    {"io", ParseIo, "int or float"},
    {"limit", ParseLimit, "a number of samples, 0 for all"},
    {"offload", ParseOffload, "all, paying or none"},
    {"quantization", ParseQuantization, "a file"},
    {"seed", ParseSeed, "a number, 0 or more"},
};

const OptionKey* FindOption(absl::string_view key) {
  for (const OptionKey& option : kOptions) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

std::optional<int64_t> ParseNumber(const std::string& text) {
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  const absl::StatusOr<int64_t> bytes = ParseBytes(text, "");
  if (bytes.ok()) return *bytes;
  return std::nullopt;
}

absl::Status BadValue(const std::string& key, const std::string& text,
                      absl::string_view accepted) {
  return BadSweep("SWEEP_VALUE_INVALID",
                  absl::StrCat("'", text, "' is no value of '", key, "'"),
                  absl::StrCat("vary ", key), "", std::string(accepted),
                  absl::StrCat("write one of these, or leave the value out"));
}

}  // namespace

absl::Status BadSweep(const std::string& reason, const std::string& what,
                      const std::string& where, const std::string& limit,
                      const std::string& need, const std::string& fix) {
  return MakeError(absl::StatusCode::kInvalidArgument, {.fault = Fault::kUser,
                                                        .reason = reason,
                                                        .what = what,
                                                        .where = where,
                                                        .limit = limit,
                                                        .need = need,
                                                        .fix = fix});
}

absl::Status CheckSweptQuantization(const v1::QuantizationConfig& config,
                                    const std::string& where) {
  const size_t bytes = config.ByteSizeLong();
  if (bytes <= kMaxQuantizationBytes) return absl::OkStatus();
  return BadSweep("SWEEP_TOO_LARGE",
                  "a quantization is too large: every cell has one", where,
                  absl::StrCat(kMaxQuantizationBytes, " bytes"),
                  absl::StrCat(bytes, " bytes"),
                  "name layers with `*` to need fewer rules");
}

const std::vector<std::string>& Axis::OptionKeys() {
  static const auto& keys = *[] {
    auto* const all = new std::vector<std::string>;
    for (const OptionKey& option : kOptions) all->emplace_back(option.key);
    return all;
  }();
  return keys;
}

absl::StatusOr<Axis> Axis::Parse(const v1::SweepVary& vary) {
  const std::string where = absl::StrCat("vary ", vary.key());
  if (vary.values_size() < 1 || vary.values_size() > kMaxValues) {
    return BadSweep("SWEEP_VALUE_INVALID", "a varied key needs values", where,
                    absl::StrCat("1 to ", kMaxValues),
                    absl::StrCat(vary.values_size()), "give it some values");
  }
  const bool has_files = vary.key() == kQuantization;
  if (vary.quantizations_size() != (has_files ? vary.values_size() : 0)) {
    return BadSweep("SWEEP_VALUE_INVALID",
                    "quantizations are what the values of key 'quantization' "
                    "hold, one for each",
                    where, absl::StrCat(has_files ? vary.values_size() : 0),
                    absl::StrCat(vary.quantizations_size()),
                    "give one for each value of that key");
  }
  for (const v1::QuantizationConfig& config : vary.quantizations()) {
    EK_RETURN_IF_ERROR(CheckSweptQuantization(config, where));
  }
  Axis axis;
  axis.key_ = vary.key();
  const OptionKey* const option = FindOption(vary.key());
  axis.is_option_ = option != nullptr;
  for (const std::string& text : vary.values()) {
    axis.texts_.push_back(text);
    if (option != nullptr) {
      if (!option->parse(text, axis.options_.emplace_back())) {
        return BadValue(axis.key_, text, option->accepted);
      }
      if (has_files) {
        *axis.options_.back().mutable_quantization() =
            vary.quantizations(axis.size() - 1);
        axis.requantizes_ =
            axis.requantizes_ ||
            axis.options_.back().quantization().requantize() == v1::ON;
      }
      continue;
    }
    const std::optional<int64_t> number = ParseNumber(text);
    if (!number.has_value()) {
      return BadValue(axis.key_, text, "a whole number: 65536, 64KiB, 200M");
    }
    axis.numbers_.push_back(*number);
  }
  return axis;
}

void Axis::Apply(int value, v1::SweepOptions& options) const {
  const v1::SweepOptions& chosen = options_[value];
  if (key_ == "calibration-method") {
    *options.mutable_calibrate() = chosen.calibrate();
  } else if (key_ == "io") {
    options.set_io(chosen.io());
  } else if (key_ == "limit") {
    options.set_limit(chosen.limit());
  } else if (key_ == "offload") {
    options.set_offload(chosen.offload());
  } else if (key_ == kQuantization) {
    *options.mutable_quantization() = chosen.quantization();
  } else {
    options.set_seed(chosen.seed());
  }
}

void Axis::Clear(v1::SweepOptions& options) const {
  if (key_ == "calibration-method") {
    options.clear_calibrate();
  } else if (key_ == "io") {
    options.clear_io();
  } else if (key_ == "limit") {
    options.clear_limit();
  } else if (key_ == "offload") {
    options.clear_offload();
  } else if (key_ == kQuantization) {
    options.clear_quantization();
  } else {
    options.clear_seed();
  }
}

bool Axis::IsSetIn(const v1::SweepOptions& options) const {
  if (key_ == "calibration-method") return options.has_calibrate();
  if (key_ == "io") return options.io() != v1::IO_FORM_UNSPECIFIED;
  if (key_ == "limit") return options.limit() != 0;
  if (key_ == "offload") return options.offload() != v1::OFFLOAD_UNSPECIFIED;
  if (key_ == kQuantization) return options.has_quantization();
  return is_option_ && options.seed() != 0;
}

bool Axis::Matches(int value, const std::string& pattern) const {
  if (MatchesPattern(texts_[value], pattern)) return true;
  if (is_option_) return false;
  const std::optional<int64_t> number = ParseNumber(pattern);
  return number.has_value() && *number == numbers_[value];
}

}  // namespace edgekiln::server
