#ifndef EK_OPS_LSTM_INT16_H_
#define EK_OPS_LSTM_INT16_H_

#include "absl/status/status.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/kernels.h"

namespace edgekiln::ops {

// The LSTM of int16 activations (docs/numerics.md, 3.18): of other arithmetic
// than that of int8. Types and shapes have been checked.
absl::Status LstmInt16(const v1::Lstm& op, Inputs inputs, Outputs outputs);

}  // namespace edgekiln::ops

#endif  // EK_OPS_LSTM_INT16_H_
