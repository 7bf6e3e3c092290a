#include "server/stage_chain.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

v1::BlobRef Blob(const std::string& role, const std::string& hash) {
  v1::BlobRef blob;
  blob.set_role(role);
  if (!hash.empty()) blob.mutable_digest()->set_hash(hash);
  return blob;
}

v1::StageResult Made(const std::vector<v1::BlobRef>& outputs) {
  v1::StageResult result;
  result.mutable_outputs()->Assign(outputs.begin(), outputs.end());
  return result;
}

TEST(ChainedInputsTest, TakeWhatTheLatestStageMade) {
  const v1::StageResult first =
      Made({Blob("graph", "old"), Blob("machine", "m")});
  const v1::StageResult second = Made({Blob("graph", "new")});
  const auto inputs = ChainedInputs(
      {Blob("graph", ""), Blob("graph", "given"), Blob("machine", "")},
      {&first, &second});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_EQ(inputs->size(), 3u);
  EXPECT_EQ((*inputs)[0].digest().hash(), "new");
  EXPECT_EQ((*inputs)[1].digest().hash(), "given");
  EXPECT_EQ((*inputs)[2].digest().hash(), "m");
}

TEST(ChainedInputsTest, AreOneBlobEach) {
  const v1::StageResult two = Made({Blob("chunk", "a"), Blob("chunk", "b")});
  EXPECT_FALSE(ChainedInputs({Blob("chunk", "")}, {&two}).ok());
  EXPECT_FALSE(ChainedInputs({Blob("graph", "")}, {&two}).ok());
  EXPECT_FALSE(ChainedInputs({Blob("graph", "")}, {}).ok());
}

}  // namespace
}  // namespace edgekiln::server
