#include "compiler/dataset/pack.h"

#include <string>
#include <vector>

#include "compiler/dataset/npz.h"
#include "compiler/dataset/testing/test_data.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

v1::Chunk Output(int64_t first, const std::string& data) {
  v1::Chunk chunk;
  chunk.set_first_sample(first);
  chunk.set_samples(static_cast<int64_t>(data.size()) / 2);
  chunk.add_arrays()->set_data(data);
  *chunk.mutable_arrays(0)->mutable_type() = Type(v1::INT8, {1, 2}, 1, 0);
  return chunk;
}

TEST(PackTest, JoinsChunksInSampleOrder) {
  const auto npz = PackOutputs({}, {Output(1, "cdef"), Output(0, "ab")});
  ASSERT_TRUE(npz.ok()) << npz.status();
  const auto file = NpzFile::Open(*npz);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto array = file->Read("in");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(array->data, "abcdef");
}

TEST(PackTest, KeepsEmptyOutputs) {
  v1::Chunk chunk;
  chunk.set_samples(2);
  *chunk.add_arrays()->mutable_type() = Type(v1::UINT64, {1, 0, 3});
  const auto npz = PackOutputs({}, {chunk});
  ASSERT_TRUE(npz.ok()) << npz.status();
  const auto array = NpzFile::Open(*npz)->Read("in");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->type, NpyType::kUint64);
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 0, 3}));
}

TEST(PackTest, RefusesGapsAndWrongSizes) {
  EXPECT_FALSE(PackOutputs({}, {}).ok());
  EXPECT_FALSE(PackOutputs({}, {Output(1, "ab")}).ok());
  EXPECT_FALSE(PackOutputs({}, {Output(0, "ab"), Output(2, "ab")}).ok());
  v1::Chunk cut = Output(0, "ab");
  cut.mutable_arrays(0)->set_data("a");
  EXPECT_FALSE(PackOutputs({}, {cut}).ok());
}

}  // namespace
}  // namespace edgekiln::compiler
