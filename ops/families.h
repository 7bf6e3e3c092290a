#ifndef EK_OPS_FAMILIES_H_
#define EK_OPS_FAMILIES_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"
#include "ops/kernels.h"
#include "ops/prepared.h"
#include "ops/rules.h"

// Ops that share their rules, each family with a file of its own:
// <family>_family.cc holds what its ops accept and give, and calls their
// kernels.
//
// Thread-safe: pure functions.
namespace edgekiln::ops {

struct OpFamily {
  // Shapes of all outputs; all ops but Reshape. Inputs that are present have
  // passed CheckTensorType().
  absl::StatusOr<std::vector<Shape>> (*infer)(const v1::OpAttributes& op,
                                              Views inputs);
  // Types, quantization and attributes, once infer() has accepted the inputs
  // and the shapes of the outputs are as it says. Trailing outputs may be left
  // out.
  absl::Status (*check)(const v1::OpAttributes& op, Views inputs,
                        Views outputs);
  // Computes what check() accepted.
  absl::Status (*compute)(const v1::OpAttributes& op, Inputs inputs,
                          Outputs outputs, CpuPath path);
  // The same, made ready ahead. Null here or as a result: nothing gains by it.
  absl::StatusOr<std::unique_ptr<PreparedOp>> (*prepare)(
      const v1::OpAttributes& op, Inputs inputs, Views outputs) = nullptr;
};

// The family of an op; for attributes that are not set one that refuses.
OpFamily FamilyOf(const v1::OpAttributes& op);

// dot_family.cc
absl::StatusOr<std::vector<Shape>> InferDot(const v1::OpAttributes& op,
                                            Views inputs);
absl::Status CheckDot(const v1::OpAttributes& op, Views inputs, Views outputs);
absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareDot(
    const v1::OpAttributes& op, Inputs inputs, Views outputs);
absl::Status ComputeDot(const v1::OpAttributes& op, Inputs inputs,
                        Outputs outputs, CpuPath path);
// pool_family.cc
absl::StatusOr<std::vector<Shape>> InferPooling(const v1::OpAttributes& op,
                                                Views inputs);
absl::Status CheckPooling(const v1::OpAttributes& op, Views inputs,
                          Views outputs);
absl::Status ComputePooling(const v1::OpAttributes& op, Inputs inputs,
                            Outputs outputs, CpuPath path);
// normalization_family.cc
absl::StatusOr<std::vector<Shape>> InferNormalization(
    const v1::OpAttributes& op, Views inputs);
absl::Status CheckNormalization(const v1::OpAttributes& op, Views inputs,
                                Views outputs);
absl::Status ComputeNormalization(const v1::OpAttributes& op, Inputs inputs,
                                  Outputs outputs, CpuPath path);
// resize_family.cc
absl::StatusOr<std::vector<Shape>> InferResampling(const v1::OpAttributes& op,
                                                   Views inputs);
absl::Status CheckResampling(const v1::OpAttributes& op, Views inputs,
                             Views outputs);
absl::Status ComputeResampling(const v1::OpAttributes& op, Inputs inputs,
                               Outputs outputs, CpuPath path);
// recurrent_family.cc
absl::StatusOr<std::vector<Shape>> InferRecurrent(const v1::OpAttributes& op,
                                                  Views inputs);
absl::Status CheckRecurrent(const v1::OpAttributes& op, Views inputs,
                            Views outputs);
absl::Status ComputeRecurrent(const v1::OpAttributes& op, Inputs inputs,
                              Outputs outputs, CpuPath path);
// indexed_family.cc
absl::StatusOr<std::vector<Shape>> InferIndexed(const v1::OpAttributes& op,
                                                Views inputs);
absl::Status CheckIndexed(const v1::OpAttributes& op, Views inputs,
                          Views outputs);
absl::Status ComputeIndexed(const v1::OpAttributes& op, Inputs inputs,
                            Outputs outputs, CpuPath path);
// elementwise_family.cc
absl::StatusOr<std::vector<Shape>> InferElementwise(const v1::OpAttributes& op,
                                                    Views inputs);
absl::Status CheckElementwise(const v1::OpAttributes& op, Views inputs,
                              Views outputs);
absl::Status ComputeElementwise(const v1::OpAttributes& op, Inputs inputs,
                                Outputs outputs, CpuPath path);
// movement_family.cc
absl::StatusOr<std::vector<Shape>> InferMovement(const v1::OpAttributes& op,
                                                 Views inputs);
absl::Status CheckMovement(const v1::OpAttributes& op, Views inputs,
                           Views outputs);
absl::Status ComputeMovement(const v1::OpAttributes& op, Inputs inputs,
                             Outputs outputs, CpuPath path);
// reduction_family.cc
absl::StatusOr<std::vector<Shape>> InferReduction(const v1::OpAttributes& op,
                                                  Views inputs);
absl::Status CheckReduction(const v1::OpAttributes& op, Views inputs,
                            Views outputs);
absl::Status ComputeReduction(const v1::OpAttributes& op, Inputs inputs,
                              Outputs outputs, CpuPath path);

}  // namespace edgekiln::ops

#endif  // EK_OPS_FAMILIES_H_
