#include "compiler/frontend/tflite/tflite_import.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/conversion.h"
#include "compiler/frontend/tflite/converters.h"
#include "compiler/frontend/tflite/graph_builder.h"
#include "compiler/frontend/tflite/model_reader.h"
#include "compiler/frontend/tflite/replacements.h"
#include "compiler/frontend/unsupported_operators.h"

namespace edgekiln::compiler {
namespace {

using tflite_import::Conversion;
using tflite_import::ConverterOf;
using tflite_import::GraphBuilder;

// All unsupported ops at once: fixing them one error at a time is a nuisance.
absl::Status CheckOperators(const TfliteModelReader& reader) {
  UnsupportedOperators refused;
  for (int64_t i = 0; i < reader.num_operators(); ++i) {
    const tflite::Operator& op = reader.op(i);
    EK_ASSIGN_OR_RETURN(const tflite::BuiltinOperator code,
                        reader.OperatorCodeOf(op));
    if (ConverterOf(code) != nullptr) continue;
    const bool custom = code == tflite::BuiltinOperator::CUSTOM;
    const std::string name = reader.NameOf(op);
    refused.Add(
        absl::StrCat(custom ? "custom op " : "", name),
        [&] { return OperatorPlace(static_cast<size_t>(i), name); },
        [&] {
          return std::string(tflite_import::FindReplacement(name, custom));
        });
  }
  if (refused.empty()) return absl::OkStatus();
  return TfliteUnsupported(
      refused.What("op"), refused.Where("op"),
      "the built-in ops of docs/tflite_coverage.md; no custom ops",
      refused.Fix("export the model without these ops"));
}

absl::Status ImportOperator(int64_t index, GraphBuilder& builder) {
  const TfliteModelReader& reader = builder.reader();
  const tflite::Operator& from = reader.op(index);
  std::string place = OperatorPlace(index, reader.NameOf(from));
  EK_ASSIGN_OR_RETURN(const tflite::BuiltinOperator code,
                      reader.OperatorCodeOf(from));
  EK_ASSIGN_OR_RETURN(std::vector<TensorId> inputs,
                      builder.Operands(from.inputs()), place);
  EK_ASSIGN_OR_RETURN(std::vector<TensorId> outputs,
                      builder.Operands(from.outputs()), place);
  if (outputs.empty()) return TfliteBroken("no outputs", place, "1 output");
  for (const TensorId id : outputs) {
    if (id == kNoTensor) return TfliteBroken("absent output", place);
  }
  absl::StrAppend(&place, ", output '",
                  SanitizeText(builder.tensor(outputs[0]).name, 80), "'");
  Conversion conversion(from, code, std::move(inputs), outputs,
                        absl::StrCat(index), builder);
  EK_RETURN_IF_ERROR(ConverterOf(code)(conversion), place);
  for (const TensorId id : outputs) {
    if (builder.IsDefined(id)) continue;
    return TfliteBroken(absl::StrCat(outputs.size(), " outputs"), place,
                        "as many as the operator gives");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Graph> ImportTflite(absl::string_view bytes) {
  // The format is read in place and wants its own alignment.
  constexpr uintptr_t kAlignment = 16;
  std::unique_ptr<char[]> copy;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) {
    copy.reset(new char[bytes.size()]);  // operator new aligns to 16.
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    bytes = absl::string_view(copy.get(), bytes.size());
  }
  EK_ASSIGN_OR_RETURN(TfliteModelReader reader, TfliteModelReader::Open(bytes));
  EK_RETURN_IF_ERROR(CheckOperators(reader));
  const int64_t operators = reader.num_operators();
  GraphBuilder builder(std::move(reader));
  EK_RETURN_IF_ERROR(builder.AddInputs());
  for (int64_t i = 0; i < operators; ++i) {
    EK_RETURN_IF_ERROR(ImportOperator(i, builder));
  }
  EK_RETURN_IF_ERROR(builder.AddOutputs());
  return builder.Finish();
}

}  // namespace edgekiln::compiler
