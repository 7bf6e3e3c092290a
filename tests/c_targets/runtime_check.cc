#include "tests/c_targets/runtime_check.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::tests {
namespace {

namespace fs = std::filesystem;

constexpr char kCode[] = R"(#include <stdint.h>
enum { kGroups = 16, kOperands = 1500 };

static uint32_t seed, hash;

static uint32_t next32(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed ^ seed >> 15;
}
static uint64_t next64(void) {
  const uint64_t high = next32();
  return high << 32 | next32();
}
static void add32(uint32_t x) {
  hash = (hash ^ x) * 16777619u;
  hash ^= hash >> 13;
}
static void add64(uint64_t x) {
  add32((uint32_t)x);
  add32((uint32_t)(x >> 32));
}
static void add_float(float x) {
  union { float value; uint32_t bits; } both;
  both.value = x;
  add32(x != x ? 0x7fc00000u : both.bits);
}
static void add_double(double x) {
  union { double value; uint64_t bits; } both;
  both.value = x;
  add64(x != x ? (uint64_t)0x7ff80000 << 32 : both.bits);
}

/* Every fourth is zero, subnormal, infinite, NaN, or next to such; every other
   is near 1. */
static float next_float(void) {
  static const uint32_t ends[] = {0,          1,          0x007fffff,
                                  0x00800000, 0x00800001, 0x3f7fffff,
                                  0x3f800001, 0x4b7fffff, 0x7f7fffff,
                                  0x7f800000, 0x7fc00000, 0x33800000};
  union { float value; uint32_t bits; } both;
  const uint32_t kind = next32();
  both.bits = next32();
  if (kind & 1) both.bits = (both.bits & 0x87ffffff) | 0x38000000;
  if ((kind & 3) == 2) {
    both.bits = ends[(kind >> 4) % 12] | (kind & 0x80000000u);
  }
  return both.value;
}
static double next_double(void) {
  static const uint32_t ends[] = {0,          0x000fffff, 0x00100000,
                                  0x3fefffff, 0x3ff00000, 0x433fffff,
                                  0x7fefffff, 0x7ff00000, 0x7ff80000,
                                  0x36a00000, 0x380fffff, 0x47efffff};
  union { double value; uint64_t bits; } both;
  const uint32_t kind = next32();
  both.bits = next64();
  if (kind & 1) {
    both.bits = (both.bits << 12 >> 12) |
                (uint64_t)(0x3f0 + (kind >> 8 & 31)) << 52 |
                (uint64_t)(kind >> 31) << 63;
  }
  if ((kind & 3) == 2) {
    both.bits = (uint64_t)(ends[(kind >> 4) % 12] | (kind & 0x80000000u)) << 32 |
                (kind & 16 ? 0 : 0xffffffffu + (kind >> 20 & 1));
  }
  return both.value;
}

static void group(int which) {
  const float x = next_float(), y = next_float();
  const double v = next_double(), w = next_double();
  const uint32_t bits = next32();
  const uint64_t a = next64() >> (bits & 63);
  uint64_t b = next64() >> (bits >> 6 & 63);
  if (b == 0) b = 1;
  switch (which) {
    case 0: add_float(x + y); break;
    case 1: add_float(x - y); break;
    case 2: add_float(x * y); break;
    case 3: add_float(x / y); break;
    case 4:
      add32((uint32_t)(x < y) | (uint32_t)(x <= y) << 1 |
            (uint32_t)(x == y) << 2 | (uint32_t)(x != y) << 3 |
            (uint32_t)(x > y) << 4 | (uint32_t)(x >= y) << 5);
      break;
    case 5:
      if (x > -2147483648.0f && x < 2147483648.0f) add32((uint32_t)(int32_t)x);
      if (x >= 0 && x < 4294967296.0f) add32((uint32_t)x);
      if (x > -9.2e18f && x < 9.2e18f) add64((uint64_t)(int64_t)x);
      if (x >= 0 && x < 1.8e19f) add64((uint64_t)x);
      break;
    case 6:
      add_float((float)(int32_t)a);
      add_float((float)(uint32_t)a);
      add_float((float)(int64_t)a);
      add_float((float)a);
      break;
    case 7: add_double(v + w); break;
    case 8: add_double(v - w); break;
    case 9: add_double(v * w); break;
    case 10: add_double(v / w); break;
    case 11:
      add32((uint32_t)(v < w) | (uint32_t)(v <= w) << 1 |
            (uint32_t)(v == w) << 2 | (uint32_t)(v != w) << 3 |
            (uint32_t)(v > w) << 4 | (uint32_t)(v >= w) << 5);
      break;
    case 12:
      if (v > -2147483648.0 && v < 2147483648.0) add32((uint32_t)(int32_t)v);
      if (v >= 0 && v < 4294967296.0) add32((uint32_t)v);
      if (v > -9.2e18 && v < 9.2e18) add64((uint64_t)(int64_t)v);
      if (v >= 0 && v < 1.8e19) add64((uint64_t)v);
      add_float((float)v);
      add_double(x);
      break;
    case 13:
      add_double((int32_t)a);
      add_double((uint32_t)a);
      add_double((double)(int64_t)a);
      add_double((double)a);
      break;
    case 14:
      add64(a / b);
      add64(a % b);
      if ((int64_t)b != -1) {
        add64((uint64_t)((int64_t)a / (int64_t)b));
        add64((uint64_t)((int64_t)a % (int64_t)b));
      }
      add32((uint32_t)a / ((uint32_t)b | 1));
      add32((uint32_t)((int32_t)a / ((int32_t)(b & 0xffff) | 1)));
      break;
    default:
      add64(a * b);
      add64(a << (bits & 63));
      add64(a >> (bits & 63));
      add64((uint64_t)((int64_t)a >> (bits & 63)));
  }
}

static uint32_t hash_of(int which) {
  int i;
  seed = (uint32_t)which;
  hash = 0;
  for (i = 0; i < kOperands; ++i) group(which);
  return hash;
}
)";

// Tells the hashes, one a line.
constexpr char kMain[] = R"(#include <stdio.h>
int main(void) {
  int i;
  for (i = 0; i < kGroups; ++i) printf("%uu,\n", (unsigned)hash_of(i));
  return 0;
}
)";

constexpr char kCheck[] = R"(int ek_runtime_check(void);
int ek_runtime_check(void) {
  int i;
  for (i = 0; i < kGroups; ++i) {
    if (hash_of(i) != expected[i]) return i + 1;
  }
  return 0;
}
)";

}  // namespace

absl::StatusOr<std::string> RuntimeCheckText() {
  const fs::path folder =
      fs::temp_directory_path() / absl::StrCat("ek_runtime_check_", getpid());
  fs::create_directories(folder);
  std::ofstream(folder / "check.c") << kCode << kMain;
  const int status = std::system(
      absl::StrCat("cd ", folder.string(),
                   " && gcc -std=c99 -O1 -ffp-contract=off check.c -o check "
                   "&& ./check > hashes")
          .c_str());
  std::ostringstream hashes;
  hashes << std::ifstream(folder / "hashes").rdbuf();
  fs::remove_all(folder);
  if (status != 0) return absl::InternalError("this machine's gcc failed");
  return absl::StrCat(kCode, "static const uint32_t expected[kGroups] = {\n",
                      hashes.str(), "};\n", kCheck);
}

}  // namespace edgekiln::tests
