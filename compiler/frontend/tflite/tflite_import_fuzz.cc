// Any bytes: an error or a graph that verifies, and that simplification keeps
// valid. It starts from a model of each operator (tests/tflite).

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "compiler/frontend/tflite/tflite_import.h"
#include "compiler/passes/pipeline.h"

namespace {

// Small and extreme numbers: indices, codes, extents, options.
int32_t Number(edgekiln::Rng& rng) {
  constexpr int32_t kNumbers[] = {INT32_MIN, INT32_MAX,  1 << 30,
                                  65536,     0x3f800000, 255};
  if (rng.Below(8) == 0) return kNumbers[rng.Below(std::size(kNumbers))];
  return static_cast<int32_t>(rng.InRange(-3, 12));
}

// A number in place: flatbuffers hold offsets, so what moves bytes breaks all.
void ChangeNumber(edgekiln::Rng& rng, uint8_t* data, size_t size) {
  const size_t bytes = size_t{1} << rng.Below(3);
  const size_t at = rng.Below(size / bytes) * bytes;
  int32_t value = Number(rng);
  switch (rng.Below(4)) {
    case 0: {  // From elsewhere.
      const size_t from = rng.Below(size / bytes) * bytes;
      std::memcpy(&value, data + from, bytes);
      break;
    }
    case 1:  // A little more or less.
      std::memcpy(&value, data + at, bytes);
      value = static_cast<int32_t>(static_cast<uint32_t>(value) +
                                   static_cast<uint32_t>(rng.InRange(-2, 2)));
      break;
    default:
      break;
  }
  std::memcpy(data + at, &value, bytes);
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  edgekiln::Rng rng(seed);
  if (size < 16 || rng.Below(8) == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (int64_t changes = rng.InRange(1, 4); changes > 0; --changes) {
    ChangeNumber(rng, data, size);
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto graph = edgekiln::compiler::ImportTflite(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph.ok()) return 0;
  const absl::Status simplified = edgekiln::compiler::Simplify(*graph);
  if (!simplified.ok()) {
    std::cerr << simplified << '\n';
    std::abort();
  }
  return 0;
}
