#ifndef EK_TARGET_MODELS_DLA_H_
#define EK_TARGET_MODELS_DLA_H_

// The engine model COARSE_DLA: docs/targets/dla.md.

#include "target/engine_model.h"

namespace edgekiln::target {

// Requirements. Instruction set: see dla/instruction_set.h. Machine: one
// private memory, and one link of the engine between that and the host's
// memories. Pattern: commands that compute its ops; int8; no weight zero
// points. Recipe: a v1::dla::TileRecipe.
const EngineModel& DlaModel();

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_DLA_H_
