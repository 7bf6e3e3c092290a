// What options fix: dimensions, inputs, external data.

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/testing/computed.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

TestModel Symbolic() {
  TestModel model;
  model.Input("x", {2, -1}).Output("y").Node("Relu", {"x"}, {"y"});
  return model;
}

TEST(OnnxBindTest, ADimensionIsBoundByItsSymbol) {
  TestModel model = Symbolic();
  EXPECT_EQ(Computed(model, {-1, 2, -3, 4}, {.binds = {{"N", 2}}}),
            (std::vector<float>{0, 2, 0, 4}));
  EXPECT_EQ(Computed(model, {-1, 2}, {.binds = {{"x:1", 1}}}),
            (std::vector<float>{0, 2}));
}

TEST(OnnxBindTest, WhatStaysOpenIsNamed) {
  TestModel model = Symbolic();
  const std::string message = ErrorOf(model);
  ExpectSays(message, "dimension 1 ('N')");
  ExpectSays(message, "--bind 'N=EXTENT'");
  ExpectSays(ErrorOf(model, {.binds = {{"N", 0}}}), "bound to 0");
}

TEST(OnnxBindTest, WhatBindsNothingIsRefused) {
  TestModel model = Symbolic();
  // A fixed dimension, an input that is not there, a name that is not.
  for (const char* name : {"x:0", "y:1", "M"}) {
    const std::string message =
        ErrorOf(model, {.binds = {{"N", 2}, {name, 2}}});
    ExpectSays(message, absl::StrCat("no graph input has an open dimension '",
                                     name, "'"));
    ExpectSays(message, "one of 'N'");
  }
  TestModel fixed;
  fixed.Input("x", {2}).Output("y").Node("Relu", {"x"}, {"y"});
  ExpectSays(ErrorOf(fixed, {.binds = {{"N", 2}}}), "is fixed");
}

std::string IntegersFile(std::vector<int64_t> values) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::INT64);
  proto.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) proto.add_int64_data(value);
  return proto.SerializeAsString();
}

TestModel Reshaping() {
  TestModel model;
  model.Input("x", {4})
      .TypedInput("shape", onnx::TensorProto::INT64, {2})
      .Output("y")
      .Node("Reshape", {"x", "shape"}, {"r"})
      .Node("Transpose", {"r"}, {"y"});
  return model;
}

TEST(OnnxBindInputTest, ABoundInputIsAConstant) {
  TestModel model = Reshaping();
  const std::string file = IntegersFile({2, 2});
  EXPECT_EQ(Computed(model, {1, 2, 3, 4}, {.bound_inputs = {{"shape", file}}}),
            (std::vector<float>{1, 3, 2, 4}));
}

TEST(OnnxBindInputTest, NumpyFilesAreRead) {
  TestModel model = Reshaping();
  const std::string header =
      "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
  std::string file = "\x93NUMPY\x01";
  file.push_back('\0');
  file.push_back(static_cast<char>(header.size() + 1));
  file.push_back('\0');
  file += header + "\n";
  for (const int64_t value : {1, 4}) {
    file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  EXPECT_EQ(Computed(model, {1, 2, 3, 4}, {.bound_inputs = {{"shape", file}}}),
            (std::vector<float>{1, 2, 3, 4}));
}

TEST(OnnxBindInputTest, ABindingMustFit) {
  TestModel model = Reshaping();
  const std::string three = IntegersFile({1, 2, 2});
  const std::string good = IntegersFile({2, 2});
  ExpectSays(ErrorOf(model, {.bound_inputs = {{"shape", three}}}),
             "not what the model declares");
  ExpectSays(ErrorOf(model, {.bound_inputs = {{"shape", three}}}), "INT64[2]");
  ExpectSays(ErrorOf(model, {.bound_inputs = {{"shape", "\xff\xff"}}}),
             "neither an .npy file nor");
  ExpectSays(
      ErrorOf(model, {.bound_inputs = {{"shape", good}, {"ghost", good}}}),
      "no such input");
  ExpectSays(ErrorOf(model, {.bound_inputs = {{"ghost", good}}}),
             "one of 'x', 'shape'");
}

// w = [1, 2] at byte 4 of weights.bin.
TestModel External(const std::string& offset, const std::string& length) {
  TestModel model;
  model.Input("x", {2}).Floats("w", {2}, {}).Output("y");
  model.Node("Add", {"x", "w"}, {"y"});
  onnx::TensorProto* w = model.proto().mutable_graph()->mutable_initializer(0);
  w->set_data_location(onnx::TensorProto::EXTERNAL);
  const auto set = [w](const std::string& key, const std::string& value) {
    onnx::StringStringEntryProto* entry = w->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  set("location", "weights.bin");
  set("offset", offset);
  set("length", length);
  return model;
}

TEST(OnnxExternalDataTest, IsReadFromTheFilesThatCame) {
  const std::vector<float> file = {9, 1, 2};
  TestModel model = External("4", "8");
  const ImportOptions options = {
      .external_files = {{"weights.bin", AsBytes(file)}}};
  EXPECT_EQ(Computed(model, {10, 20}, options), (std::vector<float>{11, 22}));
  ExpectSays(ErrorOf(model), "'weights.bin', which did not come");
}

// Not passed over in silence, as --bind and --bind-input are not.
TEST(OnnxExternalDataTest, AFileThatNoTensorNamesIsRefused) {
  const std::vector<float> file = {9, 1, 2};
  TestModel model = External("4", "8");
  const std::string message =
      ErrorOf(model, {.external_files = {{"weights.bin", AsBytes(file)},
                                         {"weight.bin", AsBytes(file)}}});
  ExpectSays(message,
             "no tensor of the model has its values in the file "
             "'weight.bin'");
  ExpectSays(message, "one of 'weights.bin'");
  TestModel whole;
  whole.Input("x", {1}).Output("y").Node("Neg", {"x"}, {"y"});
  ExpectSays(ErrorOf(whole, {.external_files = {{"w", AsBytes(file)}}}),
             "the model holds all of its values");
}

TEST(OnnxExternalDataTest, AFileOfABranchThatIsNotTakenIsNamed) {
  const std::vector<float> file = {9, 1, 2};
  TestModel other = External("4", "8");
  TestModel taken;
  taken.Output("y").Node("Neg", {"x"}, {"y"});
  TestModel model;
  model.Input("x", {1}).Output("y").Bytes("no", onnx::TensorProto::BOOL, {},
                                          {0});
  model.Node("If", {"no"}, {"y"})
      .Graph("then_branch", other)
      .Graph("else_branch", taken);
  EXPECT_EQ(Computed(model, {3},
                     {.external_files = {{"weights.bin", AsBytes(file)}}}),
            (std::vector<float>{-3}));
}

// A thousand tensors of one file: the same range costs nothing more, ranges of
// their own are refused.
TEST(OnnxExternalDataTest, WhatIsNamedAgainIsBounded) {
  const std::vector<float> file(1 << 10, 1.0f);
  for (const bool shifted : {false, true}) {
    TestModel model;
    model.Input("x", {1}).Output("y").Node("Neg", {"x"}, {"y"});
    for (int i = 0; i < 1000; ++i) {
      const std::string offset = std::to_string(shifted ? i : 0);
      TestModel one = External(offset, "8");
      auto* tensor = model.proto().mutable_graph()->add_initializer();
      *tensor = one.proto().graph().initializer(0);
      tensor->set_name("w" + std::to_string(i));
    }
    const ImportOptions options = {
        .external_files = {{"weights.bin", AsBytes(file).substr(0, 2048)}}};
    if (shifted) {
      ExpectSays(ErrorOf(model, options), "over and over");
    } else {
      EXPECT_EQ(Computed(model, {3}, options), (std::vector<float>{-3}));
    }
  }
}

TEST(OnnxExternalDataTest, OffsetsAndLengthsAreChecked) {
  const std::vector<float> file = {9, 1, 2};
  const ImportOptions options = {
      .external_files = {{"weights.bin", AsBytes(file)}}};
  for (const auto& [offset, length] :
       {std::pair("5", "8"), std::pair("4", "4"), std::pair("-4", "8"),
        std::pair("9223372036854775807", "8"), std::pair("x", "8")}) {
    TestModel model = External(offset, length);
    ExpectSays(ErrorOf(model, options), "tensor 'w'");
  }
}

}  // namespace
}  // namespace edgekiln::compiler
