#ifndef EK_TARGET_VALIDATE_FIRMWARE_H_
#define EK_TARGET_VALIDATE_FIRMWARE_H_

#include "absl/status/status.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// Of a machine with firmware whose memories are valid: processor, ranges of
// costs and stack, memories where the processor and its exit device can be, no
// engine. INVALID_ARGUMENT.
absl::Status ValidateFirmware(const v1::Machine& machine);

}  // namespace edgekiln::target

#endif  // EK_TARGET_VALIDATE_FIRMWARE_H_
