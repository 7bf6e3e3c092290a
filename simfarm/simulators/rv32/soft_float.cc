#include "simfarm/simulators/rv32/soft_float.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr uint32_t kSignBit = 0x80000000;
constexpr uint32_t kInfinity = 0x7f800000;
constexpr uint32_t kMaxFinite = 0x7f7fffff;
constexpr uint32_t kQuietBit = 0x00400000;
constexpr int kMinExponent = -126;
constexpr int kMaxExponent = 127;
constexpr int kFractionBits = 23;

constexpr bool IsNan(uint32_t a) { return (a & ~kSignBit) > kInfinity; }
constexpr bool IsSignalling(uint32_t a) { return IsNan(a) && !(a & kQuietBit); }
constexpr bool IsInfinite(uint32_t a) { return (a & ~kSignBit) == kInfinity; }
constexpr bool IsZero(uint32_t a) { return (a & ~kSignBit) == 0; }
constexpr uint32_t SignOf(uint32_t a) { return a & kSignBit; }

// A finite number other than zero: significand * 2^exponent, where the highest
// bit of the significand is bit 63.
struct Unpacked {
  int exponent = 0;
  uint64_t significand = 0;
};

Unpacked Unpack(uint32_t a) {
  const auto biased = static_cast<int>(a >> kFractionBits & 0xff);
  uint64_t significand = a & 0x7fffff;
  if (biased != 0) significand |= 0x800000;
  const int exponent = (biased == 0 ? kMinExponent : biased - 127) - 23;
  const int shift = std::countl_zero(significand);
  return {exponent - shift, significand << shift};
}

// value / 2^shift; what is lost sets the lowest bit.
constexpr uint64_t ShiftRightSticky(uint64_t value, int shift) {
  if (shift <= 0) return value;
  if (shift >= 64) return value != 0 ? 1 : 0;
  const uint64_t lost = value & ((uint64_t{1} << shift) - 1);
  return value >> shift | (lost != 0 ? 1 : 0);
}

// Whether a magnitude that lies `rest` of `2 * half` above its lower neighbour
// becomes its upper one.
bool RoundsUp(uint64_t rest, uint64_t half, bool odd, uint32_t sign,
              Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestEven:
      return rest > half || (rest == half && odd);
    case Rounding::kNearestMaxMagnitude:
      return rest >= half;
    case Rounding::kTowardZero:
      return false;
    case Rounding::kDown:
      return rest != 0 && sign != 0;
    case Rounding::kUp:
      return rest != 0 && sign == 0;
  }
  return false;
}

// `significand` without its lowest `drop` bits, rounded. 1 <= drop.
struct Rounded {
  uint64_t value = 0;
  bool exact = true;
};
Rounded DropBits(uint64_t significand, int drop, uint32_t sign,
                 Rounding rounding) {
  if (drop > 64) {
    // Less than half of the lowest bit: any such value rounds like this one.
    const uint64_t rest = significand != 0 ? 1 : 0;
    return {RoundsUp(rest, 2, false, sign, rounding) ? 1u : 0u, rest == 0};
  }
  const uint64_t kept = drop == 64 ? 0 : significand >> drop;
  const uint64_t rest =
      drop == 64 ? significand : significand & ((uint64_t{1} << drop) - 1);
  const uint64_t half = uint64_t{1} << (drop - 1);
  const bool up = RoundsUp(rest, half, (kept & 1) != 0, sign, rounding);
  return {kept + (up ? 1 : 0), rest == 0};
}

uint32_t Overflowed(uint32_t sign, Rounding rounding, uint32_t* flags) {
  *flags |= kOverflow | kInexact;
  const bool to_infinity = rounding == Rounding::kNearestEven ||
                           rounding == Rounding::kNearestMaxMagnitude ||
                           (rounding == Rounding::kUp && sign == 0) ||
                           (rounding == Rounding::kDown && sign != 0);
  return sign | (to_infinity ? kInfinity : kMaxFinite);
}

// The float for significand * 2^exponent, where bits below the significand's
// lowest have set that one. significand != 0.
uint32_t Pack(uint32_t sign, int exponent, uint64_t significand,
              Rounding rounding, uint32_t* flags) {
  const int shift = std::countl_zero(significand);
  significand <<= shift;
  const int top = exponent - shift + 63;  // Weight of the highest bit.
  constexpr int kDrop = 63 - kFractionBits;
  if (top >= kMinExponent) {
    const Rounded rounded = DropBits(significand, kDrop, sign, rounding);
    const bool carried = rounded.value >> (kFractionBits + 1) != 0;
    if (top + (carried ? 1 : 0) > kMaxExponent) {
      return Overflowed(sign, rounding, flags);
    }
    if (!rounded.exact) *flags |= kInexact;
    // The bit above the fraction, or the carry, counts up the exponent.
    return sign | ((static_cast<uint32_t>(top + 126) << kFractionBits) +
                   static_cast<uint32_t>(rounded.value));
  }
  const Rounded rounded =
      DropBits(significand, kDrop + (kMinExponent - top), sign, rounding);
  if (!rounded.exact) {
    const bool tiny = top < kMinExponent - 1 ||
                      DropBits(significand, kDrop, sign, rounding).value >>
                              (kFractionBits + 1) ==
                          0;
    *flags |= kInexact | (tiny ? kUnderflow : 0);
  }
  return sign | static_cast<uint32_t>(rounded.value);
}

uint32_t Invalid(uint32_t* flags) {
  *flags |= kInvalid;
  return kCanonicalNan;
}

// What an operation with a NaN among its operands gives.
uint32_t NanResult(bool signalling, uint32_t* flags) {
  if (signalling) *flags |= kInvalid;
  return kCanonicalNan;
}

// The sum of two finite numbers other than zero with these signs.
uint32_t AddUnpacked(uint32_t sign_a, Unpacked a, uint32_t sign_b, Unpacked b,
                     Rounding rounding, uint32_t* flags) {
  if (a.exponent < b.exponent ||
      (a.exponent == b.exponent && a.significand < b.significand)) {
    std::swap(a, b);
    std::swap(sign_a, sign_b);
  }
  // Two bits above for the carry; below, a float or a product of two leaves
  // enough zeros for the lowest bit to stand for all that is lost.
  const uint64_t large = a.significand >> 2;
  const uint64_t small =
      ShiftRightSticky(b.significand >> 2, a.exponent - b.exponent);
  const uint64_t sum = sign_a == sign_b ? large + small : large - small;
  if (sum == 0) return rounding == Rounding::kDown ? kSignBit : 0;
  return Pack(sign_a, a.exponent + 2, sum, rounding, flags);
}

// The product of two finite numbers other than zero, exactly.
Unpacked MultiplyUnpacked(const Unpacked& a, const Unpacked& b) {
  // 24 bits each.
  const uint64_t product = (a.significand >> 40) * (b.significand >> 40);
  const int shift = std::countl_zero(product);
  return {a.exponent + b.exponent + 80 - shift, product << shift};
}

// a + b where one of them is zero.
uint32_t AddZero(uint32_t a, uint32_t b, Rounding rounding) {
  if (!IsZero(a)) return a;
  if (!IsZero(b)) return b;
  if (a == b) return a;
  return rounding == Rounding::kDown ? kSignBit : 0;
}

// Magnitude and whether it is exact. What does not fit 33 bits gives 2^33.
Rounded RoundToInteger(uint32_t a, Rounding rounding) {
  if (IsZero(a)) return {};
  constexpr uint64_t kTooLarge = uint64_t{1} << 33;
  const Unpacked value = Unpack(a);
  if (value.exponent + 63 > 32) return {kTooLarge, true};
  return DropBits(value.significand, -value.exponent, SignOf(a), rounding);
}

}  // namespace

uint32_t FloatAdd(uint32_t a, uint32_t b, Rounding rounding, uint32_t* flags) {
  if (IsNan(a) || IsNan(b)) {
    return NanResult(IsSignalling(a) || IsSignalling(b), flags);
  }
  if (IsInfinite(a)) {
    return IsInfinite(b) && a != b ? Invalid(flags) : a;
  }
  if (IsInfinite(b)) return b;
  if (IsZero(a) || IsZero(b)) return AddZero(a, b, rounding);
  return AddUnpacked(SignOf(a), Unpack(a), SignOf(b), Unpack(b), rounding,
                     flags);
}

uint32_t FloatSubtract(uint32_t a, uint32_t b, Rounding rounding,
                       uint32_t* flags) {
  return FloatAdd(a, b ^ kSignBit, rounding, flags);
}

uint32_t FloatMultiply(uint32_t a, uint32_t b, Rounding rounding,
                       uint32_t* flags) {
  if (IsNan(a) || IsNan(b)) {
    return NanResult(IsSignalling(a) || IsSignalling(b), flags);
  }
  const uint32_t sign = SignOf(a ^ b);
  if (IsInfinite(a) || IsInfinite(b)) {
    return IsZero(a) || IsZero(b) ? Invalid(flags) : sign | kInfinity;
  }
  if (IsZero(a) || IsZero(b)) return sign;
  const Unpacked product = MultiplyUnpacked(Unpack(a), Unpack(b));
  return Pack(sign, product.exponent, product.significand, rounding, flags);
}

uint32_t FloatDivide(uint32_t a, uint32_t b, Rounding rounding,
                     uint32_t* flags) {
  if (IsNan(a) || IsNan(b)) {
    return NanResult(IsSignalling(a) || IsSignalling(b), flags);
  }
  const uint32_t sign = SignOf(a ^ b);
  if (IsInfinite(a)) return IsInfinite(b) ? Invalid(flags) : sign | kInfinity;
  if (IsInfinite(b)) return sign;
  if (IsZero(b)) {
    if (IsZero(a)) return Invalid(flags);
    *flags |= kDivideByZero;
    return sign | kInfinity;
  }
  if (IsZero(a)) return sign;
  const Unpacked x = Unpack(a);
  const Unpacked y = Unpack(b);
  const uint64_t divisor = y.significand >> 40;
  const uint64_t quotient = x.significand / divisor;
  const uint64_t sticky = x.significand % divisor != 0 ? 1 : 0;
  return Pack(sign, x.exponent - (y.exponent + 40), quotient | sticky, rounding,
              flags);
}

uint32_t FloatSqrt(uint32_t a, Rounding rounding, uint32_t* flags) {
  if (IsNan(a)) return NanResult(IsSignalling(a), flags);
  if (IsZero(a)) return a;
  if (SignOf(a) != 0) return Invalid(flags);
  if (IsInfinite(a)) return a;
  const Unpacked value = Unpack(a);
  // 62 or 63 bits and an even exponent give a root of 31 or 32 bits.
  const int shift = (value.exponent & 1) == 0 ? 2 : 1;
  uint64_t rest = value.significand >> shift;
  uint64_t root = 0;
  for (uint64_t bit = uint64_t{1} << 62; bit != 0; bit >>= 2) {
    const uint64_t step = root + bit;
    root >>= 1;
    if (rest >= step) {
      rest -= step;
      root += bit;
    }
  }
  // Another bit below makes room for the sticky one.
  return Pack(0, (value.exponent + shift) / 2 - 1,
              root << 1 | (rest != 0 ? 1 : 0), rounding, flags);
}

uint32_t FloatMultiplyAdd(uint32_t a, uint32_t b, uint32_t c, Rounding rounding,
                          uint32_t* flags) {
  const bool invalid_product =
      (IsInfinite(a) && IsZero(b)) || (IsZero(a) && IsInfinite(b));
  if (invalid_product) return Invalid(flags);
  if (IsNan(a) || IsNan(b) || IsNan(c)) {
    return NanResult(IsSignalling(a) || IsSignalling(b) || IsSignalling(c),
                     flags);
  }
  const uint32_t sign = SignOf(a ^ b);
  if (IsInfinite(a) || IsInfinite(b)) {
    return IsInfinite(c) && SignOf(c) != sign ? Invalid(flags)
                                              : sign | kInfinity;
  }
  if (IsInfinite(c)) return c;
  if (IsZero(a) || IsZero(b)) return AddZero(sign, c, rounding);
  const Unpacked product = MultiplyUnpacked(Unpack(a), Unpack(b));
  if (IsZero(c)) {
    return Pack(sign, product.exponent, product.significand, rounding, flags);
  }
  return AddUnpacked(sign, product, SignOf(c), Unpack(c), rounding, flags);
}

namespace {

// Order of numbers as integers: -0 below +0.
int32_t OrderKey(uint32_t a) {
  const auto magnitude = static_cast<int32_t>(a & ~kSignBit);
  return SignOf(a) != 0 ? -1 - magnitude : magnitude;
}

uint32_t Select(uint32_t a, uint32_t b, bool less, uint32_t* flags) {
  if (IsSignalling(a) || IsSignalling(b)) *flags |= kInvalid;
  if (IsNan(a)) return IsNan(b) ? kCanonicalNan : b;
  if (IsNan(b)) return a;
  return (OrderKey(a) < OrderKey(b)) == less ? a : b;
}

}  // namespace

uint32_t FloatMin(uint32_t a, uint32_t b, uint32_t* flags) {
  return Select(a, b, true, flags);
}

uint32_t FloatMax(uint32_t a, uint32_t b, uint32_t* flags) {
  return Select(a, b, false, flags);
}

bool FloatEqual(uint32_t a, uint32_t b, uint32_t* flags) {
  if (IsSignalling(a) || IsSignalling(b)) *flags |= kInvalid;
  if (IsNan(a) || IsNan(b)) return false;
  return a == b || (IsZero(a) && IsZero(b));
}

bool FloatLess(uint32_t a, uint32_t b, uint32_t* flags) {
  if (IsNan(a) || IsNan(b)) {
    *flags |= kInvalid;
    return false;
  }
  if (IsZero(a) && IsZero(b)) return false;
  return OrderKey(a) < OrderKey(b);
}

bool FloatLessEqual(uint32_t a, uint32_t b, uint32_t* flags) {
  if (IsNan(a) || IsNan(b)) {
    *flags |= kInvalid;
    return false;
  }
  if (IsZero(a) && IsZero(b)) return true;
  return OrderKey(a) <= OrderKey(b);
}

uint32_t FloatToInt(uint32_t a, Rounding rounding, uint32_t* flags) {
  constexpr uint32_t kMax = 0x7fffffff;
  constexpr uint32_t kMin = 0x80000000;
  if (IsNan(a)) {
    *flags |= kInvalid;
    return kMax;
  }
  const bool negative = SignOf(a) != 0;
  const Rounded rounded = IsInfinite(a) ? Rounded{uint64_t{1} << 33, true}
                                        : RoundToInteger(a, rounding);
  if (rounded.value > (negative ? uint64_t{kMin} : uint64_t{kMax})) {
    *flags |= kInvalid;
    return negative ? kMin : kMax;
  }
  if (!rounded.exact) *flags |= kInexact;
  const auto magnitude = static_cast<uint32_t>(rounded.value);
  return negative ? 0 - magnitude : magnitude;
}

uint32_t FloatToUint(uint32_t a, Rounding rounding, uint32_t* flags) {
  constexpr uint32_t kMax = 0xffffffff;
  if (IsNan(a)) {
    *flags |= kInvalid;
    return kMax;
  }
  const bool negative = SignOf(a) != 0;
  const Rounded rounded = IsInfinite(a) ? Rounded{uint64_t{1} << 33, true}
                                        : RoundToInteger(a, rounding);
  if (rounded.value > (negative ? uint64_t{0} : uint64_t{kMax})) {
    *flags |= kInvalid;
    return negative ? 0 : kMax;
  }
  if (!rounded.exact) *flags |= kInexact;
  return static_cast<uint32_t>(rounded.value);
}

uint32_t IntToFloat(uint32_t a, Rounding rounding, uint32_t* flags) {
  if (a == 0) return 0;
  const uint32_t sign = SignOf(a);
  return Pack(sign, 0, sign != 0 ? 0 - a : a, rounding, flags);
}

uint32_t UintToFloat(uint32_t a, Rounding rounding, uint32_t* flags) {
  if (a == 0) return 0;
  return Pack(0, 0, a, rounding, flags);
}

uint32_t FloatClass(uint32_t a) {
  const bool negative = SignOf(a) != 0;
  if (IsNan(a)) return IsSignalling(a) ? 1u << 8 : 1u << 9;
  if (IsInfinite(a)) return negative ? 1u << 0 : 1u << 7;
  if (IsZero(a)) return negative ? 1u << 3 : 1u << 4;
  const bool subnormal = (a & kInfinity) == 0;
  if (subnormal) return negative ? 1u << 2 : 1u << 5;
  return negative ? 1u << 1 : 1u << 6;
}

}  // namespace edgekiln::simfarm::rv32
