#ifndef EK_TARGET_RECIPES_H_
#define EK_TARGET_RECIPES_H_

// The recipes of a target: named ways to use the chip. Nothing here knows what
// any of them decides; the engine models do.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// Every target has it; jobs that name none get it.
inline constexpr char kDefaultRecipe[] = "default";

inline constexpr int kMaxRecipes = 64;  // Without an added "default".
inline constexpr int kMaxRecipeNameBytes = 64;
inline constexpr int kMaxRecipeDocBytes = 200;

using ResolvedRecipes = google::protobuf::RepeatedPtrField<v1::ResolvedRecipe>;

// 1 to 64 lower-case letters, digits, "-" and "_"; first a letter or digit.
bool IsRecipeName(absl::string_view name);

// Those of the descriptor in its order, but "default" first, made up if the
// descriptor lists none. Parts for engines are by position, in their canonical
// bytes, and absent where they decide nothing. INVALID_ARGUMENT names recipe
// and key.
absl::StatusOr<ResolvedRecipes> ResolveRecipes(
    const v1::TargetDescriptor& descriptor);

// The name that was asked for, or "default" for "".
absl::string_view RecipeNameOf(absl::string_view asked);

// That there is no recipe `asked`: NOT_FOUND with reason RECIPE_UNKNOWN and the
// names there are. `target` as the user calls it.
absl::Status UnknownRecipe(absl::string_view asked, absl::string_view target,
                           absl::Span<const std::string> names);

}  // namespace edgekiln::target

#endif  // EK_TARGET_RECIPES_H_
