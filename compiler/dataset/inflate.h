#ifndef EK_COMPILER_DATASET_INFLATE_H_
#define EK_COMPILER_DATASET_INFLATE_H_

// Bounded decompression of hostile deflate streams.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// No data set may inflate to more than this, over all its arrays.
inline constexpr int64_t kMaxDataSetBytes = int64_t{4} << 30;

// Deflate cannot shrink data further than this factor; whatever claims to is
// refused before anything is allocated.
inline constexpr int64_t kMaxDeflateRatio = 1032;

// Inflates a raw deflate stream that must give exactly `inflated_bytes` and
// end with the input. Memory in use grows with what was really decoded, never
// with what a header claims. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::string> InflateRaw(absl::string_view deflated,
                                       int64_t inflated_bytes,
                                       absl::string_view where);

// The first bytes of what a raw deflate stream gives: `bytes`, or fewer if it
// ends before. What follows is not looked at. Errors: INVALID_ARGUMENT.
absl::StatusOr<std::string> InflateRawPrefix(absl::string_view deflated,
                                             int64_t bytes,
                                             absl::string_view where);

// As InflateRawPrefix().
absl::StatusOr<std::string> InflateGzipPrefix(absl::string_view gzip,
                                              int64_t bytes,
                                              absl::string_view where);

// Raw deflate at a fixed level: same bytes for the same input.
std::string DeflateRaw(absl::string_view bytes);

// CRC-32 as in ZIP and gzip.
uint32_t Crc32(absl::string_view bytes);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_INFLATE_H_
