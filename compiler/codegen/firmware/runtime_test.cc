#include "compiler/codegen/firmware/runtime.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "compiler/codegen/firmware/object_calls.h"
#include "compiler/codegen/firmware/stack_bound.h"
#include "gtest/gtest.h"
#include "target/firmware.h"

namespace edgekiln::compiler {
namespace {

namespace fs = std::filesystem;

template <typename To, typename From>
To As(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// Of a NaN, the bits that the runtime gives.
uint32_t BitsOf(float x) {
  return std::isnan(x) ? 0x7fc00000 : As<uint32_t>(x);
}
uint64_t BitsOf(double x) {
  return std::isnan(x) ? uint64_t{0x7ff80000} << 32 : As<uint64_t>(x);
}

// The nearest integer towards 0 that the type has; its greatest of NaN.
template <typename Integer, typename Float>
Integer Saturated(Float x) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(x)) return Limits::max();
  const auto wide = static_cast<long double>(x);
  if (wide <= static_cast<long double>(Limits::min())) return Limits::min();
  if (wide >= static_cast<long double>(Limits::max())) return Limits::max();
  return static_cast<Integer>(x);
}

struct ScratchFolder {
  ScratchFolder()
      : path(fs::temp_directory_path() /
             absl::StrCat("ek_runtime_test_", getpid())) {
    fs::create_directories(path);
    std::ofstream(path / kRuntimeFile) << RuntimeText();
  }
  ~ScratchFolder() { fs::remove_all(path); }
  const fs::path path;
};

std::string ReadFile(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

bool HasProgram(const std::string& name) {
  return std::system(
             absl::StrCat("command -v ", name, " > /dev/null 2>&1").c_str()) ==
         0;
}

// The functions of RuntimeText() for this machine, of every name.
class RuntimeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const ScratchFolder folder;
    const std::string file = (folder.path / "runtime.so").string();
    ASSERT_EQ(std::system(absl::StrCat("cd ", folder.path.string(),
                                       " && gcc -std=c99 -O2 -Wall -Wextra "
                                       "-Werror -Wconversion -ffreestanding "
                                       "-shared -fPIC -DEK_RUNTIME_TEST ",
                                       kRuntimeFile, " -o ", file)
                              .c_str()),
              0);
    library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  static void TearDownTestSuite() {
    if (library_ != nullptr) dlclose(library_);
    library_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(library_, nullptr); }

  // The function "__NAME"; the types are those of its C code.
  template <typename Result, typename... Arguments>
  auto Function(const char* name) {
    void* const found = dlsym(library_, absl::StrCat("ek_test", name).c_str());
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Result (*)(Arguments...)>(found);
  }
  template <typename Result, typename... Arguments>
  Result Call(const char* name, Arguments... arguments) {
    const auto function = Function<Result, Arguments...>(name);
    return function == nullptr ? Result() : function(arguments...);
  }

  // Few messages where much is wrong.
  template <typename Value, typename... Arguments>
  void Expect(Value got, Value want, const char* name, Arguments... of) {
    if (got == want || ++failures_ > 10) return;
    ADD_FAILURE() << absl::StrFormat(
        "%s: got %x, want %x, of %s", name, got, want,
        absl::StrJoin({absl::StrCat(absl::Hex(of))...}, " "));
  }

  static inline void* library_ = nullptr;
  int failures_ = 0;
};

// Zeros, subnormals, ends of binades, halves of the last bit, infinities, NaN.
std::vector<uint32_t> Corners32() {
  std::vector<uint32_t> corners;
  for (const uint32_t exponent :
       {0,   1,   2,   23,  24,  25,  102, 103, 125, 126, 127, 128, 149,
        150, 151, 157, 158, 159, 189, 190, 191, 252, 253, 254, 255}) {
    for (const uint32_t fraction : {0x0, 0x1, 0x2, 0x2aaaab, 0x3fffff, 0x400000,
                                    0x400001, 0x7ffffe, 0x7fffff}) {
      corners.push_back(exponent << 23 | fraction);
      corners.push_back(corners.back() | 0x80000000);
    }
  }
  return corners;
}

std::vector<uint64_t> Corners64() {
  std::vector<uint64_t> corners;
  for (const uint64_t exponent :
       {0,    1,    2,    52,   53,   54,   873,  874,  895,  896,  897,
        920,  921,  1021, 1022, 1023, 1024, 1053, 1054, 1055, 1075, 1076,
        1085, 1086, 1087, 1149, 1150, 1151, 2044, 2045, 2046, 2047}) {
    for (const uint64_t fraction :
         {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{0x7ffffffffffff},
          uint64_t{0x8000000000000}, uint64_t{0x8000000000001},
          uint64_t{0xfffffffffffff}, uint64_t{0xfffffe0000000},
          uint64_t{0xfffff00000000}, uint64_t{0x10000001},
          uint64_t{0xffffffff}}) {
      corners.push_back(exponent << 52 | fraction);
      corners.push_back(corners.back() | uint64_t{1} << 63);
    }
  }
  return corners;
}

constexpr int kRandom = 500'000;

TEST_F(RuntimeTest, Float32EqualsTheHosts) {
  const auto add = Function<uint32_t, uint32_t, uint32_t>("__addsf3");
  const auto subtract = Function<uint32_t, uint32_t, uint32_t>("__subsf3");
  const auto multiply = Function<uint32_t, uint32_t, uint32_t>("__mulsf3");
  const auto divide = Function<uint32_t, uint32_t, uint32_t>("__divsf3");
  const auto less = Function<int32_t, uint32_t, uint32_t>("__ltsf2");
  const auto greater = Function<int32_t, uint32_t, uint32_t>("__gesf2");
  const auto equal = Function<int32_t, uint32_t, uint32_t>("__eqsf2");
  const auto check = [&](uint32_t a, uint32_t b) {
    const auto x = As<float>(a), y = As<float>(b);
    Expect(add(a, b), BitsOf(x + y), "add", a, b);
    Expect(subtract(a, b), BitsOf(x - y), "subtract", a, b);
    Expect(multiply(a, b), BitsOf(x * y), "multiply", a, b);
    Expect(divide(a, b), BitsOf(x / y), "divide", a, b);
    Expect(less(a, b) < 0, x < y, "<", a, b);
    Expect(less(a, b) <= 0, x <= y, "<=", a, b);
    Expect(greater(a, b) > 0, x > y, ">", a, b);
    Expect(greater(a, b) >= 0, x >= y, ">=", a, b);
    Expect(equal(a, b) == 0, x == y, "==", a, b);
  };
  const std::vector<uint32_t> corners = Corners32();
  for (const uint32_t a : corners) {
    for (const uint32_t b : corners) check(a, b);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < kRandom; ++i) {
    const uint64_t both = random();
    const auto a = static_cast<uint32_t>(both);
    check(a, static_cast<uint32_t>(both >> 32));
    // Of exponents that are near.
    check(a, static_cast<uint32_t>((a & 0x7f800000) ^ (both >> 36)));
  }
}

TEST_F(RuntimeTest, Float64EqualsTheHosts) {
  const auto add = Function<uint64_t, uint64_t, uint64_t>("__adddf3");
  const auto subtract = Function<uint64_t, uint64_t, uint64_t>("__subdf3");
  const auto multiply = Function<uint64_t, uint64_t, uint64_t>("__muldf3");
  const auto divide = Function<uint64_t, uint64_t, uint64_t>("__divdf3");
  const auto less = Function<int32_t, uint64_t, uint64_t>("__ltdf2");
  const auto greater = Function<int32_t, uint64_t, uint64_t>("__gedf2");
  const auto equal = Function<int32_t, uint64_t, uint64_t>("__eqdf2");
  const auto check = [&](uint64_t a, uint64_t b) {
    const auto x = As<double>(a), y = As<double>(b);
    Expect(add(a, b), BitsOf(x + y), "add", a, b);
    Expect(subtract(a, b), BitsOf(x - y), "subtract", a, b);
    Expect(multiply(a, b), BitsOf(x * y), "multiply", a, b);
    Expect(divide(a, b), BitsOf(x / y), "divide", a, b);
    Expect(less(a, b) < 0, x < y, "<", a, b);
    Expect(less(a, b) <= 0, x <= y, "<=", a, b);
    Expect(greater(a, b) > 0, x > y, ">", a, b);
    Expect(greater(a, b) >= 0, x >= y, ">=", a, b);
    Expect(equal(a, b) == 0, x == y, "==", a, b);
  };
  const std::vector<uint64_t> corners = Corners64();
  for (const uint64_t a : corners) {
    for (const uint64_t b : corners) check(a, b);
  }
  std::mt19937_64 random(2);
  for (int i = 0; i < kRandom; ++i) {
    const uint64_t a = random(), b = random();
    check(a, b);
    check(a, (a & uint64_t{0x7ff} << 52) ^ b >> 6);
  }
}

TEST_F(RuntimeTest, ConversionsEqualTheHosts) {
  const auto single = [&](uint32_t a) {
    const auto x = As<float>(a);
    Expect(Call<int32_t>("__fixsfsi", a), Saturated<int32_t>(x), "int32", a);
    Expect(Call<uint32_t>("__fixunssfsi", a), Saturated<uint32_t>(x), "uint32",
           a);
    Expect(Call<int64_t>("__fixsfdi", a), Saturated<int64_t>(x), "int64", a);
    Expect(Call<uint64_t>("__fixunssfdi", a), Saturated<uint64_t>(x), "uint64",
           a);
    Expect(Call<uint64_t>("__extendsfdf2", a), BitsOf(double{x}), "double", a);
    const auto n = static_cast<int32_t>(a);
    Expect(Call<uint32_t>("__floatsisf", n), BitsOf(static_cast<float>(n)),
           "of int32", a);
    Expect(Call<uint32_t>("__floatunsisf", a), BitsOf(static_cast<float>(a)),
           "of uint32", a);
    Expect(Call<uint64_t>("__floatsidf", n), BitsOf(static_cast<double>(n)),
           "of int32", a);
    Expect(Call<uint64_t>("__floatunsidf", a), BitsOf(static_cast<double>(a)),
           "of uint32", a);
  };
  const auto twice = [&](uint64_t a) {
    const auto x = As<double>(a);
    Expect(Call<int32_t>("__fixdfsi", a), Saturated<int32_t>(x), "int32", a);
    Expect(Call<uint32_t>("__fixunsdfsi", a), Saturated<uint32_t>(x), "uint32",
           a);
    Expect(Call<int64_t>("__fixdfdi", a), Saturated<int64_t>(x), "int64", a);
    Expect(Call<uint64_t>("__fixunsdfdi", a), Saturated<uint64_t>(x), "uint64",
           a);
    Expect(Call<uint32_t>("__truncdfsf2", a), BitsOf(static_cast<float>(x)),
           "float", a);
    const auto n = static_cast<int64_t>(a);
    Expect(Call<uint32_t>("__floatdisf", n), BitsOf(static_cast<float>(n)),
           "of int64", a);
    Expect(Call<uint32_t>("__floatundisf", a), BitsOf(static_cast<float>(a)),
           "of uint64", a);
    Expect(Call<uint64_t>("__floatdidf", n), BitsOf(static_cast<double>(n)),
           "of int64", a);
    Expect(Call<uint64_t>("__floatundidf", a), BitsOf(static_cast<double>(a)),
           "of uint64", a);
  };
  for (const uint32_t a : Corners32()) single(a);
  for (const uint64_t a : Corners64()) twice(a);
  std::mt19937_64 random(3);
  for (int i = 0; i < kRandom / 20; ++i) {
    const uint64_t a = random();
    single(static_cast<uint32_t>(a));
    twice(a);
    twice(a >> (random() & 63));
    // Of exponents that matter.
    twice((a >> 2) | (896 + (random() & 255)) << 52);
  }
}

TEST_F(RuntimeTest, IntegersEqualTheHosts) {
  const auto check = [&](uint64_t a, uint64_t b) {
    const auto n = static_cast<int64_t>(a), d = static_cast<int64_t>(b);
    const auto bits = static_cast<int32_t>(b & 63);
    Expect(Call<uint64_t>("__muldi3", a, b), a * b, "*", a, b);
    Expect(Call<uint64_t>("__ashldi3", a, bits), a << bits, "<<", a, b);
    Expect(Call<uint64_t>("__lshrdi3", a, bits), a >> bits, ">>", a, b);
    Expect(Call<uint64_t>("__ashrdi3", a, bits),
           static_cast<uint64_t>(n >> bits), ">>", a, b);
    if (a != 0) {
      Expect(Call<int32_t>("__clzdi2", a), __builtin_clzll(a), "clz", a);
      Expect(Call<int32_t>("__ctzdi2", a), __builtin_ctzll(a), "ctz", a);
    }
    if (const auto low = static_cast<uint32_t>(a); low != 0) {
      Expect(Call<int32_t>("__clzsi2", low), __builtin_clz(low), "clz", low);
      Expect(Call<int32_t>("__ctzsi2", low), __builtin_ctz(low), "ctz", low);
    }
    if (b == 0) return;
    Expect(Call<uint64_t>("__udivdi3", a, b), a / b, "/", a, b);
    Expect(Call<uint64_t>("__umoddi3", a, b), a % b, "%", a, b);
    if (n == std::numeric_limits<int64_t>::min() && d == -1) return;
    Expect(Call<int64_t>("__divdi3", n, d), n / d, "/", a, b);
    Expect(Call<int64_t>("__moddi3", n, d), n % d, "%", a, b);
  };
  std::vector<uint64_t> corners;
  for (int bit = 0; bit < 64; bit += bit % 16 == 0 || bit % 16 == 15 ? 1 : 7) {
    for (const int more : {-1, 0, 1}) {
      corners.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(more));
    }
  }
  for (const uint64_t high : {0x1, 0xffff, 0x10000, 0x7fffffff}) {
    for (const uint64_t low :
         {uint64_t{0}, uint64_t{0xffff}, uint64_t{0xffffffff}}) {
      corners.push_back(high << 32 | low);
      corners.push_back(~corners.back());
    }
  }
  for (const uint64_t a : corners) {
    for (const uint64_t b : corners) check(a, b);
  }
  std::mt19937_64 random(4);
  for (int i = 0; i < kRandom / 10; ++i) {
    const uint64_t bits = random();
    check(random() >> (bits & 63), random() >> (bits >> 6 & 63));
    // Next to a multiple.
    const uint64_t divisor = random() >> (bits >> 12 & 31);
    const uint64_t multiple = (random() >> 32 >> (bits >> 17 & 31)) * divisor;
    check(multiple, divisor);
    check(multiple - 1, divisor);
  }
}

TEST_F(RuntimeTest, MemoryIsCopiedMovedSetAndCompared) {
  for (const size_t bytes : {0, 1, 7, 16}) {
    for (const size_t to : {0, 3, 8, 19}) {
      std::string text = "abcdefghijklmnopqrstuvwxyz0123456789";
      std::string want = text;
      std::memmove(&want[to], &want[8], bytes);
      Call<void*>("memmove", static_cast<void*>(&text[to]),
                  static_cast<const void*>(&text[8]), bytes);
      EXPECT_EQ(text, want) << bytes << " to " << to;
      std::string copy(text.size(), '-');
      Call<void*>("memcpy", static_cast<void*>(&copy[to]),
                  static_cast<const void*>(&text[1]), bytes);
      EXPECT_EQ(copy.substr(to, bytes), text.substr(1, bytes));
      EXPECT_EQ(copy[to + bytes], '-');
      Call<void*>("memset", static_cast<void*>(&copy[to]), int{0x1ff}, bytes);
      EXPECT_EQ(copy.substr(to, bytes), std::string(bytes, '\xff'));
      EXPECT_EQ(copy[to + bytes], '-');
    }
  }
  const auto compare = [&](const char* a, const char* b) {
    return Call<int>("memcmp", static_cast<const void*>(a),
                     static_cast<const void*>(b), size_t{3});
  };
  EXPECT_EQ(compare("abcd", "abce"), 0);
  EXPECT_LT(compare("abc", "abd"), 0);
  EXPECT_GT(compare("a\x80", "a\x7f"), 0);
}

// What a compiler makes of them calls nothing that is not there, and nothing
// in a circle: a bound of the stack says both.
TEST(RuntimeCallsTest, NothingCallsItself) {
  const ScratchFolder folder;
  int compilers = 0;
  for (const target::ProcessorInfo& info : target::Processors()) {
    for (const target::CompilerUse& use : info.compilers) {
      const bool is_gcc = use.family == v1::GCC;
      if (!HasProgram(use.program) || (!is_gcc && info.name == "x86-64")) {
        continue;
      }
      ++compilers;
      SCOPED_TRACE(absl::StrCat(info.name, " ", use.program));
      ASSERT_EQ(
          std::system(
              absl::StrCat("cd ", folder.path.string(), " && ", use.program,
                           " ", absl::StrJoin(target::CompileFlags(use), " "),
                           is_gcc ? " -fcallgraph-info=su" : " -fstack-usage",
                           " -c ", kRuntimeFile, " -o it.o")
                  .c_str()),
          0);
      std::string graph = ReadFile(folder.path / "it.ci");
      if (!is_gcc) {
        const auto made = ObjectCallGraph(ReadFile(folder.path / "it.o"),
                                          ReadFile(folder.path / "it.su"));
        ASSERT_TRUE(made.ok()) << made.status();
        graph = *made;
      }
      const auto bytes = BoundStack({graph});
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      EXPECT_GT(*bytes, 0) << graph;
      EXPECT_LT(*bytes, 400);
    }
  }
  EXPECT_GT(compilers, 0);
}

}  // namespace
}  // namespace edgekiln::compiler
