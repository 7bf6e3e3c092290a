#include "tests/chaos/hostile_models.h"

#include <string>

#include "base/digest.h"
#include "base/file.h"
#include "gtest/gtest.h"
#include "onnx/onnx_pb.h"
#include "tests/chaos/farm.h"
#include "tests/support/npz.h"

namespace edgekiln::chaos {
namespace {

struct Case {
  const char* name;
  std::string (*make)(uint64_t seed);
};

const Case kCases[] = {
    {"Chain", [](uint64_t seed) { return ChainModel(30, seed); }},
    {"LongNames", [](uint64_t seed) { return LongNamesModel(30, 100, seed); }},
    {"Slow", SlowModel},
    {"Nested", [](uint64_t seed) { return NestedModel(20, seed); }},
    {"HugeInput", HugeInputModel},
    {"Doubling", DoublingModel},
};

class HostileModelsTest : public testing::TestWithParam<Case> {};

// A model that nobody can read attacks nothing but the parser.
TEST_P(HostileModelsTest, IsAModel) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(GetParam().make(1)));
  EXPECT_GT(model.graph().node_size(), 0);
  EXPECT_GT(model.graph().output_size(), 0);
}

TEST_P(HostileModelsTest, DependsOnItsSeedAlone) {
  EXPECT_EQ(GetParam().make(1), GetParam().make(1));
  EXPECT_NE(GetParam().make(1), GetParam().make(2));
}

INSTANTIATE_TEST_SUITE_P(All, HostileModelsTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(LongNamesModelTest, IsLargerThanItsNames) {
  EXPECT_GT(LongNamesModel(50, 1000, 1).size(), 50U * 1000);
}

TEST(NpzBombTest, UnpacksToZeros) {
  const Scratch scratch;
  const auto files = NewPosixFileSystem();
  const std::string path = scratch.At("bomb.npz");
  const std::string packed = NpzBomb(int64_t{48} << 20, 1);
  EXPECT_LT(packed.size(), size_t{100} << 10);
  ASSERT_TRUE(WriteAtomically(*files, path, packed).ok());
  const auto arrays = tests::ReadNpz(path);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const tests::NpyArray& x = arrays->at("x");
  EXPECT_EQ(x.dtype, "<f4");
  EXPECT_EQ(x.shape, (std::vector<int64_t>{(48 << 20) / 64, 16}));
  EXPECT_EQ(x.data.find_first_not_of('\0'), std::string::npos);
  EXPECT_NE(NpzBomb(int64_t{16} << 20, 1), NpzBomb(int64_t{16} << 20, 2));
}

}  // namespace
}  // namespace edgekiln::chaos
