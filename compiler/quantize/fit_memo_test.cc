#include "compiler/quantize/fit_memo.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compiler/passes/clamps.h"
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

FitMemo::Entry WithValues(const std::string& fitted,
                          const std::string& judged) {
  const auto buffer = [](const std::string& bytes) {
    SampleBatch::Buffer made = {std::shared_ptr<char[]>(new char[bytes.size()]),
                                static_cast<int64_t>(bytes.size())};
    std::copy(bytes.begin(), bytes.end(), made.values.get());
    return made;
  };
  FitMemo::Entry entry;
  entry.fitted.push_back(buffer(fitted));
  entry.judged.push_back(buffer(judged));
  return entry;
}

std::string TextOf(const SampleBatch::Buffer& buffer) {
  return {buffer.values.get(), static_cast<size_t>(buffer.bytes)};
}

// Two samples of the first memo, one of the other.
TEST_F(FitMemoTest, TakesOverTheFirstSamples) {
  CalibrationSamples one = samples_;
  one.Limit(1);
  FitMemo fewer(graph_, one, one, {}, /*most_bytes=*/100);
  memo_.Add(memo_.KeyOf("early"), WithValues("aabb", "ccdd"));
  memo_.Add(memo_.KeyOf("dropped"), WithValues("eeff", "gghh"));
  fewer.TakeOver(memo_);
  memo_.Add(memo_.KeyOf("late"), WithValues("iijj", "kkll"));
  for (int i = 0; i < 2; ++i) {
    const FitMemo::Entry* entry = fewer.Find(fewer.KeyOf("early"));
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(TextOf(entry->fitted[0]), "aa");
    EXPECT_EQ(TextOf(entry->judged[0]), "cc");
  }
  EXPECT_EQ(fewer.Find(fewer.KeyOf("late")), nullptr);
  Add("large", 95);
  EXPECT_EQ(fewer.Find(fewer.KeyOf("dropped")), nullptr);
  EXPECT_NE(fewer.Find(fewer.KeyOf("early")), nullptr);
}

TEST_F(FitMemoTest, RealsAreLookedAtBeforeTheClamp) {
  // The op as it is, and without its clamp.
  Op before = graph_.ops[0];
  MutableClamp(before.attributes)->Clear();
  const v1::Clamp& clamp = *ClampOf(graph_.ops[0].attributes);
  FitMemo memo(graph_, samples_, samples_, {}, /*most_bytes=*/1000);
  std::vector<std::vector<float>> seen;
  // The first time the op is run, the second time it has been.
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = memo.LookAtReals(
        0, before, clamp, /*step=*/1, [&](int64_t, const char* bytes) {
          const auto* values = reinterpret_cast<const float*>(bytes);
          seen.emplace_back(values, values + 2);
        });
    ASSERT_TRUE(status.ok()) << status;
    const auto reals = memo.RealBefore(1);
    ASSERT_TRUE(reals.ok()) << reals.status();
    bool limits = false;
    for (size_t sample = 0; sample < 2; ++sample) {
      const auto* made = reinterpret_cast<const float*>(
          (*reals)->value(graph_.outputs[0], static_cast<int64_t>(sample)));
      for (size_t k = 0; k < 2; ++k) {
        const float given = seen[2 * i + sample][k];
        EXPECT_EQ(made[k], std::max(given, 0.0f));
        limits = limits || given < 0;
      }
    }
    EXPECT_TRUE(limits);
  }
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[1], seen[3]);
}

}  // namespace
}  // namespace edgekiln::compiler
