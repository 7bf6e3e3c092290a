#include "compiler/dataset/synthesize.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

TEST(SynthesizeTest, DoesNotDependOnChunks) {
  v1::SynthesizeDataOptions options;
  options.set_seed(7);
  options.set_samples(5);
  options.set_chunk_samples(5);
  const v1::TensorType type = Type(v1::INT8, {1, 100}, 1, 0);
  const auto whole = SynthesizeData(options, {type});
  options.set_chunk_samples(2);
  const auto parts = SynthesizeData(options, {type});
  ASSERT_TRUE(whole.ok() && parts.ok());
  ASSERT_EQ(parts->size(), 3u);
  std::string joined;
  for (const v1::Chunk& chunk : *parts) joined += chunk.arrays(0).data();
  EXPECT_EQ(joined, whole->front().arrays(0).data());
  options.set_seed(8);
  EXPECT_NE(SynthesizeData(options, {type})->front().arrays(0).data(),
            parts->front().arrays(0).data());
}

TEST(SynthesizeTest, StatesAreCarried) {
  v1::SynthesizeDataOptions options;
  options.set_samples(3);
  options.set_chunk_samples(2);
  const v1::TensorType type = Type(v1::INT8, {1, 10}, 1, 0);
  const auto given = SynthesizeData(options, {type, type});
  const auto carried =
      SynthesizeData(options, {type, type}, nullptr, {true, false});
  ASSERT_TRUE(given.ok() && carried.ok());
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE((*carried)[i].arrays(0).carried());
    EXPECT_EQ((*carried)[i].arrays(0).data(), "");
    // The others stay as they are.
    EXPECT_FALSE((*carried)[i].arrays(1).carried());
    EXPECT_EQ((*carried)[i].arrays(1).data(), (*given)[i].arrays(1).data());
  }
}

TEST(SynthesizeTest, MakesAsManyAsAskedFor) {
  const v1::TensorType type = Type(v1::INT8, {1, 2}, 1, 0);
  const v1::TensorType large = Type(v1::FLOAT32, {1, 1 << 22});
  const struct {
    int64_t samples;
    std::vector<v1::TensorType> inputs;
    std::string want;
  } cases[] = {
      {0, {type}, "16"},
      {1, {type}, "1"},
      {100, {type}, "100"},
      {0, {}, "1"},
      {3, {}, "3"},
      {65537, {}, "BAD_LIMIT"},
      {65, {large}, "BAD_LIMIT"},
      {65537, {type}, "BAD_LIMIT"},
  };
  for (const auto& c : cases) {
    v1::SynthesizeDataOptions options;
    options.set_samples(c.samples);
    options.set_chunk_samples(16);
    const auto chunks = SynthesizeData(options, c.inputs);
    int64_t samples = 0;
    for (const v1::Chunk& chunk : chunks.value_or(std::vector<v1::Chunk>{})) {
      EXPECT_EQ(chunk.first_sample(), samples);
      samples += chunk.samples();
    }
    EXPECT_EQ(chunks.ok() ? absl::StrCat(samples) : Reason(chunks.status()),
              c.want);
  }
}

TEST(SynthesizeTest, FloatsFillTheirRange) {
  v1::SynthesizeDataOptions options;
  options.set_samples(1);
  options.set_chunk_samples(1);
  const auto chunks = SynthesizeData(options, {Type(v1::FLOAT32, {1, 10000})});
  ASSERT_TRUE(chunks.ok());
  float low = 1, high = -1;
  for (int i = 0; i < 10000; ++i) {
    const float value =
        LoadAs<float>(chunks->front().arrays(0).data().data() + 4 * i);
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 1);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_LT(low, -0.99);
  EXPECT_GT(high, 0.99);
}

TEST(SynthesizeTest, KnowsEveryTypeThatDataMayHave) {
  v1::SynthesizeDataOptions options;
  options.set_samples(1);
  options.set_chunk_samples(1);
  for (const v1::ElementType type :
       {v1::FLOAT16, v1::FLOAT32, v1::FLOAT64, v1::BOOL, v1::INT8, v1::UINT8,
        v1::INT16, v1::UINT16, v1::INT32, v1::INT64, v1::UINT32, v1::UINT64}) {
    const auto chunks = SynthesizeData(options, {Type(type, {1, 100})});
    ASSERT_TRUE(chunks.ok()) << chunks.status();
    const NpyArray values{
        *NpyTypeOf(type), {}, chunks->front().arrays(0).data()};
    ASSERT_EQ(values.elements(), 100) << type;
    double low = NpyValue(values, 0), high = low;
    for (int64_t i = 1; i < 100; ++i) {
      low = std::min(low, NpyValue(values, i));
      high = std::max(high, NpyValue(values, i));
    }
    EXPECT_LT(low, high) << type;
    const bool real =
        type == v1::FLOAT16 || type == v1::FLOAT32 || type == v1::FLOAT64;
    EXPECT_TRUE(!real || (low >= -1 && high < 1)) << type;
    const bool index = type == v1::INT32 || type == v1::INT64 ||
                       type == v1::UINT32 || type == v1::UINT64;
    EXPECT_TRUE(!index || (low == 0 && high == 1)) << type;
  }
}

}  // namespace
}  // namespace edgekiln::compiler
