#ifndef EK_COMPILER_DATASET_ZLIB_PORTION_H_
#define EK_COMPILER_DATASET_ZLIB_PORTION_H_

// What all uses of zlib share: its numbers for the two formats, and sizes that
// its `unsigned int` cannot hold.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/string_view.h"
#include "zlib.h"

namespace edgekiln::compiler {

inline constexpr int kRawWindowBits = -15;
inline constexpr int kGzipWindowBits = 15 + 16;

// How much of `bytes` zlib is handed at a time.
inline uInt ZlibPortion(int64_t bytes) {
  return static_cast<uInt>(
      std::min<int64_t>(bytes, std::numeric_limits<int32_t>::max()));
}

// The CRC-32 of all that `crc` is of (0: of nothing) and of `bytes` behind it.
inline uint32_t ContinueCrc32(uint32_t crc, absl::string_view bytes) {
  while (!bytes.empty()) {
    const uInt portion = ZlibPortion(static_cast<int64_t>(bytes.size()));
    crc = static_cast<uint32_t>(
        crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), portion));
    bytes.remove_prefix(portion);
  }
  return crc;
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_ZLIB_PORTION_H_
