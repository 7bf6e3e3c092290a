#include "proto/convert.h"

#include <string>

#include "absl/status/status.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "gtest/gtest.h"

namespace edgekiln {
namespace {

using Code = absl::StatusCode;

TEST(ConvertTest, ErrorsTravelBothWays) {
  v1::ErrorDetail error;
  error.set_fault(v1::ErrorDetail::USER);
  error.set_reason("OP_UNSUPPORTED");
  error.set_what("op Foo is not supported");
  error.set_where("layer 3");
  error.set_limit("l");
  error.set_need("n");
  error.set_fix("f");
  error.set_code(3);
  error.set_message("job 7: stage import: op Foo is not supported");
  const absl::Status status = StatusFromProto(error);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(ErrorToProto(status).ShortDebugString(), error.ShortDebugString());
  const absl::Status annotated = Annotate(status, "again");
  EXPECT_EQ(ErrorToProto(StatusFromProto(ErrorToProto(annotated))).message(),
            "again: job 7: stage import: op Foo is not supported");
}

TEST(ConvertTest, FillsWhatErrorsLack) {
  v1::ErrorDetail error;
  error.set_fault(v1::ErrorDetail::QUOTA);
  error.set_code(99);
  const absl::Status status = StatusFromProto(error);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(ErrorToProto(status).what(), "no reason was given");
  error.set_fault(v1::ErrorDetail::USER);
  EXPECT_EQ(StatusFromProto(error).code(), Code::kInvalidArgument);
  error.set_fault(v1::ErrorDetail::INFRA);
  EXPECT_EQ(StatusFromProto(error).code(), Code::kInternal);
}

TEST(ConvertTest, FaultsOfErrorsWithoutDetailFollowFromTheirCodes) {
  const auto fault = [](const absl::Status& status) {
    return ErrorToProto(status).fault();
  };
  EXPECT_EQ(fault(absl::NotFoundError("x")), v1::ErrorDetail::USER);
  EXPECT_EQ(fault(absl::UnimplementedError("x")), v1::ErrorDetail::USER);
  EXPECT_EQ(fault(absl::ResourceExhaustedError("x")), v1::ErrorDetail::QUOTA);
  EXPECT_EQ(fault(absl::UnavailableError("x")), v1::ErrorDetail::INFRA);
  EXPECT_EQ(ErrorToProto(absl::InternalError("")).what(),
            "no reason was given");
}

TEST(ConvertTest, DigestsAreChecked) {
  const Digest digest = DigestOf("abc");
  const auto back = FromProto(ToProto(digest));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->hash, digest.hash);
  EXPECT_EQ(back->size_bytes, 3);
  v1::Digest bad = ToProto(digest);
  bad.set_hash("ABC");
  EXPECT_EQ(FromProto(bad).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace edgekiln
