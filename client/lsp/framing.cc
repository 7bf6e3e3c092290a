#include "client/lsp/framing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::client::lsp {
namespace {

constexpr char kEndOfHeader[] = "\r\n\r\n";
constexpr size_t kEndOfHeaderBytes = sizeof(kEndOfHeader) - 1;

absl::Status BadHeader(absl::string_view what, absl::string_view limit) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "LSP_HEADER",
       .what = std::string(what),
       .where = "the standard input",
       .limit = std::string(limit),
       .fix = "start `edgekiln lsp` from an editor; it speaks the Language "
              "Server Protocol"});
}

absl::StatusOr<int64_t> ContentLength(absl::string_view header) {
  int64_t length = -1;
  for (absl::string_view line : absl::StrSplit(header, "\r\n")) {
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) {
      return BadHeader("a header line has no colon", "");
    }
    if (!absl::EqualsIgnoreCase(line.substr(0, colon), "content-length")) {
      continue;
    }
    const absl::string_view digits =
        absl::StripAsciiWhitespace(line.substr(colon + 1));
    if (length >= 0 || digits.empty() ||
        !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
        !absl::SimpleAtoi(digits, &length) || length > kMaxSkippedBytes) {
      return BadHeader("Content-Length is not the length of a message",
                       absl::StrCat("0 to ", kMaxSkippedBytes, " bytes"));
    }
  }
  if (length < 0) return BadHeader("the header has no Content-Length", "");
  return length;
}

}  // namespace

void FrameReader::Append(absl::string_view bytes) {
  if (!lost_.ok()) return;
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_.append(bytes.data(), bytes.size());
}

// Whether there is a whole header.
absl::StatusOr<bool> FrameReader::ReadHeader() {
  const absl::string_view rest = absl::string_view(buffer_).substr(begin_);
  const size_t end = rest.find(kEndOfHeader);
  if (std::min(end, rest.size()) > kMaxHeaderBytes) {
    return BadHeader("the header does not end",
                     absl::StrCat(kMaxHeaderBytes, " bytes"));
  }
  if (end == absl::string_view::npos) return false;
  EK_ASSIGN_OR_RETURN(remaining_, ContentLength(rest.substr(0, end)));
  begin_ += end + kEndOfHeaderBytes;
  skipping_ = remaining_ > static_cast<int64_t>(kMaxMessageBytes);
  return true;
}

std::optional<Frame> FrameReader::TakeSkipped() {
  const size_t here = std::min<size_t>(buffer_.size() - begin_, remaining_);
  const size_t kept = std::min(here, kKeptOfSkippedBytes - kept_.size());
  kept_.append(buffer_, begin_, kept);
  begin_ += here;
  remaining_ -= static_cast<int64_t>(here);
  if (remaining_ > 0) return std::nullopt;
  remaining_ = -1;
  Frame frame{.body = std::move(kept_), .skipped = true};
  kept_.clear();
  return frame;
}

absl::StatusOr<std::optional<Frame>> FrameReader::Next() {
  if (!lost_.ok()) return lost_;
  if (remaining_ < 0) {
    const absl::StatusOr<bool> read = ReadHeader();
    if (!read.ok()) {
      lost_ = read.status();
      buffer_.clear();
      begin_ = 0;
      return lost_;
    }
    if (!*read) return std::nullopt;
  }
  if (skipping_) return TakeSkipped();
  const size_t length = static_cast<size_t>(remaining_);
  if (buffer_.size() - begin_ < length) return std::nullopt;
  Frame frame{.body = buffer_.substr(begin_, length)};
  begin_ += length;
  remaining_ = -1;
  if (begin_ == buffer_.size()) {
    // After a long message its room is given back.
    if (buffer_.capacity() > kMaxHeaderBytes * 64) std::string().swap(buffer_);
    buffer_.clear();
    begin_ = 0;
  }
  return frame;
}

std::string FrameOf(absl::string_view body) {
  return absl::StrCat("Content-Length: ", body.size(), kEndOfHeader, body);
}

}  // namespace edgekiln::client::lsp
