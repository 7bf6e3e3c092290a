#ifndef EK_TESTS_PIPELINE_BYTE_DAMAGE_H_
#define EK_TESTS_PIPELINE_BYTE_DAMAGE_H_

#include <string>

#include "base/rng.h"

namespace edgekiln::tests {

// Changes up to four bytes of a model file, mostly where it is structure rather
// than weights. `bytes` must not be empty.
void DamageBytes(Rng& rng, std::string& bytes);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_PIPELINE_BYTE_DAMAGE_H_
