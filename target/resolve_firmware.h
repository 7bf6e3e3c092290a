#ifndef EK_TARGET_RESOLVE_FIRMWARE_H_
#define EK_TARGET_RESOLVE_FIRMWARE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"

namespace edgekiln::target {

// Substitutes parameters; ValidateFirmware() looks at the result.
// INVALID_ARGUMENT names the key.
absl::StatusOr<v1::Machine::Firmware> ResolveFirmware(
    const v1::FirmwareDescriptor& firmware,
    const std::vector<Constant>& values);

// Adds `c_kernels` and `c_sources` of the descriptor, checked
// (own_kernels.h), to the machine's firmware; a row without recipes is for
// those that take the fastest kernels. INVALID_ARGUMENT also where they are of
// no use: the machine has no firmware.
absl::Status AddOwnKernels(const v1::TargetDescriptor& descriptor,
                           v1::Machine* machine);

}  // namespace edgekiln::target

#endif  // EK_TARGET_RESOLVE_FIRMWARE_H_
