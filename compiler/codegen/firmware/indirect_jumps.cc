#include "compiler/codegen/firmware/indirect_jumps.h"

#include <cstdint>
#include <optional>

namespace edgekiln::compiler {
namespace {

std::optional<uint32_t> HalfAt(absl::string_view code, size_t at) {
  if (code.size() < 2 || at > code.size() - 2) return std::nullopt;
  return static_cast<uint32_t>(static_cast<uint8_t>(code[at])) |
         static_cast<uint32_t>(static_cast<uint8_t>(code[at + 1])) << 8;
}

constexpr uint32_t kRiscvRa = 1;
constexpr uint32_t kArmSp = 13, kArmLr = 14, kArmPc = 15;

// c.jr and c.jalr; `ra` as the target of the first is a return.
bool IsIndirect16(uint32_t half) {
  const uint32_t source = half >> 7 & 31;
  if ((half & 0xf07f) == 0x8002) return source != 0 && source != kRiscvRa;
  return (half & 0xf07f) == 0x9002 && source != 0;
}

bool IsJalr(uint32_t word) { return (word & 0x707f) == 0x67; }

bool IsRiscvReturn(uint32_t word) {
  return (word >> 7 & 31) == 0 && (word >> 15 & 31) == kRiscvRa &&
         word >> 20 == 0;
}

// bx, blx (of secure code, too), and pc as the destination of mov or add.
bool IsIndirectThumb16(uint32_t half) {
  const uint32_t source = half >> 3 & 15;
  if ((half & 0xff83) == 0x4780) return true;
  if ((half & 0xff83) == 0x4700) return source != kArmLr;
  if ((half & 0xff87) == 0x4687) return source != kArmLr;
  return (half & 0xff87) == 0x4487;
}

// Loads of pc; from the stack they return.
bool IsIndirectThumb32(uint32_t first, uint32_t second) {
  const uint32_t base = first & 15;
  const bool loads = (first & 0xff70) == 0xf850 && second >> 12 == kArmPc;
  const bool loads_many =
      ((first & 0xffd0) == 0xe890 || (first & 0xffd0) == 0xe910) &&
      (second & 0x8000) != 0;
  return (loads || loads_many) && base != kArmSp;
}

}  // namespace

bool RiscvJumpsIndirectly(absl::string_view code,
                          const std::set<size_t>& linked) {
  for (size_t at = 0; at < code.size();) {
    const auto first = HalfAt(code, at);
    if (!first.has_value()) return true;
    if ((*first & 3) != 3) {
      if (IsIndirect16(*first)) return true;
      at += 2;
      continue;
    }
    const auto second = HalfAt(code, at + 2);
    if (!second.has_value()) return true;
    const uint32_t word = *first | *second << 16;
    if (IsJalr(word) && !IsRiscvReturn(word) && !linked.contains(at)) {
      return true;
    }
    at += 4;
  }
  return false;
}

bool ThumbJumpsIndirectly(absl::string_view code) {
  for (size_t at = 0; at < code.size();) {
    const auto first = HalfAt(code, at);
    if (!first.has_value()) return true;
    if (*first < 0xe800) {
      if (IsIndirectThumb16(*first)) return true;
      at += 2;
      continue;
    }
    const auto second = HalfAt(code, at + 2);
    if (!second.has_value()) return true;
    if (IsIndirectThumb32(*first, *second)) return true;
    at += 4;
  }
  return false;
}

}  // namespace edgekiln::compiler
