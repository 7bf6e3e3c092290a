#ifndef EK_COMPILER_DATASET_LITTLE_ENDIAN_H_
#define EK_COMPILER_DATASET_LITTLE_ENDIAN_H_

// Values as they lie in files, whatever their alignment.

#include <bit>
#include <cstring>
#include <string>

namespace edgekiln::compiler {

static_assert(std::endian::native == std::endian::little,
              "element bytes are used as they lie in files");

// The caller has checked that sizeof(T) bytes are there.
template <typename T>
T LoadAs(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void StoreAs(T value, char* bytes) {
  std::memcpy(bytes, &value, sizeof(T));
}

template <typename T>
void AppendAs(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_LITTLE_ENDIAN_H_
