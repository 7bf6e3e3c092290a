#ifndef EK_COMPILER_CODEGEN_C_ROW_RING_H_
#define EK_COMPILER_CODEGEN_C_ROW_RING_H_

#include <cstdint>
#include <string>

#include "compiler/codegen/c/step_writer.h"
#include "ops/window.h"

namespace edgekiln::compiler {

// The input rows that the window of one output row sees: pointers row0, row1,
// ... Without padding into the input itself; with padding into a ring of
// copies, which costs a few rows of memory instead of a padded image and lets
// the output overwrite the input.
class RowRing {
 public:
  // A window over height and width of one image; batch 1.
  RowRing(StepWriter& w, const ops::WindowGeometry& g);

  // Before the loop over output rows.
  void Begin();
  // In the loop over `oy`: makes the rows of it ready and declares `rows`.
  void Rows();
  // Elements between neighbouring output pixels.
  int64_t pixel_step() const { return g_.stride[2] * g_.in_c; }

 private:
  bool CanOverwrite() const;

  StepWriter& w_;
  const ops::WindowGeometry g_;
  bool padded_ = false;
  int64_t slots_ = 0;  // Rows of the ring.
  int64_t width_ = 0;  // Elements of one.
  std::string ring_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_ROW_RING_H_
