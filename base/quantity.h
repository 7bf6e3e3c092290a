#ifndef EK_BASE_QUANTITY_H_
#define EK_BASE_QUANTITY_H_

// Numbers with a unit, as limits on the command line are written: 500k cycles,
// 64KiB, 1.5ms, 95%. One grammar for all of them: digits with an optional
// decimal fraction, then a unit of the quantity's table. All programs read all
// options of that kind so. Pure.
//
// Prefixes of cycles and bytes are powers of 1000 (k, M, G, T); bytes also take
// powers of 1024 (Ki, Mi, Gi, Ti), and a final B.

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln {

// Each is 0 or more. Errors: INVALID_ARGUMENT with reason USAGE; they name
// `option` ("--max-ram", or with a part of the value, "--max-memory flash="),
// quote `text` and say what is accepted.

// "500000", "500k", "1.5M".
absl::StatusOr<int64_t> ParseCycles(absl::string_view text,
                                    absl::string_view option);
// "65536", "64KiB", "64kB", "1.5M".
absl::StatusOr<int64_t> ParseBytes(absl::string_view text,
                                   absl::string_view option);
// "2ms", "500us", "1.5s": in milliseconds. The unit must be there.
absl::StatusOr<double> ParseMilliseconds(absl::string_view text,
                                         absl::string_view option);
// "0.95", "95%": 0 to 1.
absl::StatusOr<double> ParseShare(absl::string_view text,
                                  absl::string_view option);
// "2", "2%", "0.5": in percent.
absl::StatusOr<double> ParsePercent(absl::string_view text,
                                    absl::string_view option);
// "1", "0.5": percentage points, 0 to 100.
absl::StatusOr<double> ParsePoints(absl::string_view text,
                                   absl::string_view option);

}  // namespace edgekiln

#endif  // EK_BASE_QUANTITY_H_
