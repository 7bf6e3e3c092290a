#include "compiler/codegen/c/step_writer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/ir/tensor_views.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {

const Tensor& StepWriter::In(size_t i) const {
  return network_.graph().tensors[step_.inputs[i]];
}

const Tensor& StepWriter::Out(size_t i) const {
  return network_.graph().tensors[step_.outputs[i]];
}

ops::TensorView StepWriter::InView(size_t i) const {
  return Has(i) ? ViewOf(In(i)) : ops::TensorView{};
}

ops::TensorView StepWriter::OutView(size_t i) const { return ViewOf(Out(i)); }

ops::QuantizationView StepWriter::InQuantization(size_t i) const {
  return QuantizationOf(In(i));
}

ops::QuantizationView StepWriter::OutQuantization(size_t i) const {
  return QuantizationOf(Out(i));
}

std::string StepWriter::X(size_t i) {
  read_.insert(i);
  return absl::StrCat("x", i);
}

std::string StepWriter::Y(size_t i) {
  written_.insert(i);
  return absl::StrCat("y", i);
}

std::string StepWriter::AddressOfIn(size_t i) {
  addressed_.insert(i);
  const TensorId id = step_.inputs[i];
  return In(i).is_constant() ? network_.UseConstant(id)
                             : network_.TensorAddress(id);
}

std::string StepWriter::AddressOfOut(size_t i) const {
  return network_.TensorAddress(step_.outputs[i]);
}

std::set<size_t> StepWriter::read() const {
  std::set<size_t> all = read_;
  all.insert(addressed_.begin(), addressed_.end());
  return all;
}

std::string StepWriter::Scratch(v1::ElementType type, int64_t elements) {
  const int64_t number = network_.NextScratch();
  const std::string name = absl::StrCat("scratch", scratch_.size());
  scratch_.push_back(
      {number, std::max<int64_t>(elements, 1) * ElementBytes(type)});
  const absl::string_view c_type = CTypeOf(type);
  scratch_lines_.push_back(absl::StrCat(c_type, " *const ", name, " = (",
                                        c_type, " *)",
                                        network_.ScratchName(number), ";"));
  return name;
}

std::string StepWriter::With(absl::string_view text) {
  std::string result;
  while (true) {
    const size_t at = text.find('$');
    if (at == absl::string_view::npos) break;
    size_t end = at + 1;
    while (end < text.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(text[end])) ||
            text[end] == '_')) {
      ++end;
    }
    absl::StrAppend(&result, text.substr(0, at),
                    Use(text.substr(at + 1, end - at - 1)));
    text.remove_prefix(end);
  }
  absl::StrAppend(&result, text);
  return result;
}

absl::Status StepWriter::Unsupported(absl::string_view what) const {
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.fault = Fault::kUser,
       .reason = "C_UNSUPPORTED",
       .what = absl::StrCat("no C for ", std::string(ops::OpKind(op())), ": ",
                            std::string(what)),
       .fix = "let an engine of the target compute the layer, or change it"});
}

void StepWriter::ToRows(CodeWriter& block, size_t i) {
  const std::vector<int64_t>& shape = In(i).shape;
  const int64_t pixels = shape[1] * shape[2];
  const std::string rows = Scratch(In(i).type, In(i).num_elements());
  const absl::string_view type = CTypeOf(In(i).type);
  const std::string name = network_.TensorName(step_.inputs[i]);
  block.Line(scratch_lines_.back());
  scratch_lines_.pop_back();
  block.Line("const ", type, " *const x", i, " = ", rows, ";");
  block.OpenBlock();
  block.Line("const ", type, " *const from = (const ", type, " *)", name, ";");
  block.OpenLoop("b", shape[0]);
  block.OpenLoop("p", pixels);
  block.OpenLoop("c", shape[3]);
  block.Line(rows, "[(b * ", pixels, " + p) * ", shape[3], " + c] = from[(b * ",
             shape[3], " + c) * ", pixels, " + p];");
  for (int n = 0; n < 4; ++n) block.Close();
}

std::string StepWriter::Block() {
  CodeWriter block(1);
  block.OpenBlock();
  for (const size_t i : read_) {
    const TensorId id = step_.inputs[i];
    const absl::string_view type = CTypeOf(In(i).type);
    if (!knows_orders_ && network_.channel_first(id)) {
      ToRows(block, i);
    } else if (In(i).is_constant()) {
      block.Line("const ", type, " *const x", i, " = ",
                 network_.UseConstant(id), ";");
    } else {
      block.Line("const ", type, " *const x", i, " = (const ", type, " *)",
                 network_.TensorName(id), ";");
    }
  }
  for (const size_t i : written_) {
    const absl::string_view type = CTypeOf(Out(i).type);
    block.Line(type, " *const y", i, " = (", type, " *)",
               network_.TensorName(step_.outputs[i]), ";");
  }
  for (const std::string& line : scratch_lines_) block.Line(line);
  block.Raw(code_.text());
  block.Close();
  return block.text();
}

}  // namespace edgekiln::compiler
