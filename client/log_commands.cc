#include "client/log_commands.h"

#include "absl/strings/ascii.h"

namespace edgekiln::client {

std::string LogCommandFilter::Text(absl::string_view text) {
  return Filter(text, "(");
}

std::string LogCommandFilter::Json(absl::string_view text) {
  return Filter(text, "\\u005b");
}

std::string LogCommandFilter::Filter(absl::string_view text,
                                     absl::string_view bracket) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '[' && hashes_ >= 2) {
      out.append(bracket.data(), bracket.size());
    } else if (c == ':' && before_ == ':' && at_start_) {
      out += '.';
    } else {
      out += c;
    }
    // The runner compares as languages do, where some characters count for
    // nothing; those of ASCII that do are control characters.
    if (static_cast<unsigned char>(c) >= 0x80) continue;
    before_ = c;
    hashes_ = c == '#' ? hashes_ + 1 : 0;
    at_start_ = c == '\n' || c == '\r' ||
                (at_start_ && (c == ':' || absl::ascii_isspace(c)));
  }
  return out;
}

}  // namespace edgekiln::client
