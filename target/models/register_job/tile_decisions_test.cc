#include "target/models/register_job/tile_decisions.h"

#include <string>

#include "base/error.h"
#include "edgekiln/v1/target.pb.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

using v1::register_job::TileDecisions;

google::protobuf::Any Packed(const google::protobuf::Message& message) {
  google::protobuf::Any any;
  any.PackFrom(message);
  return any;
}

TileDecisions WithAttempts(int attempts, const std::string& objective) {
  TileDecisions decisions;
  for (int i = 0; i < attempts; ++i) decisions.add_attempts();
  decisions.set_objective_expr(objective);
  return decisions;
}

TileDecisions WithMultiple(int32_t multiple) {
  TileDecisions decisions;
  decisions.set_input_channels_multiple(multiple);
  return decisions;
}

TEST(TileDecisionsTest, GoodOnesComeBackInTheirOneForm) {
  for (const TileDecisions& good :
       {TileDecisions(), WithAttempts(1, "out_w"), WithMultiple(16),
        WithMultiple(kMaxInputChannelsMultiple),
        WithAttempts(kMaxTileAttempts,
                     "in_h * in_w * in_c + select(out_w >= 16, 1, 0)")}) {
    const auto packed = RepackTileDecisions(Packed(good));
    ASSERT_TRUE(packed.ok()) << packed.status();
    TileDecisions read;
    ASSERT_TRUE(packed->UnpackTo(&read));
    EXPECT_EQ(read.SerializeAsString(), good.SerializeAsString());
    EXPECT_TRUE(ObjectiveOf(read).ok());
  }
  // Parts of a message that are not in their usual order.
  google::protobuf::Any other = Packed(WithAttempts(1, "out_w"));
  std::string objective, attempt;
  WithAttempts(0, "out_w").SerializeToString(&objective);
  WithAttempts(1, "").SerializeToString(&attempt);
  other.set_value(objective + attempt);
  const auto packed = RepackTileDecisions(other);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->value(), attempt + objective);
}

TEST(TileDecisionsTest, OthersAreRefused) {
  google::protobuf::Any unknown = Packed(TileDecisions());
  unknown.set_value("\x78\x01");  // Field 15.
  google::protobuf::Any in_attempt = Packed(WithAttempts(1, "out_w"));
  std::string value = in_attempt.value();
  const std::string empty_attempt("\x12\0", 2);
  value.replace(value.find(empty_attempt), 2, "\x12\x02\x78\x01");
  in_attempt.set_value(value);
  google::protobuf::Any broken = Packed(TileDecisions());
  broken.set_value("\x12\x05");
  const struct {
    google::protobuf::Any decisions;
    std::string what;
  } kCases[] = {
      {google::protobuf::Any(), "the engine model cannot read the decisions"},
      {Packed(v1::Setting()), "the engine model cannot read the decisions"},
      {unknown, "the decisions are not in the form of the message"},
      {broken, "the decisions are not in the form of the message"},
      {in_attempt, "an attempt is not in the form of the message"},
      {Packed(WithAttempts(kMaxTileAttempts + 1, "out_w")), "17 attempts"},
      {Packed(WithMultiple(-1)), "input_channels_multiple is -1"},
      {Packed(WithMultiple(kMaxInputChannelsMultiple + 1)),
       "input_channels_multiple is 257"},
      {Packed(WithAttempts(1, "")),
       "attempts without objective_expr, or the other way round"},
      {Packed(WithAttempts(0, "out_w")),
       "attempts without objective_expr, or the other way round"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    const absl::Status status = RepackTileDecisions(c.decisions).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const auto detail = GetErrorDetail(status);
    ASSERT_TRUE(detail.has_value()) << status;
    EXPECT_EQ(detail->what, c.what);
    EXPECT_EQ(detail->where, "decisions");
    EXPECT_FALSE(detail->fix.empty());
  }
}

TEST(TileDecisionsTest, ObjectivesAreExpressionsOverVariablesOfJobs) {
  for (const char* wrong : {"nothing", "out_w +", "l1_bytes", "select(1, 2)"}) {
    const absl::Status status =
        RepackTileDecisions(Packed(WithAttempts(1, wrong))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_NE(status.message().find("objective_expr"), std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace edgekiln::target
