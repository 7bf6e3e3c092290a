#ifndef EK_COMPILER_CODEGEN_C_STEP_WRITER_H_
#define EK_COMPILER_CODEGEN_C_STEP_WRITER_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/c/network_writer.h"
#include "compiler/codegen/c/steps.h"
#include "ops/tensor_view.h"

namespace edgekiln::compiler {

// A buffer that a step needs while it runs.
struct CScratch {
  int64_t number = 0;  // NetworkWriter::ScratchName().
  int64_t bytes = 0;
};

// The C of one step: a block that reads inputs x0, x1, ... and writes outputs
// y0, y1, ... Not thread-safe.
class StepWriter {
 public:
  StepWriter(NetworkWriter& network, const CStep& step)
      : network_(network), step_(step), code_(2) {}

  const v1::OpAttributes& op() const { return step_.attributes; }
  size_t inputs() const { return step_.inputs.size(); }
  size_t outputs() const { return step_.outputs.size(); }
  bool Has(size_t i) const {
    return i < step_.inputs.size() && step_.inputs[i] != kNoTensor;
  }
  const Tensor& In(size_t i) const;
  const Tensor& Out(size_t i) const;
  // Borrowed from the graph; absent where the input is.
  ops::TensorView InView(size_t i) const;
  ops::TensorView OutView(size_t i) const;
  ops::QuantizationView InQuantization(size_t i) const;
  ops::QuantizationView OutQuantization(size_t i) const;

  // Pointer to the first element, declared where it is used.
  std::string X(size_t i);
  std::string Y(size_t i);
  // The same as address constants, which declare nothing.
  std::string AddressOfIn(size_t i);
  std::string AddressOfOut(size_t i) const;
  std::string TableName() const { return network_.TableName(); }
  // Adds an entry to the table of kernels, an initialiser of which the kernel's
  // C name is the first part; its index. The step calls that kernel.
  int64_t AddEntry(const std::string& kernel, absl::string_view rest) {
    called_.push_back(kernel);
    return network_.AddEntry(absl::StrCat("{", kernel, ", ", rest, "}"));
  }
  void Include(const std::string& header) { network_.Include(header); }
  // A buffer of `elements` for this step alone.
  std::string Scratch(v1::ElementType type, int64_t elements);
  // A constant array.
  template <typename T>
  std::string Array(v1::ElementType type, const std::vector<T>& values) {
    return network_.AddArray(
        type, absl::string_view(reinterpret_cast<const char*>(values.data()),
                                values.size() * sizeof(T)));
  }
  // The C name of a helper (helpers.h).
  std::string Use(absl::string_view helper) {
    return network_.helpers().Use(helper);
  }
  // `$name` in `text` becomes the C name of that helper.
  std::string With(absl::string_view text);

  // Output 0 may take the memory of input i: each element is written after the
  // last read of what lies there.
  void MayOverwrite(size_t i) { overwrites_.push_back(i); }
  // Whether the elements of a tensor lie as [n, c, h, w]. Code that does not
  // ask gets copies of such inputs in their own order.
  bool InChannelFirst(size_t i) const {
    return network_.channel_first(step_.inputs[i]);
  }
  bool OutChannelFirst(size_t i) const {
    return network_.channel_first(step_.outputs[i]);
  }
  void SetKnowsOrders() { knows_orders_ = true; }
  // Output 0 is written in that order.
  void GiveChannelFirst() { network_.SetChannelFirst(step_.outputs[0]); }
  // The block has `return 1;` for data that it cannot take.
  void SetCanFail() { can_fail_ = true; }

  CodeWriter& code() { return code_; }

  // UNIMPLEMENTED: `what` has no C.
  absl::Status Unsupported(absl::string_view what) const;

  // The finished block. May add scratch buffers.
  std::string Block();
  const std::vector<CScratch>& scratch() const { return scratch_; }
  const std::vector<size_t>& overwrites() const { return overwrites_; }
  bool can_fail() const { return can_fail_; }
  // Functions that the code calls by pointers.
  const std::vector<std::string>& called() const { return called_; }
  // Inputs that the code reads.
  std::set<size_t> read() const;

 private:
  // Declares x<i> as a row-major copy of an input.
  void ToRows(CodeWriter& block, size_t i);

  NetworkWriter& network_;
  const CStep& step_;
  CodeWriter code_;
  std::set<size_t> read_;
  std::set<size_t> addressed_;
  std::set<size_t> written_;
  std::vector<std::string> scratch_lines_;
  std::vector<CScratch> scratch_;
  std::vector<size_t> overwrites_;
  std::vector<std::string> called_;
  bool can_fail_ = false;
  bool knows_orders_ = false;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_STEP_WRITER_H_
