#include "client/sweep_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/testing/commands_fixture.h"

namespace edgekiln::client {
namespace {

v1::SweepRequest made;

absl::Status Make(CommandContext& context) {
  const absl::StatusOr<LocalSweep> sweep = SweepOfLine(context);
  if (sweep.ok()) made = sweep->request;
  return sweep.status();
}

class SweepRequestTest : public CommandsTest {
 protected:
  v1::SweepGroup GroupOf(const std::vector<std::string>& more) {
    std::vector<std::string> args = {"sweep",
                                     model_,
                                     "--target",
                                     "t",
                                     "--calibration",
                                     Put("c.npz", "PK"),
                                     "--accuracy-budget",
                                     "1pp"};
    args.insert(args.end(), more.begin(), more.end());
    const absl::Status status = Run(Make, args);
    EXPECT_TRUE(status.ok()) << status;
    return made.groups(0);
  }
};

TEST_F(SweepRequestTest, TheBudgetIsOfEveryQuantizationThatIsVaried) {
  const v1::SweepGroup one = GroupOf({});
  EXPECT_EQ(one.options().quantization().accuracy_budget_ppm(), 10'000);
  const std::string file = Put("q.txtpb", "accuracy_budget_ppm: 7 samples: 9");
  const v1::SweepGroup varied =
      GroupOf({"--vary", "quantization=default," + file});
  ASSERT_EQ(varied.vary_size(), 1);
  ASSERT_EQ(varied.vary(0).quantizations_size(), 2);
  for (const auto& config : varied.vary(0).quantizations()) {
    EXPECT_EQ(config.accuracy_budget_ppm(), 10'000);
  }
  EXPECT_EQ(varied.vary(0).quantizations(1).samples(), 9);
  // Set and varied at once is refused.
  EXPECT_FALSE(varied.options().has_quantization());
}

}  // namespace
}  // namespace edgekiln::client
