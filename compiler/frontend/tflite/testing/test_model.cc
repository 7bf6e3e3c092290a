#include "compiler/frontend/tflite/testing/test_model.h"

namespace edgekiln::compiler {

using tflite::ActivationFunctionType;
using tflite::BuiltinOperator;
using tflite::BuiltinOptions;
using tflite::Padding;
using tflite::TensorType;

std::string SmallInt8Model() {
  TestModel m;
  const auto i8 = TensorType::INT8;
  const int32_t x = m.Tensor("x", {1, 5, 5, 1}, i8, {0.5f}, {-1});
  const int32_t w = m.Tensor("net/conv/w", {2, 2, 2, 1}, i8, {0.5f, 0.25f},
                             {0, 0}, {1, 2, 3, 4, 5, 6, 7, 8}, 0);
  const int32_t b =
      m.Tensor("net/conv/b", {2}, TensorType::INT32, {0.25f, 0.125f}, {0, 0},
               {1, 0, 0, 0, 255, 255, 255, 255}, 0);
  const int32_t h = m.Tensor("net/conv/Relu6;net/conv/BiasAdd", {1, 3, 3, 2},
                             i8, {0.5f}, {3});
  m.Operator(BuiltinOperator::CONV_2D, {x, w, b}, {h},
             BuiltinOptions::Conv2DOptions,
             tflite::CreateConv2DOptions(m.builder(), Padding::SAME, 2, 2,
                                         ActivationFunctionType::RELU6)
                 .Union());
  const int32_t dw = m.Tensor("dw/w", {1, 2, 2, 4}, i8, {0.5f}, {0},
                              std::vector<uint8_t>(16, 2));
  const int32_t d = m.Tensor("dw", {1, 2, 2, 4}, i8, {1.0f}, {0});
  m.Operator(
      BuiltinOperator::DEPTHWISE_CONV_2D, {h, dw, -1}, {d},
      BuiltinOptions::DepthwiseConv2DOptions,
      tflite::CreateDepthwiseConv2DOptions(m.builder(), Padding::VALID, 1, 1, 2)
          .Union());
  const int32_t sum = m.Tensor("sum", {1, 2, 2, 4}, i8, {2.0f}, {0});
  m.Operator(BuiltinOperator::ADD, {d, d}, {sum}, BuiltinOptions::AddOptions,
             tflite::CreateAddOptions(m.builder()).Union());
  const int32_t pool = m.Tensor("pool", {1, 1, 1, 4}, i8, {2.0f}, {0});
  m.Operator(
      BuiltinOperator::AVERAGE_POOL_2D, {sum}, {pool},
      BuiltinOptions::Pool2DOptions,
      tflite::CreatePool2DOptions(m.builder(), Padding::VALID, 2, 2, 2, 2)
          .Union());
  const int32_t shape = m.Tensor("shape", {2}, TensorType::INT32, {}, {},
                                 {1, 0, 0, 0, 4, 0, 0, 0});
  const int32_t flat = m.Tensor("flat", {1, 4}, i8, {2.0f}, {0});
  m.Operator(BuiltinOperator::RESHAPE, {pool, shape}, {flat});
  const int32_t fw = m.Tensor("fw", {3, 4}, i8, {0.5f}, {0},
                              {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const int32_t logits = m.Tensor("logits", {1, 3}, i8, {1.0f}, {0});
  m.Operator(BuiltinOperator::FULLY_CONNECTED, {flat, fw, -1}, {logits},
             BuiltinOptions::FullyConnectedOptions,
             tflite::CreateFullyConnectedOptions(m.builder()).Union());
  const int32_t y = m.Tensor("Identity", {1, 3}, i8, {1.0f / 256}, {-128});
  m.Operator(BuiltinOperator::SOFTMAX, {logits}, {y},
             BuiltinOptions::SoftmaxOptions,
             tflite::CreateSoftmaxOptions(m.builder(), 1.0f).Union());
  m.AddSubgraph({x}, {y});
  return m.Finish();
}

}  // namespace edgekiln::compiler
