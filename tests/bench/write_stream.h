#ifndef EK_TESTS_BENCH_WRITE_STREAM_H_
#define EK_TESTS_BENCH_WRITE_STREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"

namespace edgekiln::bench {

// One ByteStream.Write of bytes that are in memory: the protocol without a
// client around it.
absl::Status WriteBlob(const std::string& address, const Digest& digest,
                       absl::string_view bytes, int64_t message_bytes);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_WRITE_STREAM_H_
