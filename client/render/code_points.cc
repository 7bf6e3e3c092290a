#include "client/render/code_points.h"

#include <algorithm>
#include <iterator>

namespace edgekiln::client {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// In order. Blocks as a whole: too wide a guess costs a column, too narrow a
// one breaks the line.
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x231A, 0x232A},   {0x23E9, 0x23F3},
    {0x25FD, 0x25FE},   {0x2600, 0x27BF},   {0x2B1B, 0x2B55},
    {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97C},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},
    {0xFE30, 0xFE6B},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x16FE0, 0x18D08}, {0x1AFF0, 0x1B2FB}, {0x1F000, 0x1FAFF},
    {0x20000, 0x3FFFD},
};

constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489},   {0x0591, 0x05BD}, {0x064B, 0x065F},
    {0x1AB0, 0x1ACE}, {0x1DC0, 0x1DFF},   {0x20D0, 0x20F0}, {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};

// C0, DEL and C1; zero-width spaces and marks, line separators, overrides and
// isolates of the direction; the byte order mark; tags.
constexpr Range kControls[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F},   {0x061C, 0x061C}, {0x180E, 0x180E},
    {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
    {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

template <size_t kCount>
bool IsIn(const Range (&ranges)[kCount], uint32_t code_point) {
  const auto after = std::upper_bound(
      std::begin(ranges), std::end(ranges), code_point,
      [](uint32_t value, const Range& range) { return value < range.first; });
  return after != std::begin(ranges) && code_point <= std::prev(after)->last;
}

}  // namespace

CodePoint CodePointAt(absl::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || at + length > text.size()) return {};
  uint32_t value = lead & (0x7F >> length);
  for (int i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(at + i) & 0x3F);
  }
  const bool overlong =
      (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {};
  return {value, length};
}

int ColumnsOf(uint32_t code_point) {
  if (code_point < 0x300) return 1;
  if (IsIn(kCombining, code_point)) return 0;
  return IsIn(kWide, code_point) ? 2 : 1;
}

bool IsControl(uint32_t code_point) { return IsIn(kControls, code_point); }

}  // namespace edgekiln::client
