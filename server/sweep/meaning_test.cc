#include "server/sweep/meaning.h"

#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

v1::SweepOptions Options(const std::string& text) {
  v1::SweepOptions options;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &options))
      << text;
  return options;
}

Axis AxisOf(const std::string& text) {
  v1::SweepVary vary;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &vary))
      << text;
  absl::StatusOr<Axis> axis = Axis::Parse(vary);
  EXPECT_TRUE(axis.ok()) << axis.status();
  return *std::move(axis);
}

TEST(KeepsIntegersTest, OnlyWhatIsCertain) {
  struct Case {
    bool came_quantized;
    bool has_engines;
    const char* options;
    bool keeps;
  };
  const v1::SweepModel model;
  for (const Case& c : std::vector<Case>{
           // A float model is always quantized.
           {false, false, "", false},
           {false, true, "offload: NONE quantization { requantize: OFF }",
            false},
           // Nothing could take more of it.
           {true, false, "", true},
           {true, true, "offload: NONE", true},
           // What engines take, only their stage can tell.
           {true, true, "", false},
           {true, true, "offload: ALL", false},
           {true, true, "offload: PAYING", false},
           // The user says.
           {true, true, "quantization { requantize: OFF }", true},
           {true, false, "quantization { requantize: ON }", false},
           {true, true, "offload: NONE quantization { requantize: ON }",
            false}}) {
    const CellSubject cell{.model = model,
                           .came_quantized = c.came_quantized,
                           .has_engines = c.has_engines};
    EXPECT_EQ(KeepsIntegers(cell, Options(c.options)), c.keeps)
        << c.came_quantized << c.has_engines << " " << c.options;
  }
}

TEST(KeepsIntegersTest, WhereTheStageWasAsked) {
  const v1::SweepModel model;
  const CellSubject kept{
      .model = model, .came_quantized = true, .keeps_integers = true};
  EXPECT_TRUE(KeepsIntegers(kept, {}));
  EXPECT_TRUE(KeepsIntegers(kept, Options("offload: PAYING")));
  EXPECT_FALSE(KeepsIntegers(kept, Options("quantization { requantize: ON }")));
}

TEST(WhatMattersTest, OfKeptIntegersNothingAboutQuantizing) {
  const v1::SweepModel model;
  const std::string all =
      "io: IO_FLOAT seed: 3 limit: 5 calibrate { method: MSE } "
      "quantization { samples: 9 } ";
  CellSubject cell{.model = model, .has_engines = false};
  EXPECT_EQ(WhatMatters(cell, Options(all)).DebugString(),
            Options(all).DebugString());
  cell.came_quantized = true;
  EXPECT_EQ(WhatMatters(cell, Options(all)).DebugString(),
            Options("io: IO_FLOAT seed: 3 limit: 5").DebugString());
  cell.goal = v1::SWEEP_TIMING;
  EXPECT_EQ(WhatMatters(cell, Options(all)).DebugString(),
            Options("io: IO_FLOAT").DebugString());
  cell.has_engines = true;
  EXPECT_EQ(WhatMatters(cell, Options(all)).DebugString(),
            Options("io: IO_FLOAT seed: 3 calibrate { method: MSE } "
                    "quantization { samples: 9 }")
                .DebugString());
}

TEST(HasNoMeaningTest, TheSeedIsThatOfRandomInputs) {
  const Axis seed = AxisOf("key: 'seed' values: ['1', '2']");
  struct Case {
    bool keeps;
    bool has_calibration;
    bool has_data;
    v1::SweepGoal goal;
    bool dropped;
  };
  for (const Case& c : std::vector<Case>{
           {false, false, true, v1::SWEEP_TIMING, false},  // To calibrate on.
           {false, false, true, v1::SWEEP_PROFILE, false},
           {false, true, false, v1::SWEEP_TIMING, true},
           {false, true, false, v1::SWEEP_PROFILE, false},  // To run.
           {false, true, true, v1::SWEEP_PROFILE, true},
           {false, true, true, v1::SWEEP_VALIDATE, true},
           {true, false, false, v1::SWEEP_TIMING, true},
           {true, false, false, v1::SWEEP_PROFILE, false},
           {true, false, true, v1::SWEEP_PROFILE, true}}) {
    v1::SweepModel model;
    if (c.has_calibration) model.add_calibration();
    if (c.has_data) model.add_data();
    const CellSubject cell{.model = model,
                           .came_quantized = c.keeps,
                           .has_engines = !c.keeps,
                           .goal = c.goal};
    EXPECT_EQ(HasNoMeaning(seed, cell, {}), c.dropped)
        << c.keeps << c.has_calibration << c.has_data << c.goal;
    // Whether it is asked how models came.
    EXPECT_EQ(DependsOnImport("seed", model, c.goal),
              !c.has_calibration && (c.has_data || c.goal == v1::SWEEP_TIMING));
  }
}

TEST(HasNoMeaningTest, OtherKeys) {
  const v1::SweepModel model;
  const CellSubject kept{
      .model = model, .came_quantized = true, .has_engines = false};
  const CellSubject open{.model = model, .came_quantized = true};
  const Axis method = AxisOf("key: 'calibration-method' values: ['mse', 'kl']");
  EXPECT_TRUE(HasNoMeaning(method, kept, {}));
  EXPECT_FALSE(HasNoMeaning(method, open, {}));
  EXPECT_TRUE(HasNoMeaning(method, open, Options("offload: NONE")));
  const Axis limit = AxisOf("key: 'limit' values: ['1', '2']");
  EXPECT_FALSE(HasNoMeaning(limit, kept, {}));
  CellSubject timing = open;
  timing.goal = v1::SWEEP_TIMING;
  EXPECT_TRUE(HasNoMeaning(limit, timing, {}));
  for (const char* key : {"io", "offload"}) {
    const std::string value = std::string(key) == "io" ? "int" : "all";
    EXPECT_FALSE(HasNoMeaning(
        AxisOf("key: '" + std::string(key) + "' values: '" + value + "'"), kept,
        {}));
  }
  // A file matters for what it says of such models.
  const Axis files = AxisOf(
      "key: 'quantization' values: ['default', 'off.txtpb'] "
      "quantizations { } quantizations { requantize: OFF samples: 3 }");
  const v1::SweepOptions off = Options("quantization { requantize: OFF }");
  EXPECT_TRUE(HasNoMeaning(files, kept, off));
  EXPECT_FALSE(HasNoMeaning(files, open, off));
  const Axis on = AxisOf(
      "key: 'quantization' values: ['default', 'on.txtpb'] "
      "quantizations { } quantizations { requantize: ON }");
  EXPECT_FALSE(HasNoMeaning(on, kept, {}));
}

}  // namespace
}  // namespace edgekiln::server
