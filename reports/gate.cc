#include "reports/gate.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/format_bytes.h"
#include "reports/text/text.h"

namespace edgekiln {
namespace {

constexpr int kMaxLayerWidth = 48;

// Limits are at most 2^63 and reports may come out of files.
int64_t Whole(double value) {
  constexpr double kLargest = 9.2e18;
  if (std::isnan(value)) return 0;
  return std::llround(std::fmin(std::fmax(value, -kLargest), kLargest));
}

// Rounded for people, or `exact`.
std::string AmountText(const v1::Report::Gate& gate, double amount,
                       bool exact) {
  if (gate.unit() == "cycles") return GroupDigits(Whole(amount));
  if (gate.unit() == "bytes") {
    return exact ? absl::StrCat(GroupDigits(Whole(amount)), " B")
                 : FormatBytes(Whole(amount));
  }
  if (gate.unit() == "ms") {
    return absl::StrFormat(exact ? "%.9g ms" : "%.4g ms", amount);
  }
  if (gate.name() == "error") {
    return exact ? absl::StrFormat("%.9g", amount)
                 : absl::StrFormat("%.4g", amount);
  }
  if (gate.unit().empty()) {
    return exact ? absl::StrFormat("%.9g", amount) : FormatPercent(amount, 2);
  }
  return absl::StrFormat("%.9g ", amount) + CleanText(gate.unit());
}

// Whether the limit is the least that is allowed.
bool IsLeast(const v1::Report::Gate& gate) { return gate.name() == "accuracy"; }

absl::string_view TooMuch(const v1::Report::Gate& gate) {
  if (gate.unit() == "cycles" || gate.unit() == "bytes") return "many";
  return gate.unit() == "ms" ? "long" : "large";
}

std::string ExcessText(const v1::Report::Gate& gate, bool exact) {
  const double excess = gate.value() - gate.limit();
  if (gate.unit().empty()) {
    return absl::StrFormat(exact ? "%.9g points too %s" : "%.2f points too %s",
                           100 * std::abs(excess),
                           IsLeast(gate) ? "low" : "high");
  }
  std::string text =
      absl::StrCat(AmountText(gate, excess, exact), " too ", TooMuch(gate));
  if (gate.limit() > 0) {
    absl::StrAppendFormat(&text, " (%+.1f %%)", 100 * excess / gate.limit());
  }
  return text;
}

// "57.0 KiB, at most 57.0 KiB" would not say which is more, and a limit of 40k
// should not read 39.1 KiB.
bool NeedsExactAmounts(const v1::Report::Gate& gate) {
  constexpr double kKibi = 1024;
  if (gate.unit() == "bytes" && std::fmod(gate.limit(), kKibi) != 0) {
    return true;
  }
  return gate.value() != gate.limit() &&
         AmountText(gate, gate.value(), false) ==
             AmountText(gate, gate.limit(), false);
}

}  // namespace

std::string GateText(const v1::Report::Gate& gate) {
  // "latency_ms 2.5 ms" would say it twice. An error is told by its metric.
  const bool metric = gate.name() == "error" && !gate.unit().empty();
  const std::string name(
      absl::StripSuffix(CleanText(metric ? gate.unit() : gate.name()),
                        absl::StrCat("_", gate.unit())));
  const absl::string_view bound = IsLeast(gate) ? "at least" : "at most";
  if (!gate.has_value()) {
    return absl::StrCat(name, " not in the report, ", bound, " ",
                        AmountText(gate, gate.limit(), false));
  }
  const bool exact = NeedsExactAmounts(gate);
  std::string text =
      absl::StrCat(name, " ", AmountText(gate, gate.value(), exact), ", ",
                   bound, " ", AmountText(gate, gate.limit(), exact));
  if (gate.passed()) return text;
  absl::StrAppend(&text, ": ", ExcessText(gate, exact));
  if (!gate.layer().empty()) {
    absl::StrAppend(&text, ", most in ",
                    ClipMiddle(CleanText(gate.layer()), kMaxLayerWidth));
  }
  return text;
}

}  // namespace edgekiln
