#ifndef EK_CLIENT_LSP_JSON_TEXT_H_
#define EK_CLIENT_LSP_JSON_TEXT_H_

// JSON from outside, which may hold anything anywhere.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "client/lsp/positions.h"

namespace edgekiln::client::lsp {

using Json = nlohmann::json;

// Objects and arrays within each other.
inline constexpr int kMaxJsonDepth = 64;

// Nothing if `text` is not JSON, or nested deeper than kMaxJsonDepth. Halves of
// surrogate pairs, which editors send of characters that are being typed,
// become U+FFFD, which is as long.
std::optional<Json> ParseJson(absl::string_view text);

// On one line; bytes that are not UTF-8 become U+FFFD. Never throws.
std::string JsonText(const Json& value);

// The member at `path`, whose parts are separated by "/"; null if there is
// none.
const Json* Find(const Json& value, absl::string_view path);
// Empty, absent, false if it is missing or of another type.
std::string StringAt(const Json& value, absl::string_view path);
std::optional<int64_t> NumberAt(const Json& value, absl::string_view path);
bool TrueAt(const Json& value, absl::string_view path);

// Of the protocol. Nothing if it is not one; numbers are clamped to int.
std::optional<Position> PositionAt(const Json& value, absl::string_view path);
std::optional<Range> RangeAt(const Json& value, absl::string_view path);
Json ToJson(const Position& position);
Json ToJson(const Range& range);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_JSON_TEXT_H_
