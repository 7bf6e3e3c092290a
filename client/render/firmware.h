#ifndef EK_CLIENT_RENDER_FIRMWARE_H_
#define EK_CLIENT_RENDER_FIRMWARE_H_

#include <string>
#include <utility>
#include <vector>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// Of firmware: what was executed, what its code takes and who built it; as
// label and text of lines. Nothing for other targets.
std::vector<std::pair<std::string, std::string>> FirmwareTexts(
    const v1::Report& report);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_FIRMWARE_H_
