#ifndef EK_TESTS_SUPPORT_NPZ_H_
#define EK_TESTS_SUPPORT_NPZ_H_

// NumPy's .npz and .npy for tests: little-endian, C order, stored or deflated.
// Written apart from the reader the product uses, so that it can check it.

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::tests {

struct NpyArray {
  std::string dtype;  // As NumPy spells it: "<f4", "|i1", "|u1", "<i8".
  std::vector<int64_t> shape;  // Empty for a scalar.
  std::string data;            // Raw elements, C order.

  int64_t size() const;  // Number of elements.
  int64_t element_bytes() const;
  // Elements converted to T, whatever the dtype (ints, floats and bool).
  template <typename T>
  std::vector<T> As() const {
    std::vector<T> out;
    out.reserve(static_cast<size_t>(size()));
    for (int64_t i = 0; i < size(); ++i) out.push_back(At<T>(i));
    return out;
  }
  // Element `i` in C order, converted to T; "<f2" stays in `data`.
  template <typename T>
  T At(int64_t i) const {
    const char* at = data.data() + i * element_bytes();
    if (dtype == "<f4") return static_cast<T>(Load<float>(at));
    if (dtype == "<f8") return static_cast<T>(Load<double>(at));
    if (dtype == "|i1") return static_cast<T>(Load<int8_t>(at));
    if (dtype == "<i2") return static_cast<T>(Load<int16_t>(at));
    if (dtype == "<i4") return static_cast<T>(Load<int32_t>(at));
    if (dtype == "<i8") return static_cast<T>(Load<int64_t>(at));
    if (dtype == "<u2") return static_cast<T>(Load<uint16_t>(at));
    if (dtype == "<u4") return static_cast<T>(Load<uint32_t>(at));
    if (dtype == "<u8") return static_cast<T>(Load<uint64_t>(at));
    return static_cast<T>(Load<uint8_t>(at));  // "|u1", "|b1"; see ParseNpy.
  }

 private:
  template <typename E>
  static E Load(const char* at) {
    E element;
    std::memcpy(&element, at, sizeof(E));
    return element;
  }
};

// The arrays of an .npz file by name (without ".npy"). Arrays of text and other
// element types that NpyArray does not know are left out.
absl::StatusOr<std::map<std::string, NpyArray>> ReadNpz(
    const std::string& path);

// One .npy from its bytes. UNIMPLEMENTED for an unknown element type.
absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_NPZ_H_
