#include "base/quantity.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln {
namespace {

constexpr int64_t kKilo = 1000;
constexpr int64_t kKibi = 1024;

struct Unit {
  absl::string_view name;
  int64_t size;  // In the unit that results are in.
};

constexpr Unit kCycleUnits[] = {
    {"", 1},
    {"k", kKilo},
    {"K", kKilo},
    {"M", kKilo* kKilo},
    {"G", 1'000'000'000},
    {"T", 1'000'000'000'000},
};
constexpr Unit kByteUnits[] = {
    {"", 1},
    {"B", 1},
    {"k", kKilo},
    {"K", kKilo},
    {"kB", kKilo},
    {"KB", kKilo},
    {"M", 1'000'000},
    {"MB", 1'000'000},
    {"G", 1'000'000'000},
    {"GB", 1'000'000'000},
    {"T", 1'000'000'000'000},
    {"TB", 1'000'000'000'000},
    {"Ki", kKibi},
    {"KiB", kKibi},
    {"ki", kKibi},
    {"kiB", kKibi},
    {"Mi", kKibi* kKibi},
    {"MiB", kKibi* kKibi},
    {"Gi", kKibi* kKibi* kKibi},
    {"GiB", kKibi* kKibi* kKibi},
    {"Ti", kKibi* kKibi* kKibi* kKibi},
    {"TiB", kKibi* kKibi* kKibi* kKibi},
};
// In nanoseconds.
constexpr Unit kTimeUnits[] = {
    {"ns", 1},         {"us", 1'000},        {"µs", 1'000},
    {"ms", 1'000'000}, {"s", 1'000'000'000},
};
// In hundredths.
constexpr Unit kShareUnits[] = {{"", 100}, {"%", 1}};
constexpr Unit kPercentUnits[] = {{"", 1}, {"%", 1}};
constexpr Unit kPointUnits[] = {{"", 1}, {"pp", 1}};

// What one quantity is written in, and what its errors say.
struct Grammar {
  absl::Span<const Unit> units;
  absl::string_view noun;      // "a number of bytes".
  absl::string_view accepted;  // For people.
  absl::string_view example;
};

constexpr Grammar kCycles = {kCycleUnits, "a number of cycles",
                             "a number with k, M or G (powers of 1000) or "
                             "without",
                             "500000, 500k or 1.5M"};
constexpr Grammar kBytes = {kByteUnits, "a number of bytes",
                            "a number with kB, MB or GB (powers of 1000), KiB, "
                            "MiB or GiB (powers of 1024), or without a unit",
                            "65536, 64KiB or 64kB"};
constexpr Grammar kTime = {kTimeUnits, "a time span",
                           "a number with ns, us, ms or s",
                           "2ms, 500us or "
                           "1.5s"};
constexpr Grammar kShare = {kShareUnits, "a share",
                            "a number from 0 to 1, or a percentage",
                            "0.95 or 95%"};
constexpr Grammar kPercent = {kPercentUnits, "a percentage",
                              "a number from 0, with % or without", "2 or 2%"};
constexpr Grammar kPoints = {kPointUnits, "a number of percentage points",
                             "a number from 0 to 100, with pp or without",
                             "0.5pp"};

// numerator / denominator, exactly.
struct Ratio {
  __int128 numerator = 0;
  int64_t denominator = 1;  // A power of ten.

  // Divided by `divisor`, a power of ten: one rounding, so that 96.7% is 0.967.
  double Over(double divisor) const {
    return static_cast<double>(numerator) /
           (static_cast<double>(denominator) * divisor);
  }
};

// "--max-ram 4KiB", "--max-memory flash=4KiB".
std::string With(absl::string_view option, absl::string_view value) {
  return absl::StrCat(option, absl::EndsWith(option, "=") ? "" : " ", value);
}

absl::Status Bad(absl::string_view text, absl::string_view option,
                 const Grammar& grammar, std::string what) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "USAGE",
                    .what = std::move(what),
                    .where = With(option, absl::StrCat("'", text, "'")),
                    .need = std::string(grammar.accepted),
                    .fix = absl::StrCat("write for example ",
                                        With(option, grammar.example))});
}

absl::Status NotOne(absl::string_view text, absl::string_view option,
                    const Grammar& grammar) {
  return Bad(text, option, grammar,
             absl::StrCat("'", text, "' is not ", grammar.noun));
}

// The number at the front of `rest`, which loses it. Empty if there is none, or
// one of more than 18 digits.
std::optional<Ratio> ConsumeNumber(absl::string_view& rest) {
  Ratio number;
  int digits = 0;
  bool fraction = false;
  size_t at = 0;
  for (; at < rest.size(); ++at) {
    const char c = rest[at];
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) break;
    if (++digits > 18) return std::nullopt;
    number.numerator = number.numerator * 10 + (c - '0');
    if (fraction) number.denominator *= 10;
  }
  // "1." and "." are slips.
  if (digits == 0 || rest[at - 1] == '.') return std::nullopt;
  rest.remove_prefix(at);
  return number;
}

absl::StatusOr<Ratio> Parse(absl::string_view text, absl::string_view option,
                            const Grammar& grammar) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  if (!rest.empty() && rest.front() == '-') {
    absl::string_view positive = rest.substr(1);
    if (ConsumeNumber(positive).has_value()) {
      return Bad(text, option, grammar,
                 absl::StrCat(option, " must be 0 or more, got ", rest));
    }
  }
  std::optional<Ratio> number = ConsumeNumber(rest);
  if (!number.has_value()) return NotOne(text, option, grammar);
  rest = absl::StripLeadingAsciiWhitespace(rest);
  for (const Unit& unit : grammar.units) {
    if (unit.name != rest) continue;
    // Below 10^18 * 2^40, far from the end of 128 bits.
    number->numerator *= unit.size;
    return *number;
  }
  if (rest.empty()) {
    return Bad(text, option, grammar,
               absl::StrCat(option, " needs a unit, got '", text, "'"));
  }
  return NotOne(text, option, grammar);
}

absl::StatusOr<int64_t> ParseWhole(absl::string_view text,
                                   absl::string_view option,
                                   const Grammar& grammar) {
  EK_ASSIGN_OR_RETURN(const Ratio number, Parse(text, option, grammar));
  const __int128 whole = number.numerator / number.denominator;
  if (whole * number.denominator != number.numerator) {
    return Bad(text, option, grammar,
               absl::StrCat("'", text, "' is not a whole number"));
  }
  if (whole > std::numeric_limits<int64_t>::max()) {
    return Bad(text, option, grammar,
               absl::StrCat("'", text, "' is too large"));
  }
  return static_cast<int64_t>(whole);
}

}  // namespace

absl::StatusOr<int64_t> ParseCycles(absl::string_view text,
                                    absl::string_view option) {
  return ParseWhole(text, option, kCycles);
}

absl::StatusOr<int64_t> ParseBytes(absl::string_view text,
                                   absl::string_view option) {
  return ParseWhole(text, option, kBytes);
}

absl::StatusOr<double> ParseMilliseconds(absl::string_view text,
                                         absl::string_view option) {
  EK_ASSIGN_OR_RETURN(const Ratio ns, Parse(text, option, kTime));
  return ns.Over(1e6);
}

absl::StatusOr<double> ParseShare(absl::string_view text,
                                  absl::string_view option) {
  EK_ASSIGN_OR_RETURN(const Ratio percent, Parse(text, option, kShare));
  const double share = percent.Over(100);
  if (share <= 1) return share;
  return Bad(text, option, kShare,
             absl::StrCat(option, " must be between 0 and 1, got ", text));
}

absl::StatusOr<double> ParsePercent(absl::string_view text,
                                    absl::string_view option) {
  EK_ASSIGN_OR_RETURN(const Ratio percent, Parse(text, option, kPercent));
  return percent.Over(1);
}

absl::StatusOr<double> ParsePoints(absl::string_view text,
                                   absl::string_view option) {
  EK_ASSIGN_OR_RETURN(const Ratio points, Parse(text, option, kPoints));
  if (points.Over(1) <= 100) return points.Over(1);
  return Bad(text, option, kPoints,
             absl::StrCat(option, " must be between 0 and 100, got ", text));
}

}  // namespace edgekiln
