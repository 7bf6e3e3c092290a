#include "compiler/quantize/fit_memo.h"

#include <string>
#include <vector>

#include "compiler/quantize/testing/random_samples.h"
#include "compiler/quantize/testing/splat.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNetwork[] = R"(
%x : float32[1,2] = input
%y : float32[1,2] = clip(%x) {clamp {min 0}} id y
return %y
)";

class FitMemoTest : public testing::Test {
 protected:
  FitMemoTest()
      : graph_(ParseWithSplats(kNetwork)),
        chunks_(RandomSamples(graph_, InOrder(2), 2)),
        samples_(*CalibrationSamples::Create(graph_, chunks_)),
        memo_(graph_, samples_, samples_, {}, /*most_bytes=*/100) {}

  void Add(const std::string& key, size_t bytes) {
    FitMemo::Entry entry;
    Tensor constant;
    constant.data = ConstantData(std::string(bytes, 'x'));
    entry.constants.emplace_back(1, constant);
    memo_.Add(memo_.KeyOf(key), entry);
  }
  bool Has(const std::string& key) {
    return memo_.Find(memo_.KeyOf(key)) != nullptr;
  }

  const Graph graph_;
  const std::vector<v1::Chunk> chunks_;
  const CalibrationSamples samples_;
  FitMemo memo_;
};

TEST_F(FitMemoTest, DropsWhatWasNotUsedForLong) {
  Add("a", 40);
  Add("b", 40);
  EXPECT_TRUE(Has("a"));
  Add("c", 40);
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("b"));
  EXPECT_TRUE(Has("c"));
}

TEST_F(FitMemoTest, EntriesAndRealResultsShareTheirBytes) {
  Add("a", 40);
  Add("b", 40);
  memo_.AddReals(0, std::vector<float>(10, 1));  // 40 bytes.
  EXPECT_FALSE(Has("a"));
  EXPECT_TRUE(Has("b"));
  ASSERT_NE(memo_.FindReals(0), nullptr);
  EXPECT_EQ(memo_.FindReals(0)->size(), 10u);
  Add("c", 40);
  EXPECT_FALSE(Has("b"));
  EXPECT_TRUE(Has("c"));
  // Up to half of them.
  memo_.AddReals(1, std::vector<float>(3, 1));
  EXPECT_EQ(memo_.FindReals(1), nullptr);
  memo_.AddReals(1, std::vector<float>(2, 1));
  EXPECT_NE(memo_.FindReals(1), nullptr);
  // Entries that are too large by themselves are not kept.
  Add("d", 60);
  EXPECT_FALSE(Has("d"));
  EXPECT_NE(memo_.FindReals(0), nullptr);
}

}  // namespace
}  // namespace edgekiln::compiler
