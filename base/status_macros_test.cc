#include "base/status_macros.h"

#include <memory>
#include <string>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"

namespace edgekiln {
namespace {

absl::StatusOr<std::unique_ptr<int>> Make(bool good) {
  if (!good) return absl::NotFoundError("gone");
  return std::make_unique<int>(7);
}

absl::Status WithContext(bool good, int* contexts) {
  const auto context = [&] {
    ++*contexts;
    return std::string("outer");
  };
  EK_RETURN_IF_ERROR(Make(good).status(), context());
  return absl::OkStatus();
}

absl::StatusOr<int> Value(bool first, bool second) {
  EK_ASSIGN_OR_RETURN(std::unique_ptr<int> a, Make(first));
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<int> b, Make(second), "second");
  return *a + *b;
}

TEST(StatusMacrosTest, ContextIsEvaluatedOnFailureOnly) {
  int contexts = 0;
  EXPECT_TRUE(WithContext(true, &contexts).ok());
  EXPECT_EQ(contexts, 0);
  EXPECT_EQ(WithContext(false, &contexts), absl::NotFoundError("outer: gone"));
  EXPECT_EQ(contexts, 1);
}

TEST(StatusMacrosTest, AssignsOrReturns) {
  EXPECT_EQ(*Value(true, true), 14);
  EXPECT_EQ(Value(false, true).status(), absl::NotFoundError("gone"));
  EXPECT_EQ(Value(true, false).status(), absl::NotFoundError("second: gone"));
}

TEST(AnnotateTest, KeepsCodeAndPayloads) {
  absl::Status status = absl::DataLossError("torn");
  status.SetPayload("url", absl::Cord("bytes"));
  const absl::Status annotated = Annotate(status, "blob 7");
  EXPECT_EQ(annotated.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(annotated.message(), "blob 7: torn");
  EXPECT_EQ(annotated.GetPayload("url"), absl::Cord("bytes"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "context").ok());
}

}  // namespace
}  // namespace edgekiln
