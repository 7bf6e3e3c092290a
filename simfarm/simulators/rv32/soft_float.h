#ifndef EK_SIMFARM_SIMULATORS_RV32_SOFT_FLOAT_H_
#define EK_SIMFARM_SIMULATORS_RV32_SOFT_FLOAT_H_

// IEEE 754 binary32 arithmetic as RV32F defines it, on bit patterns and in
// integers alone: no result depends on the host's float unit, its rounding
// mode or its compiler. Every NaN result is the canonical one. Tininess is
// detected after rounding.

#include <cstdint>

namespace edgekiln::simfarm::rv32 {

inline constexpr uint32_t kCanonicalNan = 0x7fc00000;

// As in frm.
enum class Rounding : uint8_t {
  kNearestEven = 0,
  kTowardZero = 1,
  kDown = 2,
  kUp = 3,
  kNearestMaxMagnitude = 4,
};

// Bits of fflags.
inline constexpr uint32_t kInexact = 1;
inline constexpr uint32_t kUnderflow = 2;
inline constexpr uint32_t kOverflow = 4;
inline constexpr uint32_t kDivideByZero = 8;
inline constexpr uint32_t kInvalid = 16;

// Each raises its exceptions in *flags, which it never clears.
uint32_t FloatAdd(uint32_t a, uint32_t b, Rounding rounding, uint32_t* flags);
uint32_t FloatSubtract(uint32_t a, uint32_t b, Rounding rounding,
                       uint32_t* flags);
uint32_t FloatMultiply(uint32_t a, uint32_t b, Rounding rounding,
                       uint32_t* flags);
uint32_t FloatDivide(uint32_t a, uint32_t b, Rounding rounding,
                     uint32_t* flags);
uint32_t FloatSqrt(uint32_t a, Rounding rounding, uint32_t* flags);
// a * b + c, rounded once.
uint32_t FloatMultiplyAdd(uint32_t a, uint32_t b, uint32_t c, Rounding rounding,
                          uint32_t* flags);

// The one operand that is a number if the other is NaN; -0 is below +0.
uint32_t FloatMin(uint32_t a, uint32_t b, uint32_t* flags);
uint32_t FloatMax(uint32_t a, uint32_t b, uint32_t* flags);
bool FloatEqual(uint32_t a, uint32_t b, uint32_t* flags);
bool FloatLess(uint32_t a, uint32_t b, uint32_t* flags);
bool FloatLessEqual(uint32_t a, uint32_t b, uint32_t* flags);

// Values out of range give the nearest integer, NaN the greatest; both are
// kInvalid and not kInexact.
uint32_t FloatToInt(uint32_t a, Rounding rounding, uint32_t* flags);
uint32_t FloatToUint(uint32_t a, Rounding rounding, uint32_t* flags);
uint32_t IntToFloat(uint32_t a, Rounding rounding, uint32_t* flags);
uint32_t UintToFloat(uint32_t a, Rounding rounding, uint32_t* flags);

// The one bit of fclass.s.
uint32_t FloatClass(uint32_t a);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_SOFT_FLOAT_H_
