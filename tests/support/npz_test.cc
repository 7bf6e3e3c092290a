#include "tests/support/npz.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

std::string Npy(const std::string& dtype, const std::string& shape,
                const std::string& data) {
  const std::string header =
      absl::StrCat("{'descr': '", dtype,
                   "', 'fortran_order': False, 'shape': ", shape, ", }\n");
  std::string out("\x93NUMPY\x01\x00", 8);
  out.push_back(static_cast<char>(header.size()));
  out.push_back('\0');
  return out + header + data;
}

TEST(ParseNpyTest, ReadsShapeAndElements) {
  const auto array =
      ParseNpy(Npy("|i1", "(2, 2)", std::string("\x01\xff\x7f\x80", 4)));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(array->As<int>(), (std::vector<int>{1, -1, 127, -128}));
}

TEST(ParseNpyTest, ReadsScalarsAndVectors) {
  const auto scalar = ParseNpy(Npy("<i2", "()", std::string("\x02\x01", 2)));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ(scalar->As<int>(), std::vector<int>{258});
  const auto vector = ParseNpy(Npy("|u1", "(1,)", "\xff"));
  ASSERT_TRUE(vector.ok()) << vector.status();
  EXPECT_EQ(vector->As<int>(), std::vector<int>{255});
}

TEST(ParseNpyTest, RefusesWhatItCannotRead) {
  const std::string bad[] = {
      "",
      "not numpy",
      Npy("|i1", "(3,)", "ab"),
      Npy("|i1", "(1,)", "ab"),
      Npy(">f4", "(1,)", "abcd"),
      Npy("|i1", "(-1,)", "a"),
      Npy("|i1", "(x,)", "a"),
      Npy("|i1", "(9223372036854775807, 2)", "a"),
  };
  for (const std::string& bytes : bad) {
    EXPECT_FALSE(ParseNpy(bytes).ok()) << bytes;
  }
}

TEST(ReadNpzTest, ReadsASharedDataSet) {
  EK_REQUIRE_SHARED("data/kws_500.npz");
  const auto arrays = ReadNpz(SharedPath("data/kws_500.npz"));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_TRUE(arrays->contains("x"));
  ASSERT_TRUE(arrays->contains("y"));
  EXPECT_EQ(arrays->at("x").shape[0], 500);
  EXPECT_EQ(arrays->at("y").size(), 500);
}

}  // namespace
}  // namespace edgekiln::tests
