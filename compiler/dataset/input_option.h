#ifndef EK_COMPILER_DATASET_INPUT_OPTION_H_
#define EK_COMPILER_DATASET_INPUT_OPTION_H_

// The --input option as a person would write it, for the fixes of errors.

#include <string>

#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// "--input 'NAME:scale=0.5,layout=nhwc'"; without NAME for an empty one.
std::string InputOption(const std::string& name,
                        const v1::InputTransform& transform);

// What to do to get `change` on top of what was given for this input: "add
// --input '..'", or "replace --input '..' by --input '..'", because an input
// takes one option. Keys of `change` win. `given` may be null.
std::string SuggestInput(const std::string& input,
                         const v1::InputTransform* given,
                         const v1::InputTransform& change);

// What to do to get rid of the layout in `given`.
std::string SuggestNoLayout(const std::string& input,
                            const v1::InputTransform& given);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_INPUT_OPTION_H_
