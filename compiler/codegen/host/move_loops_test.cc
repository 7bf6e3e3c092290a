#include "compiler/codegen/host/move_loops.h"

#include <ostream>
#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

v1::Layout LayoutOf(const std::string& text) {
  v1::Layout layout;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &layout));
  return layout;
}

constexpr char kDense[] =
    "extents: [2, 6] element_bits: 8 size_bytes: 12 "
    "terms { axis: 0 stride_bytes: 6 } terms { axis: 1 stride_bytes: 1 }";
// Channels in blocks of 4.
constexpr char kBlocked[] =
    "extents: [2, 6] element_bits: 8 size_bytes: 16 "
    "terms { axis: 1 divide: 4 stride_bytes: 8 } "
    "terms { axis: 0 stride_bytes: 4 } "
    "terms { axis: 1 modulo: 4 stride_bytes: 1 }";
constexpr char kReversed[] =
    "extents: [2, 6] element_bits: 8 size_bytes: 12 reversed_bytes: 4 "
    "terms { axis: 0 stride_bytes: 6 } terms { axis: 1 stride_bytes: 1 }";
constexpr char kWords[] =
    "extents: [1, 3] element_bits: 16 size_bytes: 12 "
    "terms { axis: 1 stride_bytes: 4 }";
constexpr char kDenseWords[] =
    "extents: [1, 3] element_bits: 16 size_bytes: 6 "
    "terms { axis: 1 stride_bytes: 2 }";

struct Case {
  const char* name;
  const char* from;
  const char* to;
  const char* body;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Case kCases[] = {
    {"Dense", kDense, kDense,
     "  uint32_t i;\n"
     "  for (i = 0; i < 12u; ++i) to[i] = from[i];\n"},
    {"IntoBlocks", kDense, kBlocked,
     "  uint32_t i0;\n"
     "  for (i0 = 0; i0 < 2u; ++i0) {\n"
     "    const uint32_t f0 = i0 * 6u;\n"
     "    const uint32_t t0 = i0 * 4u;\n"
     "    uint32_t i1;\n"
     "    for (i1 = 0; i1 < 6u; ++i1) {\n"
     "      const uint32_t f1 = f0 + i1;\n"
     "      const uint32_t t1 = t0 + i1 / 4u * 8u + i1 % 4u;\n"
     "      to[t1] = from[f1];\n"
     "    }\n"
     "  }\n"},
    {"ReversedBytes", kDense, kReversed,
     "  uint32_t i0;\n"
     "  for (i0 = 0; i0 < 2u; ++i0) {\n"
     "    const uint32_t f0 = i0 * 6u;\n"
     "    const uint32_t t0 = i0 * 6u;\n"
     "    uint32_t i1;\n"
     "    for (i1 = 0; i1 < 6u; ++i1) {\n"
     "      const uint32_t f1 = f0 + i1;\n"
     "      const uint32_t t1 = t0 + i1;\n"
     "      to[(0u + t1) ^ 3u] = from[f1];\n"
     "    }\n"
     "  }\n"},
    {"ElementsOfTwoBytes", kWords, kDenseWords,
     "  uint32_t i1;\n"
     "  for (i1 = 0; i1 < 3u; ++i1) {\n"
     "    const uint32_t f1 = i1 * 4u;\n"
     "    const uint32_t t1 = i1 * 2u;\n"
     "    to[t1] = from[f1];\n"
     "    to[t1 + 1u] = from[f1 + 1u];\n"
     "  }\n"},
};

class MoveFunctionTest : public testing::TestWithParam<Case> {};

TEST_P(MoveFunctionTest, LoopsOverTheArray) {
  const auto text =
      MoveFunction("m", LayoutOf(GetParam().from), LayoutOf(GetParam().to));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text,
            std::string("static void m(const uint8_t *from, uint8_t *to) {\n") +
                GetParam().body + "}\n");
}

INSTANTIATE_TEST_SUITE_P(All, MoveFunctionTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(MoveFunctionTest, RefusesLayoutsOfTwoArrays) {
  EXPECT_EQ(
      MoveFunction("m", LayoutOf(kDense), LayoutOf(kWords)).status().code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MoveFunction("m", LayoutOf("extents: 4 element_bits: 3"),
                         LayoutOf(kWords))
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace edgekiln::compiler
