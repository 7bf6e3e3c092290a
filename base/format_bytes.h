#ifndef EK_BASE_FORMAT_BYTES_H_
#define EK_BASE_FORMAT_BYTES_H_

#include <cstdint>
#include <string>

namespace edgekiln {

// A size for people: "784 B", "96.1 KiB", "2.0 GiB".
std::string FormatBytes(int64_t bytes);

}  // namespace edgekiln

#endif  // EK_BASE_FORMAT_BYTES_H_
