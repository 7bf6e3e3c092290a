#ifndef EK_COMPILER_FRONTEND_TFLITE_TESTING_TEST_MODEL_H_
#define EK_COMPILER_FRONTEND_TFLITE_TESTING_TEST_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/tflite/schema_generated.h"

// Writes small TensorFlow Lite files for tests.
namespace edgekiln::compiler {

class TestModel {
 public:
  TestModel() { buffers_.push_back(tflite::CreateBuffer(builder_)); }

  // What few tensors have.
  struct Rare {
    bool variable = false;
    std::vector<int32_t> signature = {};
    flatbuffers::Offset<tflite::SparsityParameters> sparsity = {};
  };

  // Index of a new tensor. `data` is empty for activations; scales and zero
  // points as in the file.
  int32_t Tensor(const std::string& name, const std::vector<int32_t>& shape,
                 tflite::TensorType type, const std::vector<float>& scale = {},
                 const std::vector<int64_t>& zero_point = {},
                 const std::vector<uint8_t>& data = {}, int32_t axis = 0) {
    return Tensor(name, shape, type, scale, zero_point, data, axis, Rare{});
  }
  int32_t Tensor(const std::string& name, const std::vector<int32_t>& shape,
                 tflite::TensorType type, const std::vector<float>& scale,
                 const std::vector<int64_t>& zero_point,
                 const std::vector<uint8_t>& data, int32_t axis,
                 const Rare& rare) {
    uint32_t buffer = 0;
    if (!data.empty()) {
      buffer = static_cast<uint32_t>(buffers_.size());
      buffers_.push_back(tflite::CreateBufferDirect(builder_, &data));
    }
    flatbuffers::Offset<tflite::QuantizationParameters> quantization;
    if (!scale.empty()) {
      quantization = tflite::CreateQuantizationParametersDirect(
          builder_, nullptr, nullptr, &scale, &zero_point,
          tflite::QuantizationDetails::NONE, 0, axis);
    }
    tensors_.push_back(tflite::CreateTensorDirect(
        builder_, &shape, type, buffer, name.c_str(), quantization,
        rare.variable, rare.sparsity,
        rare.signature.empty() ? nullptr : &rare.signature));
    return static_cast<int32_t>(tensors_.size()) - 1;
  }

  // A constant of INT32.
  int32_t Ints(const std::string& name, const std::vector<int32_t>& values,
               bool scalar = false) {
    std::vector<uint8_t> data(values.size() * sizeof(int32_t));
    std::memcpy(data.data(), values.data(), data.size());
    std::vector<int32_t> shape;
    if (!scalar) shape = {static_cast<int32_t>(values.size())};
    return Tensor(name, shape, tflite::TensorType::INT32, {}, {}, data);
  }

  void Operator(tflite::BuiltinOperator code,
                const std::vector<int32_t>& inputs,
                const std::vector<int32_t>& outputs,
                tflite::BuiltinOptions type = tflite::BuiltinOptions::NONE,
                flatbuffers::Offset<void> options = 0,
                const char* custom_code = nullptr) {
    const int8_t old =
        static_cast<int8_t>(std::min(static_cast<int32_t>(code), 127));
    codes_.push_back(
        tflite::CreateOperatorCodeDirect(builder_, old, custom_code, 1, code));
    operators_.push_back(tflite::CreateOperatorDirect(
        builder_, static_cast<uint32_t>(codes_.size()) - 1, &inputs, &outputs,
        type, options));
  }

  void AddSubgraph(const std::vector<int32_t>& inputs,
                   const std::vector<int32_t>& outputs) {
    subgraphs_.push_back(tflite::CreateSubGraphDirect(
        builder_, &tensors_, &inputs, &outputs, &operators_, "main"));
  }

  std::string Finish(uint32_t version = 3) {
    tflite::FinishModelBuffer(
        builder_, tflite::CreateModelDirect(builder_, version, &codes_,
                                            &subgraphs_, "test", &buffers_));
    return std::string(
        reinterpret_cast<const char*>(builder_.GetBufferPointer()),
        builder_.GetSize());
  }

  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tflite::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tflite::Operator>> operators_;
  std::vector<flatbuffers::Offset<tflite::SubGraph>> subgraphs_;
};

// An int8 network of every part the reader knows: SAME convolution with scales
// per channel, depthwise convolution, add, pool, reshape, fully connected
// without bias, softmax.
std::string SmallInt8Model();

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_TFLITE_TESTING_TEST_MODEL_H_
