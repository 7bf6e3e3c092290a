// Networks that keep something from one inference to the next, on every chip
// against the interpreter.

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "compiler/ir/text.h"
#include "edgekiln/v1/program.pb.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

// With %x, an int8 input of four elements, in front of its states.
struct StatefulGraph {
  const char* name;
  const char* graph;
};

void PrintTo(const StatefulGraph& row, std::ostream* out) { *out << row.name; }

// Everything fits.
constexpr int64_t kScratchpadBytes = 512 << 10;
constexpr int kSamples = 6;

std::vector<std::string> Samples() {
  Rng rng(1);
  std::vector<std::string> samples(kSamples);
  for (std::string& sample : samples) {
    for (int i = 0; i < 4; ++i) {
      sample.push_back(static_cast<char>(rng.InRange(0, 0xff)));
    }
  }
  return samples;
}

class StatesTest : public testing::TestWithParam<
                       std::tuple<const ChipCase*, StatefulGraph>> {
 protected:
  StatesTest()
      : target_(std::get<0>(GetParam())->target(kScratchpadBytes)),
        graph_(compiler::ParseGraph(std::get<1>(GetParam()).graph)) {}

  std::unique_ptr<simfarm::Session> Load() const {
    const auto compiled = CompileQuantized(*graph_, target_);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    if (!compiled.ok()) return nullptr;
    EXPECT_EQ(compiled->program.carries_size(),
              static_cast<int>(graph_->states.size()));
    auto session =
        simfarm::LoadSession(compiled->program, compiled->constants,
                             target_.machine(), simfarm::SessionOptions());
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  // Outputs of a sample that begins with what the session carries.
  std::vector<std::string> Run(simfarm::Session& session,
                               const std::string& sample) const {
    std::vector<absl::string_view> inputs(graph_->inputs.size());
    inputs[0] = sample;
    std::vector<std::string> outputs;
    const absl::Status status = session.Run(inputs, nullptr, &outputs);
    EXPECT_TRUE(status.ok()) << status;
    return outputs;
  }

  const v1::ResolvedTarget target_;
  const absl::StatusOr<compiler::Graph> graph_;
};

TEST_P(StatesTest, AreCarriedAsTheReferenceDoes) {
  ASSERT_TRUE(graph_.ok()) << graph_.status();
  ExpectBitExact(*graph_, target_, Samples());
}

TEST_P(StatesTest, BeginAsZeroInEverySequence) {
  ASSERT_TRUE(graph_.ok()) << graph_.status();
  const std::unique_ptr<simfarm::Session> session = Load();
  ASSERT_NE(session, nullptr);
  const std::vector<std::string> samples = Samples();
  std::vector<std::vector<std::string>> sequence;
  for (const std::string& sample : samples) {
    sequence.push_back(Run(*session, sample));
  }
  const std::unique_ptr<simfarm::Session> clone = session->Clone();
  EXPECT_EQ(Run(*clone, samples[0]), sequence[0]);
  ASSERT_TRUE(session->SetStates({}).ok());
  EXPECT_EQ(Run(*session, samples[0]), sequence[0]);
  // Which is not what later samples begin with.
  ASSERT_TRUE(session->SetStates({}).ok());
  EXPECT_NE(Run(*session, samples[2]), sequence[2]);
  // From anywhere in the middle.
  ASSERT_TRUE(session->SetStates(clone->states()).ok());
  EXPECT_EQ(Run(*session, samples[1]), sequence[1]);
}

const StatefulGraph kGraphs[] = {
    {"Recurrent", R"(
%x : int8[1,4] scale 0.5 zero 3 = input
%h : int8[1,4] scale 0.5 zero 3 = input
%c : int8[1,8] scale 0.5 zero 3 = concat(%x, %h) {axis 1} id c
%w : int8[4,8] scale 0.0625 zero 0 = constant [9, -3, 4, 7, 1, -2, 8, -4, 5, -6, 7, -8, 9, 1, 2, 3, -7, 6, 5, -1, 8, 2, -9, 4, 3, 3, -5, 6, -2, 7, 1, 9]
%n : int8[1,4] scale 0.5 zero 3 = fully_connected(%c, %w) id n
%y : int8[1,4] scale 0.5 zero -1 = unary(%n) {function TANH} id y
return %y, %n states %h = %n
)"},
    // What a streaming convolution does: the rows before the sample's own are
    // those of the samples before.
    {"StreamingConvolution", R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%h : int8[1,2,1,4] scale 0.5 zero 3 = input
%c : int8[1,3,1,4] scale 0.5 zero 3 = concat(%h, %x) {axis 1} id c
%w : int8[3,3,1,4] scale 0.125 zero 0 = constant [9, -3, 4, 7, 1, -2, 8, -4, 5, -6, 7, -8, 9, 1, 2, 3, -7, 6, 5, -1, 8, 2, -9, 4, 3, 3, -5, 6, -2, 7, 1, 9, 4, -4, 6, 2]
%b : int32[3] = constant [100, -200, 300]
%y : int8[1,1,1,3] scale 1 zero 0 = conv2d(%c, %w, %b) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0}} id y
%n : int8[1,2,1,4] scale 0.5 zero 3 = slice(%c) {begin [0, 1, 0, 0] extent [1, 2, 1, 4] stride [1, 1, 1, 1]} id n
return %y, %n states %h = %n
)"},
    // The engine reads the state itself and leaves the next one.
    {"SumOnTheEngine", R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%h : int8[1,1,1,4] scale 0.5 zero 3 = input
%n : int8[1,1,1,4] scale 0.5 zero 3 = add(%x, %h) id n
return %n states %h = %n
)"},
    // The next state is in the memory of the input: it must be read before
    // anything is written there. The second is the first of the sample before.
    {"DelayOfInputs", R"(
%x : int8[1,1,1,4] scale 0.5 zero 3 = input
%h : int8[4] scale 0.5 zero 3 = input
%g : int8[1,1,1,4] scale 0.5 zero 3 = input
%a : int8[1,1,1,4] scale 0.5 zero 3 = reshape(%h) id a
%b : int8[1,1,1,4] scale 1 zero 3 = add(%x, %a) id b
%y : int8[1,1,1,4] scale 1 zero 3 = add(%b, %g) id y
%n : int8[4] scale 0.5 zero 3 = reshape(%x) id n
return %y, %n, %a states %h = %n, %g = %a
)"},
};

INSTANTIATE_TEST_SUITE_P(All, StatesTest,
                         testing::Combine(testing::ValuesIn(AllChips()),
                                          testing::ValuesIn(kGraphs)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param)->name,
                                               "_",
                                               std::get<1>(info.param).name);
                         });

}  // namespace
}  // namespace edgekiln::tests
