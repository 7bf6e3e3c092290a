#include "tests/support/user_error.h"

#include "base/error.h"
#include "gtest/gtest.h"

namespace edgekiln::tests {

void ExpectUserError(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value()) << status;
  EXPECT_EQ(detail->fault, Fault::kUser) << status;
  EXPECT_FALSE(detail->what.empty()) << status;
  EXPECT_FALSE(detail->where.empty()) << status;
  EXPECT_FALSE(detail->fix.empty()) << status;
}

}  // namespace edgekiln::tests
