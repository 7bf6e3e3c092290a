#include "compiler/export/export_losses.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "compiler/passes/integer_rounding.h"

namespace edgekiln::compiler {
namespace {

constexpr size_t kNamed = 4;

bool ComesBackFloat(const Graph& graph, const Op& op) {
  if (!op.attributes.has_average_pool2d()) return false;
  const Tensor& input = graph.tensors[op.inputs[0]];
  const Tensor& output = graph.tensors[op.outputs[0]];
  return input.quantization && output.quantization &&
         AverageFormOf(op.attributes.average_pool2d(), input, output) ==
             AverageForm::kFloat;
}

// "layer a: ", "layers a, b, c, d and 3 more: "; nothing of no ids.
void AddSentence(const std::vector<std::string>& ids, absl::string_view what,
                 std::vector<std::string>& sentences) {
  if (ids.empty()) return;
  std::string text = ids.size() == 1 ? "in the ONNX model, layer "
                                     : "in the ONNX model, layers ";
  for (size_t i = 0; i < ids.size() && i < kNamed; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", ids[i]);
  }
  if (ids.size() > kNamed) {
    absl::StrAppend(&text, " and ", ids.size() - kNamed, " more");
  }
  sentences.push_back(absl::StrCat(text, ": ", what));
}

}  // namespace

std::vector<std::string> ExportLosses(const Graph& quantized) {
  std::vector<std::string> pools;
  std::vector<std::string> rounding_down;
  for (const Op& op : quantized.ops) {
    if (ComesBackFloat(quantized, op)) pools.push_back(op.id);
    if (op.attributes.rounding() == v1::FLOOR) rounding_down.push_back(op.id);
  }
  std::vector<std::string> sentences;
  AddSentence(pools,
              "averages of an even number of values, whose ties ONNX decides "
              "by its floats; read again, they compute in float, on the host",
              sentences);
  AddSentence(rounding_down,
              "results are rounded down, which ONNX cannot say; read again, "
              "they round to nearest and do not run on such a chip's engines. "
              "To compile for it, start from the float model",
              sentences);
  return sentences;
}

}  // namespace edgekiln::compiler
