#ifndef EK_TARGET_RESOLVE_FIRMWARE_H_
#define EK_TARGET_RESOLVE_FIRMWARE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"

namespace edgekiln::target {

// Substitutes parameters; ValidateFirmware() looks at the result.
// INVALID_ARGUMENT names the key.
absl::StatusOr<v1::Machine::Firmware> ResolveFirmware(
    const v1::FirmwareDescriptor& firmware,
    const std::vector<Constant>& values);

}  // namespace edgekiln::target

#endif  // EK_TARGET_RESOLVE_FIRMWARE_H_
