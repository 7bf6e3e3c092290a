#include "tests/support/npz_writer.h"

#include "base/file.h"
#include "gtest/gtest.h"

namespace edgekiln::tests {
namespace {

TEST(NpzWriterTest, ReadsBack) {
  std::map<std::string, NpyArray> arrays;
  arrays["x"] = {"|i1", {2, 3}, std::string("\x00\x01\x02\xFD\xFE\xFF", 6)};
  arrays["a:0/b"] = {"<f4", {1}, std::string("\x00\x00\x80\x3F", 4)};
  arrays["scalar"] = {"<f4", {}, std::string("\x00\x00\x00\x40", 4)};
  const std::string path = JoinPath(testing::TempDir(), "npz_writer_test.npz");
  ASSERT_TRUE(WriteNpz(path, arrays).ok());
  const auto read = ReadNpz(path);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), arrays.size());
  for (const auto& [name, array] : arrays) {
    EXPECT_EQ(read->at(name).dtype, array.dtype) << name;
    EXPECT_EQ(read->at(name).shape, array.shape) << name;
    EXPECT_EQ(read->at(name).data, array.data) << name;
  }
  EXPECT_EQ(read->at("scalar").At<float>(0), 2.0f);
}

TEST(NpzWriterTest, StacksSamples) {
  const NpyArray a{"|i1", {1, 2}, "ab"};
  const NpyArray b{"|i1", {1, 2}, "cd"};
  const auto stacked = Stack({a, b});
  ASSERT_TRUE(stacked.ok());
  EXPECT_EQ(stacked->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(stacked->data, "abcd");
  EXPECT_FALSE(Stack({a, NpyArray{"|u1", {1, 2}, "cd"}}).ok());
  EXPECT_FALSE(Stack({a, NpyArray{"|i1", {1, 3}, "cde"}}).ok());
  EXPECT_FALSE(Stack({}).ok());
}

}  // namespace
}  // namespace edgekiln::tests
