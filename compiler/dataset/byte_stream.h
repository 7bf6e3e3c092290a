#ifndef EK_COMPILER_DATASET_BYTE_STREAM_H_
#define EK_COMPILER_DATASET_BYTE_STREAM_H_

// What hostile bytes unpack to, piece by piece.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

enum class Packing { kNone, kDeflate, kGzip };

// Memory in use grows with what was asked for and really decoded, never with
// what a header claims. After an error it is of no more use. Not thread-safe.
class ByteStream {
 public:
  // `packed` must outlive the stream; `where` is for errors.
  ByteStream(absl::string_view packed, Packing packing,
             absl::string_view where);
  ByteStream(ByteStream&&) noexcept;
  ~ByteStream();

  // Replaces `out` by the next `bytes` bytes. INVALID_ARGUMENT if there are
  // fewer, or they are damaged.
  absl::Status Read(int64_t bytes, std::string& out);
  // The same for a glance at what may be cut off: fewer where it ends. All
  // `bytes` are allocated at once.
  absl::Status ReadPrefix(int64_t bytes, std::string& out);
  // As Read(), without keeping them.
  absl::Status Skip(int64_t bytes);
  // INVALID_ARGUMENT unless nothing follows, neither unpacked nor packed.
  absl::Status ExpectEnd();
  // CRC-32 of all that was read or skipped.
  uint32_t crc() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_BYTE_STREAM_H_
