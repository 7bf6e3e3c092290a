#include "compiler/frontend/tflite/testing/model_mutator.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "compiler/frontend/tflite/schema_generated.h"

namespace edgekiln::compiler {
namespace {

// A number of the file, where it stands.
struct Number {
  uint8_t* at = nullptr;
  int bytes = 0;
  bool real = false;
};

class Numbers {
 public:
  explicit Numbers(const tflite::Model& model) {
    if (model.operator_codes() != nullptr) {
      for (const auto* code : *model.operator_codes()) {
        Field(*code, tflite::OperatorCode::VT_DEPRECATED_BUILTIN_CODE, 1);
        Field(*code, tflite::OperatorCode::VT_BUILTIN_CODE, 4);
        Field(*code, tflite::OperatorCode::VT_VERSION, 4);
        if (code->custom_code() != nullptr) Text(*code->custom_code());
      }
    }
    if (model.subgraphs() == nullptr) return;
    for (const auto* subgraph : *model.subgraphs()) Subgraph(*subgraph);
  }

  const std::vector<Number>& all() const { return all_; }

 private:
  void Subgraph(const tflite::SubGraph& subgraph) {
    List(subgraph.inputs());
    List(subgraph.outputs());
    if (subgraph.name() != nullptr) Text(*subgraph.name());
    if (subgraph.tensors() != nullptr) {
      for (const auto* tensor : *subgraph.tensors()) Tensor(*tensor);
    }
    if (subgraph.operators() == nullptr) return;
    for (const auto* op : *subgraph.operators()) {
      Field(*op, tflite::Operator::VT_OPCODE_INDEX, 4);
      Field(*op, tflite::Operator::VT_BUILTIN_OPTIONS_TYPE, 1);
      List(op->inputs());
      List(op->outputs());
      Options(static_cast<const flatbuffers::Table*>(op->builtin_options()));
    }
  }

  void Tensor(const tflite::Tensor& tensor) {
    List(tensor.shape());
    List(tensor.shape_signature());
    Field(tensor, tflite::Tensor::VT_TYPE, 1);
    Field(tensor, tflite::Tensor::VT_BUFFER, 4);
    Field(tensor, tflite::Tensor::VT_IS_VARIABLE, 1);
    if (tensor.name() != nullptr) Text(*tensor.name());
    const auto* quantization = tensor.quantization();
    if (quantization == nullptr) return;
    List(quantization->scale(), /*real=*/true);
    List(quantization->zero_point());
    Field(*quantization, tflite::QuantizationParameters::VT_QUANTIZED_DIMENSION,
          4);
  }

  // All options are tables, of numbers but for few. Which of a table's fields
  // are there, and where, its vtable says.
  void Options(const flatbuffers::Table* options) {
    if (options == nullptr) return;
    for (flatbuffers::voffset_t field = 4; field < 4 + 2 * 16; field += 2) {
      Field(*options, field, 1);
    }
  }

  void Field(const flatbuffers::Table& table, flatbuffers::voffset_t field,
             int bytes) {
    const flatbuffers::voffset_t offset = table.GetOptionalFieldOffset(field);
    if (offset == 0) return;
    const auto* start = reinterpret_cast<const uint8_t*>(&table);
    Add(start + offset, bytes, false);
  }
  // Generated tables inherit in private.
  template <typename Table>
  void Field(const Table& table, flatbuffers::voffset_t field, int bytes) {
    Field(*reinterpret_cast<const flatbuffers::Table*>(&table), field, bytes);
  }

  template <typename T>
  void List(const flatbuffers::Vector<T>* list, bool real = false) {
    if (list == nullptr) return;
    for (uint32_t i = 0; i < std::min<uint32_t>(list->size(), 8); ++i) {
      Add(list->Data() + i * sizeof(T), sizeof(T), real);
    }
  }

  void Text(const flatbuffers::String& text) {
    if (text.size() > 0) Add(text.Data(), 1, false);
  }

  void Add(const uint8_t* at, int bytes, bool real) {
    all_.push_back({const_cast<uint8_t*>(at), bytes, real});
  }

  std::vector<Number> all_;
};

// What shapes, indices and counts are likely to trip over.
void Change(Rng& rng, const Number& number) {
  if (number.real) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kReals[] = {0.0f,      -1.0f,      1e-30f, 3e38f, 0.5f,
                                kInfinity, -kInfinity, 1.0f,   1e9f};
    const float value = kReals[rng.Below(std::size(kReals))];
    std::memcpy(number.at, &value, sizeof(value));
    return;
  }
  constexpr int64_t kWhole[] = {-(int64_t{1} << 31),
                                (int64_t{1} << 31) - 1,
                                65536,
                                1000,
                                255,
                                128,
                                127,
                                -128};
  const int64_t value = rng.Below(6) == 0 ? kWhole[rng.Below(std::size(kWhole))]
                                          : rng.InRange(-2, 16);
  std::memcpy(number.at, &value, static_cast<size_t>(number.bytes));
}

}  // namespace

void MutateTflite(Rng& rng, std::string& model) {
  // Flatbuffers are read in place and want an alignment of their own.
  const auto copy = std::make_unique<uint64_t[]>(model.size() / 8 + 1);
  std::memcpy(copy.get(), model.data(), model.size());
  const Numbers numbers(*tflite::GetModel(copy.get()));
  if (numbers.all().empty()) return;
  for (int64_t i = rng.InRange(1, 3); i > 0; --i) {
    Change(rng, numbers.all()[rng.Below(numbers.all().size())]);
  }
  std::memcpy(model.data(), copy.get(), model.size());
}

}  // namespace edgekiln::compiler
