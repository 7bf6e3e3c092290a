#ifndef EK_TESTS_CHAOS_HOSTILE_MODELS_H_
#define EK_TESTS_CHAOS_HOSTILE_MODELS_H_

// Models and data that cost a compiler more than their sender. ONNX; the same
// arguments give the same bytes, another seed changes little but the digest.

#include <cstdint>
#include <string>

namespace edgekiln::chaos {

// A valid chain of `layers` tiny ops.
std::string ChainModel(int layers, uint64_t seed);

// The same with names of that length.
std::string LongNamesModel(int layers, int name_bytes, uint64_t seed);

// Few layers whose values take minutes to compute.
std::string SlowModel(uint64_t seed);

// An If in a branch of an If, `depth` times.
std::string NestedModel(int depth, uint64_t seed);

// An input of 4 GB, of which nothing is in the file.
std::string HugeInputModel(uint64_t seed);

// Constants that double until no memory holds them.
std::string DoublingModel(uint64_t seed);

// An .npz whose only array, "x" of [n, 16] floats as ChainModel() takes them,
// unpacks to about `bytes` (below 4 GiB) from a thousandth of that.
std::string NpzBomb(int64_t bytes, uint64_t seed);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_HOSTILE_MODELS_H_
