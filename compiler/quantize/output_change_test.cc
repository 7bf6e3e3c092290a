#include "compiler/quantize/output_change.h"

#include <cmath>
#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

v1::Chunk ChunkOf(const std::vector<float>& values, int64_t samples) {
  v1::Chunk chunk;
  chunk.set_samples(samples);
  chunk.add_arrays()->set_data(
      std::string(reinterpret_cast<const char*>(values.data()),
                  values.size() * sizeof(float)));
  return chunk;
}

std::optional<OutputChange> Compared(const char* before, const char* after,
                                     const std::vector<float>& values,
                                     int64_t samples) {
  const absl::StatusOr<Graph> a = ParseGraph(before);
  const absl::StatusOr<Graph> b = ParseGraph(after);
  EXPECT_TRUE(a.ok()) << a.status();
  EXPECT_TRUE(b.ok()) << b.status();
  if (!a.ok() || !b.ok()) return std::nullopt;
  const std::vector<v1::Chunk> chunks = {ChunkOf(values, samples)};
  const auto change = CompareOutputs(*a, *b, chunks);
  EXPECT_TRUE(change.ok()) << change.status();
  return change.ok() ? *change : std::nullopt;
}

constexpr char kIntegers[] = R"(
%x : int8[1,2] scale 1 zero 3 = input
%y : int8[1,2] scale 2 zero 0 = add(%x, %x) id y
return %y
)";

TEST(CompareOutputsTest, ComparesRealValues) {
  // 2 and 4, 6 and 8; in steps of 8 they are 0 and 8, 8 and 8.
  const std::optional<OutputChange> change = Compared(kIntegers, R"(
%x : float32[1,2] = input
%q : int8[1,2] scale 1 zero 0 = quantize(%x) id q
%s : int8[1,2] scale 8 zero 0 = add(%q, %q) id s
%y : float32[1,2] = dequantize(%s) id d
return %y
)",
                                                      {1, 2, 4, 3}, 2);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->samples, 2);
  ASSERT_TRUE(change->sqnr_db.has_value());
  EXPECT_NEAR(*change->sqnr_db,
              10 * std::log10((4. + 16 + 64 + 36) / (4. + 16 + 0 + 4)), 1e-9);
  EXPECT_EQ(change->other_answers, 0);
  EXPECT_EQ(ToText(*change, "calibration samples"),
            "on 2 calibration samples the first output keeps 7.0 dB, and 0 "
            "answers differ");
}

TEST(CompareOutputsTest, CountsOtherAnswers) {
  const std::optional<OutputChange> change = Compared(kIntegers, R"(
%x : float32[1,2] = input
%y : float32[1,2] = unary(%x) {function NEG} id y
return %y
)",
                                                      {1, 2, 4, 3, 5, 5}, 3);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->other_answers, 2);
}

TEST(CompareOutputsTest, SaysThatNothingDiffers) {
  const std::optional<OutputChange> change = Compared(kIntegers, R"(
%x : float32[1,2] = input
%y : float32[1,2] = add(%x, %x) id y
return %y
)",
                                                      {1, 2}, 1);
  ASSERT_TRUE(change.has_value());
  EXPECT_FALSE(change->sqnr_db.has_value());
  EXPECT_EQ(ToText(*change, "random inputs"),
            "on 1 random inputs the first output is the same");
}

}  // namespace
}  // namespace edgekiln::compiler
