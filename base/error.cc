#include "base/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace edgekiln {
namespace {

constexpr absl::string_view kPayloadUrl = "type.edgekiln/ErrorDetail";
constexpr char kPayloadVersion = 1;

std::array<std::string*, 6> Fields(ErrorDetail& detail) {
  return {&detail.reason, &detail.what, &detail.where,
          &detail.limit,  &detail.need, &detail.fix};
}

// Length of the well-formed UTF-8 sequence `text` starts with; 0 if none.
int Utf8Length(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const int length = lead >= 0xC2 && lead <= 0xDF   ? 2
                     : (lead & 0xF0) == 0xE0        ? 3
                     : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                    : 0;
  if (length == 0 || text.size() < static_cast<size_t>(length)) return 0;
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Over-long forms, surrogates, and what lies beyond U+10FFFF.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

// Branch-free, so that it vectorizes.
bool IsPrintableAscii(absl::string_view text) {
  bool printable = true;
  for (const char c : text) printable &= c >= 0x20 && c < 0x7F;
  return printable;
}

std::string Encode(ErrorDetail& detail) {
  std::string out;
  out.push_back(kPayloadVersion);
  out.push_back(static_cast<char>(detail.fault));
  for (const std::string* field : Fields(detail)) {
    out.push_back(static_cast<char>(field->size() & 0xFF));
    out.push_back(static_cast<char>(field->size() >> 8));
    out.append(*field);
  }
  return out;
}

std::optional<ErrorDetail> Decode(absl::string_view bytes) {
  if (bytes.size() < 2 || bytes[0] != kPayloadVersion) return std::nullopt;
  const auto fault = static_cast<uint8_t>(bytes[1]);
  if (fault > static_cast<uint8_t>(Fault::kInfra)) return std::nullopt;
  ErrorDetail detail;
  detail.fault = static_cast<Fault>(fault);
  bytes.remove_prefix(2);
  for (std::string* field : Fields(detail)) {
    if (bytes.size() < 2) return std::nullopt;
    const size_t size = static_cast<uint8_t>(bytes[0]) |
                        static_cast<size_t>(static_cast<uint8_t>(bytes[1]))
                            << 8;
    bytes.remove_prefix(2);
    if (size > kMaxErrorFieldBytes || size > bytes.size()) return std::nullopt;
    field->assign(bytes.data(), size);
    bytes.remove_prefix(size);
  }
  if (!bytes.empty()) return std::nullopt;
  return detail;
}

std::string OneLine(const ErrorDetail& detail) {
  std::string out = detail.what;
  const auto add = [&](absl::string_view name, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&out, "; ", name, ": ", value);
  };
  add("where", detail.where);
  add("limit", detail.limit);
  add("need", detail.need);
  add("fix", detail.fix);
  return out;
}

}  // namespace

std::string SanitizeText(const std::string& text, int max_bytes) {
  constexpr absl::string_view kCut = "...";
  const size_t limit = max_bytes < 0 ? 0 : static_cast<size_t>(max_bytes);
  // Nearly all texts are short and printable.
  if (text.size() <= limit && IsPrintableAscii(text)) return text;
  // Replacing never changes the length, so the length decides about cutting.
  const bool cut = text.size() > limit;
  const size_t room = !cut ? limit : limit - std::min(limit, kCut.size());
  std::string out;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const int length = Utf8Length(rest);
    const size_t step = length == 0 ? 1 : static_cast<size_t>(length);
    if (out.size() + step > room) break;
    const auto lead = static_cast<uint8_t>(rest[0]);
    if (length == 0 || lead < 0x20 || lead == 0x7F) {
      out.push_back('?');
    } else {
      out.append(rest.data(), step);
    }
    rest.remove_prefix(step);
  }
  if (cut && limit >= kCut.size()) out.append(kCut.data(), kCut.size());
  return out;
}

absl::Status MakeError(absl::StatusCode code, ErrorDetail detail) {
  for (std::string* field : Fields(detail)) {
    *field = SanitizeText(*field, kMaxErrorFieldBytes);
  }
  absl::Status status(code, OneLine(detail));
  status.SetPayload(kPayloadUrl, absl::Cord(Encode(detail)));
  return status;
}

std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return std::nullopt;
  // Bounded before it is flattened: a payload may come from another process.
  if (payload->size() > 2 + 6 * (2 + kMaxErrorFieldBytes)) return std::nullopt;
  return Decode(std::string(*payload));
}

}  // namespace edgekiln
