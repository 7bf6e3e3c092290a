#include "client/option_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/quantity.h"
#include "base/status_macros.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

constexpr absl::Duration kMaxTimeout = absl::Hours(30 * 24);
constexpr char kInputExample[] =
    "--input 'image:scale=0.5/0.5/0.25,offset=-1,order=bgr,layout=nhwc'";
// More channels than any image or spectrum has; keeps the request small.
constexpr size_t kMaxChannels = 65536;

absl::Status BadInput(absl::string_view what, absl::string_view text) {
  return UsageError(what, absl::StrCat("--input '", text, "'"),
                    "[NAME:]KEY=VALUE[,KEY=VALUE...] with the keys scale, "
                    "offset, order (rgb, bgr), layout (nhwc, nchw)",
                    absl::StrCat("for example ", kInputExample));
}

// Where the transform proper starts: at the first "key=" of a known key that
// stands at the beginning or behind a colon. npos if there is none.
size_t FindFirstKey(absl::string_view text) {
  size_t best = absl::string_view::npos;
  for (const char* key : {"scale=", "offset=", "order=", "layout="}) {
    for (size_t at = text.find(key); at != absl::string_view::npos;
         at = text.find(key, at + 1)) {
      if (at != 0 && text[at - 1] != ':') continue;
      best = std::min(best, at);
      break;
    }
  }
  return best;
}

// The key of text that ends in KEY=... without a known key; empty if it does
// not.
std::string UnknownKey(absl::string_view text) {
  const absl::string_view last = text.substr(text.rfind(':') + 1);
  const size_t equals = last.find('=');
  return equals == absl::string_view::npos
             ? ""
             : std::string(last.substr(0, equals));
}

absl::StatusOr<std::vector<double>> ParseNumbers(absl::string_view key,
                                                 absl::string_view value,
                                                 absl::string_view text) {
  std::vector<double> numbers;
  for (const absl::string_view part : absl::StrSplit(value, '/')) {
    double number = 0;
    if (!absl::SimpleAtod(part, &number) || !std::isfinite(number)) {
      return BadInput(
          absl::StrCat(key, ": '", part, "' is not a finite number"), text);
    }
    if (key == "scale" && number == 0) {
      return BadInput("a scale of 0 would erase the input", text);
    }
    numbers.push_back(number);
    if (numbers.size() > kMaxChannels) {
      return BadInput(
          absl::StrCat(key, ": more than ", kMaxChannels, " values"), text);
    }
  }
  return numbers;
}

absl::Status ApplyKey(absl::string_view key, absl::string_view value,
                      absl::string_view text, v1::InputTransform& transform) {
  if (key == "scale" || key == "offset") {
    EK_ASSIGN_OR_RETURN(const std::vector<double> numbers,
                        ParseNumbers(key, value, text));
    auto* field =
        key == "scale" ? transform.mutable_scale() : transform.mutable_offset();
    field->Assign(numbers.begin(), numbers.end());
    return absl::OkStatus();
  }
  const std::string choice = absl::AsciiStrToLower(value);
  if (key == "order") {
    if (choice != "rgb" && choice != "bgr") {
      return BadInput(absl::StrCat("order '", value, "' is unknown"), text);
    }
    transform.set_order(choice == "rgb" ? v1::InputTransform::RGB
                                        : v1::InputTransform::BGR);
    return absl::OkStatus();
  }
  if (key == "layout") {
    if (choice != "nhwc" && choice != "nchw") {
      return BadInput(absl::StrCat("layout '", value, "' is unknown"), text);
    }
    transform.set_layout(choice == "nhwc" ? v1::InputTransform::NHWC
                                          : v1::InputTransform::NCHW);
    return absl::OkStatus();
  }
  return BadInput(absl::StrCat("unknown key '", key, "'"), text);
}

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view text,
                                            absl::string_view option) {
  absl::Duration timeout;
  double seconds = 0;
  const bool plain = absl::SimpleAtod(text, &seconds);
  if (plain) {
    timeout = absl::Seconds(seconds);
  }
  const bool parsed =
      plain ? std::isfinite(seconds) : absl::ParseDuration(text, &timeout);
  if (!parsed || timeout <= absl::ZeroDuration() || timeout > kMaxTimeout) {
    return UsageError(absl::StrCat("'", text, "' is not a time span"), option,
                      "more than 0 and at most 30 days",
                      absl::StrCat("write for example ", option,
                                   " 30s, 5m, 1h30m, or plain seconds"));
  }
  return timeout;
}

absl::StatusOr<v1::InputTransform> ParseInputTransform(absl::string_view text) {
  v1::InputTransform transform;
  const size_t start = FindFirstKey(text);
  if (start == absl::string_view::npos) {
    const std::string key = UnknownKey(text);
    if (!key.empty()) {
      return BadInput(absl::StrCat("unknown key '", key, "'"), text);
    }
    return BadInput("no scale=, offset=, order= or layout= in it", text);
  }
  if (start > 0) {
    if (start == 1) return BadInput("the name before ':' is empty", text);
    transform.set_input(std::string(text.substr(0, start - 1)));
  }
  std::set<std::string> seen;
  for (const absl::string_view part : absl::StrSplit(text.substr(start), ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (!seen.insert(std::string(pair.first)).second) {
      return BadInput(absl::StrCat("'", pair.first, "' is given twice"), text);
    }
    EK_RETURN_IF_ERROR(ApplyKey(pair.first, pair.second, text, transform));
  }
  return transform;
}

absl::StatusOr<v1::CalibrateOptions> ParseCalibrationMethod(
    absl::string_view text) {
  v1::CalibrateOptions options;
  const std::pair<absl::string_view, v1::CalibrateOptions::Method> methods[] = {
      {"minmax", v1::CalibrateOptions::MIN_MAX},
      {"moving-average", v1::CalibrateOptions::MOVING_AVERAGE},
      {"mse", v1::CalibrateOptions::MSE},
      {"kl", v1::CalibrateOptions::KL},
      {"output-mse", v1::CalibrateOptions::OUTPUT_MSE},
  };
  for (const auto& [name, method] : methods) {
    if (text != name) continue;
    options.set_method(method);
    return options;
  }
  const std::pair<absl::string_view, absl::string_view> pair =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  double percent = 99.99;
  const bool with_value = text.find(':') != absl::string_view::npos;
  const bool valid = pair.first == "percentile" &&
                     (!with_value || absl::SimpleAtod(pair.second, &percent)) &&
                     percent > 50 && percent <= 100;
  if (!valid) {
    return UsageError(absl::StrCat("'", text, "' is not a calibration method"),
                      "--calibration-method",
                      "minmax, percentile, percentile:P with P above 50 and at "
                      "most 100, moving-average, mse, kl or output-mse",
                      "write for example --calibration-method percentile:99.9");
  }
  options.set_method(v1::CalibrateOptions::PERCENTILE);
  options.set_percentile_ppm(static_cast<int32_t>(std::lround(percent * 1e4)));
  return options;
}

absl::StatusOr<v1::IoForm> ParseIoForm(absl::string_view text) {
  if (text == "int") return v1::IO_INTEGER;
  if (text == "float") return v1::IO_FLOAT;
  return UsageError(
      absl::StrCat("'", text,
                   "' is not a form of inputs and "
                   "outputs"),
      "--io", "int or float",
      "leave it out for integers, or write --io float to have the "
      "host convert on the clock");
}

absl::StatusOr<ReportFormat> ParseReportFormat(absl::string_view text) {
  const std::optional<ReportFormat> format = ReportFormatNamed(text);
  if (format.has_value()) return *format;
  return UsageError(absl::StrCat("'", text, "' is not a format"), "--format",
                    absl::StrCat("one of ", ReportFormatNames()),
                    "use one of these");
}

absl::StatusOr<v1::Offload> ParseOffload(absl::string_view text) {
  if (text == "all") return v1::ALL;
  if (text == "paying") return v1::PAYING;
  if (text == "none") return v1::NONE;
  return UsageError(
      absl::StrCat("'", text, "' does not say which layers engines get"),
      "--offload", "all, paying or none",
      "leave it out for all that engines take");
}

absl::StatusOr<v1::CompilerFamily> ParseCompiler(absl::string_view text) {
  if (text == "gcc") return v1::GCC;
  if (text == "clang") return v1::CLANG;
  if (text == "none") return v1::NO_COMPILER;
  return UsageError(
      absl::StrCat("'", text, "' is no family of compilers"), "--compiler",
      "gcc, clang or none",
      "leave it out for gcc; the worker knows the program's name");
}

absl::StatusOr<v1::Metric> ParseMetric(absl::string_view text) {
  std::vector<std::string> names;
  for (int number = v1::METRIC_UNSPECIFIED + 1; v1::Metric_IsValid(number);
       ++number) {
    const auto metric = static_cast<v1::Metric>(number);
    const std::string name = absl::AsciiStrToLower(
        absl::StripPrefix(v1::Metric_Name(metric), "METRIC_"));
    if (text == name) return metric;
    names.push_back(name);
  }
  const std::string nearest = NearestOf(text, names);
  return UsageError(absl::StrCat("'", text, "' is not a metric"), "--metric",
                    absl::StrCat("one of: ", absl::StrJoin(names, ", ")),
                    nearest.empty()
                        ? "use one of these, or leave it out for the one that "
                          "fits network and labels"
                        : absl::StrCat("did you mean ", nearest, "?"));
}

absl::StatusOr<double> ParseErrorLimit(absl::string_view text,
                                       absl::string_view option) {
  double limit = 0;
  if (absl::SimpleAtod(text, &limit) && std::isfinite(limit) && limit >= 0) {
    return limit;
  }
  return UsageError(absl::StrCat("'", text, "' is not an error"), option,
                    "a number, 0 or more, in the metric's own unit",
                    absl::StrCat("write for example ", option, " 0.02"));
}

absl::StatusOr<v1::JobClass> ParseJobClass(absl::string_view text) {
  if (text == "interactive") return v1::INTERACTIVE;
  if (text == "ci") return v1::CI;
  if (text == "batch") return v1::BATCH;
  return UsageError(absl::StrCat("'", text, "' is not a job class"), "--class",
                    "interactive, ci or batch",
                    "write for example --class batch for what has time until "
                    "tomorrow");
}

absl::StatusOr<v1::DimensionBinding> ParseDimensionBinding(
    absl::string_view text) {
  const size_t equals = text.rfind('=');
  v1::DimensionBinding binding;
  int64_t extent = 0;
  if (equals == absl::string_view::npos || equals == 0 ||
      !absl::SimpleAtoi(text.substr(equals + 1), &extent) || extent < 1) {
    return UsageError(absl::StrCat("'", text, "' binds no dimension"), "--bind",
                      "NAME=EXTENT with an extent of at least 1",
                      "write for example --bind batch=1");
  }
  binding.set_name(std::string(text.substr(0, equals)));
  binding.set_extent(extent);
  return binding;
}

absl::StatusOr<NamedFile> ParseNamedFile(absl::string_view text,
                                         absl::string_view option,
                                         bool name_from_file) {
  NamedFile file;
  const size_t equals = text.find('=');
  if (equals != absl::string_view::npos) {
    file.name = std::string(text.substr(0, equals));
    file.path = std::string(text.substr(equals + 1));
  } else if (name_from_file) {
    file.path = std::string(text);
    file.name = std::string(text.substr(text.rfind('/') + 1));
  }
  if (!file.name.empty() && !file.path.empty()) return file;
  return UsageError(
      absl::StrCat("'", text, "' names no ",
                   name_from_file ? "file" : "input and file"),
      option, name_from_file ? "FILE or LOCATION=FILE" : "NAME=FILE",
      name_from_file ? "write for example --external-data model.bin"
                     : "write for example --bind-input shape=shape.npy");
}

absl::StatusOr<MemoryLimit> ParseMemoryLimit(absl::string_view text) {
  constexpr char kOption[] = "--max-memory";
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return UsageError(
        absl::StrCat("'", text, "' names no memory"), kOption,
        "NAME=BYTES with a name that `edgekiln targets show` lists",
        absl::StrCat("write for example ", kOption, " flash=64KiB"));
  }
  MemoryLimit limit{.memory = std::string(text.substr(0, equals))};
  EK_ASSIGN_OR_RETURN(
      limit.bytes, ParseBytes(text.substr(equals + 1),
                              absl::StrCat(kOption, " ", limit.memory, "=")));
  return limit;
}

std::string NearestOf(absl::string_view text,
                      const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = 0;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(text, candidate);
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  // Beyond a third of its letters a word was meant to be something else.
  const int letters = static_cast<int>(std::max(text.size(), best.size()));
  return best_distance * 3 <= letters ? best : "";
}

}  // namespace edgekiln::client
