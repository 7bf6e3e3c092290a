// LSTM and GRU, every attribute of theirs, against recurrent_reference.h.

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/testing/recurrent_reference.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler::onnx_import {

void PrintTo(const RecurrentCase& row, std::ostream* out) { *out << row.name; }

namespace {

TestModel ModelOf(const RecurrentCase& c, const Values& v, bool lstm) {
  const int64_t d = c.directions();
  const int64_t rows = (lstm ? 4 : 3) * kHidden;
  TestModel model(14);
  model
      .Input("x", c.batch_first ? std::vector<int64_t>{kBatch, kSteps, kInput}
                                : std::vector<int64_t>{kSteps, kBatch, kInput})
      .Floats("w", {d, rows, kInput}, v.w)
      .Floats("r", {d, rows, kHidden}, v.r)
      .Floats("b", {d, 2 * rows}, v.b)
      .Floats("p", {d, 3 * kHidden}, v.p)
      .Output("y")
      .Output("h");
  onnx::TensorProto* lengths = model.proto().mutable_graph()->add_initializer();
  lengths->set_name("lengths");
  lengths->set_data_type(onnx::TensorProto::INT32);
  lengths->add_dims(kBatch);
  for (const int32_t length : v.lengths) lengths->add_int32_data(length);
  const std::vector<int64_t> state =
      c.batch_first ? std::vector<int64_t>{kBatch, d, kHidden}
                    : std::vector<int64_t>{d, kBatch, kHidden};
  const auto laid = [&](const std::vector<float>& values) {
    return c.batch_first ? Turned(values, d, kBatch, kHidden) : values;
  };
  model.Floats("h0", state, laid(v.h0)).Floats("c0", state, laid(v.c0));
  const auto given = [](bool is, const char* name) {
    return is ? std::string(name) : std::string();
  };
  std::vector<std::string> inputs = {"x",
                                     "w",
                                     "r",
                                     given(c.bias, "b"),
                                     given(c.lengths, "lengths"),
                                     given(c.initial, "h0")};
  if (lstm) {
    inputs.push_back(given(c.initial, "c0"));
    inputs.push_back(given(c.peepholes, "p"));
    model.Output("c");
  }
  model.Node(lstm ? "LSTM" : "GRU", inputs,
             lstm ? std::vector<std::string>{"y", "h", "c"}
                  : std::vector<std::string>{"y", "h"});
  model.Int("hidden_size", kHidden).String("direction", c.direction);
  model.Int("layout", c.batch_first ? 1 : 0);
  model.Int(lstm ? "input_forget" : "linear_before_reset", c.flag ? 1 : 0);
  if (c.clip > 0) model.Float("clip", c.clip);
  if (c.functions.empty()) return model;
  std::vector<std::string> names;
  std::vector<float> alphas, betas;
  for (const Function& f : c.functions) {
    names.push_back(f.name);
    if (f.alpha) alphas.push_back(*f.alpha);
    if (f.beta) betas.push_back(*f.beta);
  }
  model.Strings("activations", names)
      .FloatList("activation_alpha", alphas)
      .FloatList("activation_beta", betas);
  return model;
}

void ExpectNear(const std::string& bytes, const std::vector<float>& want) {
  std::vector<float> got(bytes.size() / sizeof(float));
  std::memcpy(got.data(), bytes.data(), bytes.size());
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-5) << "element " << i;
  }
}

class OnnxRecurrentTest : public testing::TestWithParam<RecurrentCase> {
 protected:
  void ExpectFollowsTheStandard(bool lstm) {
    const RecurrentCase& c = GetParam();
    const Values v = RandomValues(c, lstm ? 4 : 3);
    const Expected want = Reference(c, v, lstm);
    absl::StatusOr<Graph> graph = ImportOnnx(ModelOf(c, v, lstm).bytes());
    ASSERT_TRUE(graph.ok()) << graph.status();
    const std::vector<float> x =
        c.batch_first ? Turned(v.x, kSteps, kBatch, kInput) : v.x;
    const absl::string_view bytes(reinterpret_cast<const char*>(x.data()),
                                  x.size() * sizeof(float));
    for (const bool simplified : {false, true}) {
      if (simplified) {
        ASSERT_TRUE(Simplify(*graph).ok());
      }
      const auto outputs = Evaluate(*graph, {bytes});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      ExpectNear((*outputs)[0], want.y);
      ExpectNear((*outputs)[1], want.h);
      if (lstm) ExpectNear((*outputs)[2], want.c);
    }
  }
};

using OnnxLstmTest = OnnxRecurrentTest;
using OnnxGruTest = OnnxRecurrentTest;

TEST_P(OnnxLstmTest, FollowsTheStandard) { ExpectFollowsTheStandard(true); }

TEST_P(OnnxGruTest, FollowsTheStandard) { ExpectFollowsTheStandard(false); }

INSTANTIATE_TEST_SUITE_P(
    All, OnnxLstmTest,
    testing::Values(
        RecurrentCase{.name = "plain"},
        RecurrentCase{.name = "no bias", .bias = false},
        RecurrentCase{.name = "everything at once",
                      .direction = "bidirectional",
                      .functions = {{"HardSigmoid", 0.3f, 0.4f},
                                    {"ScaledTanh", 1.2f, 0.7f},
                                    {"Affine", 0.5f, 0.25f},
                                    {"Sigmoid"},
                                    {"Elu", 0.6f},
                                    {"ThresholdedRelu", 0.1f}},
                      .lengths = true,
                      .initial = true,
                      .peepholes = true,
                      .batch_first = true,
                      .clip = 0.8f},
        RecurrentCase{.name = "default parameters",
                      .direction = "reverse",
                      .functions = {{"HardSigmoid"}, {"Elu"}, {"LeakyRelu"}},
                      .lengths = true,
                      .initial = true,
                      .flag = true},
        RecurrentCase{.name = "default parameters of the others",
                      .functions = {{"Affine"}, {"ThresholdedRelu"}, {"Relu"}},
                      .peepholes = true,
                      .clip = 2},
        RecurrentCase{.name = "soft functions",
                      .direction = "bidirectional",
                      .functions = {{"Softsign"},
                                    {"Softplus"},
                                    {"LeakyRelu", 0.3f},
                                    {"Affine", -0.5f, 0.1f},
                                    {"LeakyRelu", -0.2f},
                                    {"Tanh"}},
                      .initial = true,
                      .peepholes = true,
                      .flag = true}));

INSTANTIATE_TEST_SUITE_P(
    All, OnnxGruTest,
    testing::Values(RecurrentCase{.name = "plain"},
                    RecurrentCase{
                        .name = "no bias", .bias = false, .flag = true},
                    RecurrentCase{.name = "everything at once",
                                  .direction = "bidirectional",
                                  .functions = {{"HardSigmoid", 0.3f, 0.4f},
                                                {"ScaledTanh", 1.2f, 0.7f},
                                                {"Affine", 0.5f, 0.25f},
                                                {"ThresholdedRelu", 0.1f}},
                                  .lengths = true,
                                  .initial = true,
                                  .batch_first = true,
                                  .clip = 0.8f,
                                  .flag = true},
                    RecurrentCase{.name = "soft functions",
                                  .direction = "reverse",
                                  .functions = {{"Softsign"}, {"Softplus"}},
                                  .lengths = true,
                                  .initial = true},
                    RecurrentCase{.name = "one-sided functions",
                                  .direction = "bidirectional",
                                  .functions = {{"Sigmoid"},
                                                {"Elu", 0.6f},
                                                {"LeakyRelu", 0.3f},
                                                {"Relu"}},
                                  .clip = 0.5f}));

TEST(OnnxActivationsTest, ScaledTanhHasNoDefaults) {
  const RecurrentCase c = {
      .name = "", .functions = {{"Sigmoid"}, {"ScaledTanh", 1.0f}, {"Tanh"}}};
  const absl::StatusOr<Graph> graph =
      ImportOnnx(ModelOf(c, RandomValues(c, 4), true).bytes());
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("activation_beta"), std::string::npos)
      << graph.status();
}

TEST(OnnxActivationsTest, UnknownFunctionsAreNamed) {
  const RecurrentCase c = {.name = "",
                           .functions = {{"Sigmoid"}, {"Swish"}, {"Tanh"}}};
  const absl::StatusOr<Graph> graph =
      ImportOnnx(ModelOf(c, RandomValues(c, 4), true).bytes());
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("'Swish'"), std::string::npos)
      << graph.status();
}

}  // namespace
}  // namespace edgekiln::compiler::onnx_import
