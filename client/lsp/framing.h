#ifndef EK_CLIENT_LSP_FRAMING_H_
#define EK_CLIENT_LSP_FRAMING_H_

// Messages in a stream of bytes, as the Language Server Protocol puts them
// there: header lines, an empty line, Content-Length bytes of JSON.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::client::lsp {

// A document of 1 MiB with every character escaped has 6 MiB.
inline constexpr size_t kMaxMessageBytes = size_t{16} << 20;
// Longer messages are skipped, but for their beginning; beyond this length the
// header is taken for garbage.
inline constexpr int64_t kMaxSkippedBytes = int64_t{1} << 30;
inline constexpr size_t kKeptOfSkippedBytes = 4096;
inline constexpr size_t kMaxHeaderBytes = 4096;

struct Frame {
  std::string body;
  // The message was longer than kMaxMessageBytes; `body` is its beginning.
  bool skipped = false;
};

// Splits the stream. Holds one message at most, plus what was appended. Not
// thread-safe.
class FrameReader {
 public:
  void Append(absl::string_view bytes);
  // The next message; nothing if more bytes are needed. INVALID_ARGUMENT if the
  // header is not one: where the next message begins is then unknown, and every
  // later call gives the same error.
  absl::StatusOr<std::optional<Frame>> Next();

 private:
  absl::StatusOr<bool> ReadHeader();
  std::optional<Frame> TakeSkipped();

  std::string buffer_;
  size_t begin_ = 0;        // Of what is not consumed yet.
  int64_t remaining_ = -1;  // Of the current body; -1: in a header.
  std::string kept_;        // Of a message that is skipped.
  bool skipping_ = false;
  absl::Status lost_;
};

// `body` with its header.
std::string FrameOf(absl::string_view body);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_FRAMING_H_
