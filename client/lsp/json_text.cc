#include "client/lsp/json_text.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace edgekiln::client::lsp {
namespace {

// Before anything is parsed: copying and printing a value recurse.
bool IsTooDeep(absl::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

// The value of "\uXXXX" at `at`; -1 if there is none.
int EscapeAt(absl::string_view text, size_t at) {
  uint32_t value = 0;
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u' ||
      !absl::SimpleHexAtoi(text.substr(at + 2, 4), &value)) {
    return -1;
  }
  return static_cast<int>(value);
}

// Escapes of halves without their other half as U+FFFD, and bytes that are not
// UTF-8 as "?".
std::string Repaired(absl::string_view text) {
  std::string repaired;
  for (size_t at = 0; at < text.size();) {
    const int unit = EscapeAt(text, at);
    const bool high = unit >= 0xD800 && unit < 0xDC00;
    const bool low = unit >= 0xDC00 && unit < 0xE000;
    if (high || low) {
      const int next = EscapeAt(text, at + 6);
      const bool pair = high && next >= 0xDC00 && next < 0xE000;
      repaired += pair ? std::string(text.substr(at, 12)) : "\\ufffd";
      at += pair ? 12 : 6;
      continue;
    }
    const bool escape = text[at] == '\\' && at + 1 < text.size();
    const size_t bytes = escape ? 2 : CharacterBytes(text, at);
    const bool bad = bytes == 1 && static_cast<uint8_t>(text[at]) >= 0x80;
    repaired += bad ? "?" : std::string(text.substr(at, bytes));
    at += bytes;
  }
  return repaired;
}

std::optional<Json> Parse(absl::string_view text) {
  Json value = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                           /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

int Clamped(int64_t value) {
  return static_cast<int>(
      std::clamp<int64_t>(value, 0, std::numeric_limits<int>::max()));
}

}  // namespace

std::optional<Json> ParseJson(absl::string_view text) {
  if (IsTooDeep(text)) return std::nullopt;
  std::optional<Json> value = Parse(text);
  return value.has_value() ? value : Parse(Repaired(text));
}

std::string JsonText(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json* Find(const Json& value, absl::string_view path) {
  const Json* at = &value;
  for (const absl::string_view key : absl::StrSplit(path, '/')) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(std::string(key));
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

std::string StringAt(const Json& value, absl::string_view path) {
  const Json* const found = Find(value, path);
  return found == nullptr || !found->is_string() ? ""
                                                 : found->get<std::string>();
}

std::optional<int64_t> NumberAt(const Json& value, absl::string_view path) {
  const Json* const found = Find(value, path);
  if (found == nullptr) return std::nullopt;
  if (found->is_number_unsigned()) {
    return static_cast<int64_t>(std::min<uint64_t>(
        found->get<uint64_t>(), std::numeric_limits<int64_t>::max()));
  }
  if (!found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

bool TrueAt(const Json& value, absl::string_view path) {
  const Json* const found = Find(value, path);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::optional<Position> PositionAt(const Json& value, absl::string_view path) {
  const Json* const found = Find(value, path);
  if (found == nullptr) return std::nullopt;
  const std::optional<int64_t> line = NumberAt(*found, "line");
  const std::optional<int64_t> character = NumberAt(*found, "character");
  if (!line.has_value() || !character.has_value()) return std::nullopt;
  return Position{Clamped(*line), Clamped(*character)};
}

std::optional<Range> RangeAt(const Json& value, absl::string_view path) {
  const Json* const found = Find(value, path);
  if (found == nullptr) return std::nullopt;
  const std::optional<Position> start = PositionAt(*found, "start");
  const std::optional<Position> end = PositionAt(*found, "end");
  if (!start.has_value() || !end.has_value()) return std::nullopt;
  return Range{*start, *end};
}

Json ToJson(const Position& position) {
  return {{"line", position.line}, {"character", position.character}};
}

Json ToJson(const Range& range) {
  return {{"start", ToJson(range.start)}, {"end", ToJson(range.end)}};
}

}  // namespace edgekiln::client::lsp
