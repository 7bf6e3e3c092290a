#include "simfarm/conformance/register_job/naive_places.h"

#include <algorithm>

namespace edgekiln::simfarm::conformance::register_job {
namespace {

using Jobs = v1::RegisterJobs;

// What an index of one axis adds to an element's address.
int64_t OffsetOf(const NaiveOperand& operand, size_t axis, int64_t index) {
  int64_t at = 0;
  for (const NaiveOperand::Term& term : operand.terms) {
    if (term.axis != static_cast<int64_t>(axis)) continue;
    int64_t digit = index / term.divide;
    if (term.modulo != 0) digit %= term.modulo;
    at += digit * term.stride;
  }
  return at;
}

}  // namespace

std::vector<int64_t> ExtentsOf(const std::string& name, NaiveJob& job) {
  auto& v = job.v;
  if (name == "bias" || name == "affine") return {v["out_c"], 4};
  if (name == "weights") {
    if (job.kernel == Jobs::CONVOLUTION) {
      return {v["out_c"], v["kernel_h"], v["kernel_w"], v["in_c"]};
    }
    return {v["out_c"], v["kernel_h"], v["kernel_w"]};
  }
  if (name == "out" || job.kernel == Jobs::ADDITION ||
      job.kernel == Jobs::REQUANTIZATION) {
    return {v["out_h"], v["out_w"], v["out_c"]};
  }
  const bool pools = job.kernel == Jobs::AVERAGE_POOLING ||
                     job.kernel == Jobs::MAXIMUM_POOLING;
  return {v["in_h"], v["in_w"], pools ? v["out_c"] : v["in_c"]};
}

// The furthest index of each axis alone: they add up.
int64_t EndOf(const NaiveOperand& operand) {
  int64_t end = operand.bytes;
  for (size_t axis = 0; axis < operand.extents.size(); ++axis) {
    int64_t furthest = 0;
    for (int64_t index = 0; index < operand.extents[axis]; ++index) {
      furthest = std::max(furthest, OffsetOf(operand, axis, index));
    }
    end += furthest;
  }
  return end;
}

// The offsets of all axes add up.
bool LiesInPlace(const NaiveOperand& in, const NaiveOperand& out) {
  if (in.address != out.address || in.group != out.group) return false;
  for (size_t axis = 0; axis < out.extents.size(); ++axis) {
    for (int64_t index = 0; index < out.extents[axis]; ++index) {
      if (OffsetOf(in, axis, index) != OffsetOf(out, axis, index)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace edgekiln::simfarm::conformance::register_job
