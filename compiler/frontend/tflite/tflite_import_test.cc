#include "compiler/frontend/tflite/tflite_import.h"

#include <functional>
#include <string>

#include "base/error.h"
#include "compiler/frontend/tflite/converters.h"
#include "compiler/frontend/tflite/replacements.h"
#include "compiler/frontend/tflite/testing/test_model.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "tests/support/shared_data.h"

namespace edgekiln::compiler {
namespace {

using tflite::ActivationFunctionType;
using tflite::BuiltinOperator;
using tflite::BuiltinOptions;
using tflite::TensorType;

TEST(ImportTfliteTest, ReadsEveryPartOfASmallModel) {
  const absl::StatusOr<Graph> graph = ImportTflite(SmallInt8Model());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(PrintGraph(*graph), R"(graph "main"
%x : int8[1,5,5,1] scale 0.5 zero -1 = input
%net/conv/w : int8[2,2,2,1] axis 0 scale [0.5, 0.25] zero [0, 0] = constant [1, 2, 3, 4, 5, 6, 7, 8]
%net/conv/b : int32[2] axis 0 scale [0.25, 0.125] zero [0, 0] = constant [1, -1]
%net/conv/Relu6;net/conv/BiasAdd : int8[1,3,3,2] scale 0.5 zero 3 = conv2d(%x, %net/conv/w, %net/conv/b) {window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1 pad_bottom 1 pad_right 1} clamp {min 0 max 6}} id conv.relu6 name "net/conv/Relu6;net/conv/BiasAdd"
%dw/w : int8[1,2,2,4] scale 0.5 zero 0 = constant [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
%dw : int8[1,2,2,4] scale 1 zero 0 = depthwise_conv2d(%net/conv/Relu6;net/conv/BiasAdd, %dw/w, _) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1} depth_multiplier 2} id dw name "dw"
%sum : int8[1,2,2,4] scale 2 zero 0 = add(%dw, %dw) id sum name "sum"
%pool : int8[1,1,1,4] scale 2 zero 0 = average_pool2d(%sum) {kernel_h 2 kernel_w 2 window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1}} id pool name "pool"
%flat : int8[1,4] scale 2 zero 0 = reshape(%pool) id flat name "flat"
%fw : int8[3,4] scale 0.5 zero 0 = constant [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
%logits : int8[1,3] scale 1 zero 0 = fully_connected(%flat, %fw, _) id logits name "logits"
%Identity : int8[1,3] scale 0.00390625 zero -128 = softmax(%logits) {beta 1 axis 1} id identity name "Identity"
return %Identity
)");
}

// A row of an operator that has a converter by now would never be read.
TEST(ImportTfliteTest, NoAdviceForWhatIsSupported) {
  for (const BuiltinOperator code : tflite_import::ConvertibleOperators()) {
    const std::string name = tflite::EnumNameBuiltinOperator(code);
    EXPECT_EQ(tflite_import::FindReplacement(name, false), "") << name;
  }
}

TEST(ImportTfliteTest, NeedsNoAlignment) {
  const std::string shifted = "???" + SmallInt8Model();
  const auto graph = ImportTflite(absl::string_view(shifted).substr(3));
  EXPECT_TRUE(graph.ok()) << graph.status();
}

// A model of one op: x (float, 1x4x4x1) -> y (float, 1x4x4x1).
std::string OneOp(const std::function<void(TestModel&, int32_t, int32_t)>& add,
                  uint32_t version = 3, int subgraphs = 1) {
  TestModel m;
  const int32_t x = m.Tensor("x", {1, 4, 4, 1}, TensorType::FLOAT32);
  const int32_t y = m.Tensor("y", {1, 4, 4, 1}, TensorType::FLOAT32);
  add(m, x, y);
  for (int i = 0; i < subgraphs; ++i) m.AddSubgraph({x}, {y});
  return m.Finish(version);
}

std::string Plain(BuiltinOperator code, const char* custom = nullptr) {
  return OneOp([&](TestModel& m, int32_t x, int32_t y) {
    m.Operator(code, {x}, {y}, BuiltinOptions::NONE, 0, custom);
  });
}

// A convolution whose weights have the given type and shape.
std::string Convolution(
    TensorType weights, const std::vector<int32_t>& shape, size_t bytes,
    int32_t stride = 1,
    ActivationFunctionType activation = ActivationFunctionType::NONE) {
  return OneOp([&](TestModel& m, int32_t x, int32_t y) {
    const int32_t w = m.Tensor("w", shape, weights, {1.0f}, {0},
                               std::vector<uint8_t>(bytes, 0));
    m.Operator(BuiltinOperator::CONV_2D, {x, w}, {y},
               BuiltinOptions::Conv2DOptions,
               tflite::CreateConv2DOptions(m.builder(), tflite::Padding::SAME,
                                           stride, stride, activation)
                   .Union());
  });
}

struct RefusedCase {
  const char* name;
  std::string model;
  std::vector<const char*> message;  // All of these.
};

TEST(ImportTfliteTest, RefusalsNameOpLimitAndFix) {
  const auto none = [](TestModel&, int32_t, int32_t) {};
  const RefusedCase cases[] = {
      {"empty file", "", {"not a well-formed", "file of 0 bytes: shorter"}},
      {"other file",
       "hello, this is not a model at all",
       {"not a well-formed", "file of 33 bytes: identifier"}},
      {"root offset",
       std::string("\xff\0\0\0TFL3....", 12),
       {"not a well-formed", "file of 12 bytes: root offset 255"}},
      {"cut off",
       SmallInt8Model().substr(0, 100),
       {"not a well-formed", "file of 100 bytes: "}},
      {"unknown ops",
       Plain(BuiltinOperator::LSTM),
       {"LSTM: operator is not supported", "where: op 0 (LSTM)",
        "fix: LSTM: use UNIDIRECTIONAL_SEQUENCE_LSTM"}},
      {"new op",
       Plain(static_cast<BuiltinOperator>(250)),
       {"builtin 250: operator", "where: op 0 (builtin 250)"}},
      {"custom op",
       Plain(BuiltinOperator::CUSTOM, "Frob\n"),
       {"custom op Frob?: operator is not supported", "fix:"}},
      {"version", OneOp(none, 2), {"schema version 2", "limit: version 3"}},
      {"subgraphs", OneOp(none, 3, 2), {"2 subgraphs"}},
      {"no op", OneOp(none), {"used before it is defined", "'y'"}},
      {"element type",
       Convolution(TensorType::COMPLEX64, {1, 1, 1, 1}, 8),
       {"COMPLEX64", "tensor 2 'w'"}},
      {"constant size",
       Convolution(TensorType::FLOAT32, {1, 1, 1, 1}, 3),
       {"constant of 3 bytes", "need: 4 bytes"}},
      {"groups",
       Convolution(TensorType::FLOAT32, {2, 1, 1, 2}, 16),
       {"grouped convolution"}},
      {"stride",
       Convolution(TensorType::FLOAT32, {1, 1, 1, 1}, 4, 0),
       {"stride or dilation 0"}},
      {"activation",
       Convolution(TensorType::FLOAT32, {1, 1, 1, 1}, 4, 1,
                   ActivationFunctionType::SIGN_BIT),
       {"fused activation SIGN_BIT", "fix:"}},
      {"dynamic shape",
       Convolution(TensorType::FLOAT32, {1, -1, 1, 1}, 4),
       {"no fixed extent"}},
      {"output shape",
       Convolution(TensorType::FLOAT32, {3, 1, 1, 1}, 12),
       {"output 'y' has shape [1,4,4,1]", "[1,4,4,3]"}},
      {"missing options",
       Plain(BuiltinOperator::CONV_2D),
       {"no Conv2DOptions"}},
      {"tensor index",
       OneOp([](TestModel& m, int32_t x, int32_t y) {
         m.Operator(BuiltinOperator::ADD, {x, 77}, {y});
       }),
       {"tensor index 77", "op 0 (ADD)"}},
  };
  for (const RefusedCase& c : cases) {
    const absl::StatusOr<Graph> graph = ImportTflite(c.model);
    ASSERT_FALSE(graph.ok()) << c.name;
    EXPECT_TRUE(GetErrorDetail(graph.status()).has_value()) << c.name;
    for (const char* part : c.message) {
      EXPECT_NE(std::string(graph.status().message()).find(part),
                std::string::npos)
          << c.name << ": " << graph.status();
    }
  }
}

TEST(ImportTfliteTest, TruncatedFilesAreRefused) {
  const std::string model = SmallInt8Model();
  for (size_t size = 0; size < model.size(); ++size) {
    // A copy of exactly this size, so that a sanitizer sees a byte too many.
    const std::string cut = model.substr(0, size);
    const absl::StatusOr<Graph> graph = ImportTflite(cut);
    if (graph.ok()) {
      EXPECT_TRUE(VerifyGraph(*graph).ok());
    } else {
      EXPECT_TRUE(GetErrorDetail(graph.status()).has_value());
    }
  }
}

TEST(ImportTfliteTest, FlippedBitsNeverCrash) {
  const std::string model = SmallInt8Model();
  int refused = 0;
  for (size_t bit = 0; bit < model.size() * 8; ++bit) {
    std::string damaged = model;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const absl::StatusOr<Graph> graph = ImportTflite(damaged);
    if (graph.ok()) {
      EXPECT_TRUE(VerifyGraph(*graph).ok());
    } else {
      ++refused;
    }
  }
  // Damage to structure is found; damage to values cannot be.
  EXPECT_GT(refused, static_cast<int>(model.size()));
}

// Many tensors that point to the same bytes: a small file, a huge model.
TEST(ImportTfliteTest, SharedPartsCannotMultiply) {
  flatbuffers::FlatBufferBuilder builder;
  const auto shape = builder.CreateVector(std::vector<int32_t>{1});
  const auto name = builder.CreateString(std::string(1000, 'n'));
  const auto tensor =
      tflite::CreateTensor(builder, shape, TensorType::FLOAT32, 0, name);
  const std::vector<flatbuffers::Offset<tflite::Tensor>> tensors(60000, tensor);
  const auto list = builder.CreateVector(tensors);
  std::vector<int32_t> indices(1000);
  for (int i = 0; i < 1000; ++i) indices[i] = i;
  const auto operands = builder.CreateVector(indices);
  std::vector<flatbuffers::Offset<tflite::Operator>> operators;
  const auto code = tflite::CreateOperatorCodeDirect(builder, 0, nullptr, 1,
                                                     BuiltinOperator::ADD);
  operators.push_back(tflite::CreateOperator(builder, 0, operands, operands));
  const auto subgraph = tflite::CreateSubGraph(
      builder, list, operands, operands, builder.CreateVector(operators));
  const auto model =
      tflite::CreateModel(builder, 3, builder.CreateVector(&code, 1),
                          builder.CreateVector(&subgraph, 1));
  tflite::FinishModelBuffer(builder, model);
  const std::string bytes(
      reinterpret_cast<const char*>(builder.GetBufferPointer()),
      builder.GetSize());
  EXPECT_FALSE(ImportTflite(bytes).ok());
}

struct SharedCase {
  const char* file;
  std::vector<const char*> message;
};

TEST(ImportTfliteTest, PublishedModelsThatMustBeRefused) {
  const SharedCase cases[] = {
      {"models/reject/custom_op.tflite",
       {"custom op Complex", "custom op Imag", "where: op ", "fix:"}},
  };
  for (const SharedCase& c : cases) {
    EK_REQUIRE_SHARED(c.file);
    const auto graph =
        ImportTflite(tests::ReadWholeFile(tests::SharedPath(c.file)));
    ASSERT_EQ(graph.status().code(), absl::StatusCode::kUnimplemented);
    for (const char* part : c.message) {
      EXPECT_NE(std::string(graph.status().message()).find(part),
                std::string::npos)
          << graph.status();
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
