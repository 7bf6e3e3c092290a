#include "target/recipes.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/engine_model.h"
#include "target/host_rooms.h"
#include "target/nearest_name.h"
#include "target/parameters.h"

namespace edgekiln::target {
namespace {

constexpr char kDefaultDoc[] = "What costs the fewest cycles";

absl::StatusOr<int32_t> EnginePosition(const v1::TargetDescriptor& descriptor,
                                       const std::string& name) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < descriptor.engines_size(); ++i) {
    if (descriptor.engines(i).name() == name) return i;
    names.push_back(descriptor.engines(i).name());
  }
  return InvalidTarget(
      {.what = absl::StrCat("the target has no engine \"", name, "\""),
       .where = "engine",
       .fix = DidYouMean(
           name, names,
           absl::StrCat("engines are: ", absl::StrJoin(names, ", ")))});
}

absl::StatusOr<v1::TileRecipe::Engine> ResolveTile(
    const v1::TargetDescriptor& descriptor,
    const v1::RecipeDescriptor::Tile& tile) {
  EK_ASSIGN_OR_RETURN(const int32_t position,
                      EnginePosition(descriptor, tile.engine()));
  if (tile.provenance() == v1::PROVENANCE_UNSPECIFIED) {
    return InvalidTarget({.what = "provenance is missing",
                          .where = "provenance",
                          .fix = "PUBLISHED, READ, FITTED or ASSUMED"});
  }
  if (!tile.has_decisions()) {
    return InvalidTarget({.what = "the recipe decides nothing for the engine",
                          .where = "decisions",
                          .fix = "say what it decides, or leave `tile` out"});
  }
  v1::TileRecipe::Engine resolved;
  resolved.set_engine(position);
  EK_ASSIGN_OR_RETURN(const EngineModel* const model,
                      FindEngineModel(descriptor.engines(position).model()));
  EK_ASSIGN_OR_RETURN(*resolved.mutable_decisions(),
                      model->ValidateTileDecisions(tile.decisions()));
  return resolved;
}

absl::StatusOr<v1::TileRecipe> ResolveTiles(
    const v1::TargetDescriptor& descriptor,
    const v1::RecipeDescriptor& recipe) {
  std::vector<v1::TileRecipe::Engine> engines;
  for (const v1::RecipeDescriptor::Tile& tile : recipe.tile()) {
    const std::string where = absl::StrCat("tile of \"", tile.engine(), "\"");
    EK_ASSIGN_OR_RETURN(v1::TileRecipe::Engine resolved,
                        ResolveTile(descriptor, tile), where);
    for (const v1::TileRecipe::Engine& other : engines) {
      if (other.engine() != resolved.engine()) continue;
      return InvalidTarget({.what = "the engine occurs twice",
                            .where = where,
                            .fix = "keep one of them"});
    }
    engines.push_back(std::move(resolved));
  }
  std::sort(engines.begin(), engines.end(), [](const auto& a, const auto& b) {
    return a.engine() < b.engine();
  });
  v1::TileRecipe tile;
  tile.set_round_trips(recipe.round_trips());
  tile.set_ports_stay(recipe.ports_stay());
  EK_RETURN_IF_ERROR(ValidateHostRooms(descriptor, recipe));
  for (const v1::RecipeDescriptor::HostRoom& room : recipe.host_rooms()) {
    v1::TileRecipe::HostRoom& resolved = *tile.add_host_rooms();
    resolved.set_op(room.op());
    resolved.set_bytes_expr(room.bytes_expr());
    resolved.set_code_bytes_expr(room.code_bytes_expr());
  }
  for (v1::TileRecipe::Engine& engine : engines) {
    // What decides nothing is the same as nothing, also to a look-up.
    if (engine.decisions().value().empty()) continue;
    *tile.add_engines() = std::move(engine);
  }
  return tile;
}

absl::StatusOr<v1::PartitionRecipe> ResolvePartition(
    const v1::TargetDescriptor& descriptor,
    const v1::RecipeDescriptor& recipe) {
  std::set<int32_t> engines;
  for (const std::string& name : recipe.separate_requantization()) {
    EK_ASSIGN_OR_RETURN(const int32_t engine, EnginePosition(descriptor, name),
                        "separate_requantization");
    if (!engines.insert(engine).second) {
      return InvalidTarget(
          {.what = "the engine occurs twice",
           .where = absl::StrCat("separate_requantization: \"", name, "\""),
           .fix = "keep one of them"});
    }
  }
  v1::PartitionRecipe resolved;
  for (const int32_t engine : engines) {
    resolved.add_separate_requantization(engine);
  }
  resolved.set_narrowest_weights(recipe.narrowest_weights());
  return resolved;
}

absl::StatusOr<v1::CRecipe> ResolveC(const v1::TargetDescriptor& descriptor,
                                     const v1::RecipeDescriptor& recipe) {
  v1::CRecipe resolved;
  if (recipe.c_kernels() == v1::CRecipe::KERNELS_UNSPECIFIED) return resolved;
  if (!descriptor.host().has_firmware() ||
      !v1::CRecipe::Kernels_IsValid(recipe.c_kernels())) {
    return InvalidTarget(
        {.what =
             "kernels of C code for a target that has none, or unknown ones",
         .where = "c_kernels",
         .limit = "SMALL, PLAIN, UMA, TABLE, where host has firmware",
         .fix = "leave c_kernels out"});
  }
  resolved.set_kernels(recipe.c_kernels());
  return resolved;
}

absl::Status CheckTexts(const v1::RecipeDescriptor& recipe) {
  if (!IsRecipeName(recipe.name())) {
    return InvalidTarget(
        {.what = "not a name for a recipe",
         .where = "name",
         .limit = absl::StrCat("1 to ", kMaxRecipeNameBytes, " bytes"),
         .need = "lower-case letters, digits, \"-\" and \"_\"; first a letter "
                 "or digit",
         .fix = "give it a name such as \"serial\""});
  }
  const std::string& doc = recipe.doc();
  const bool one_line = std::none_of(doc.begin(), doc.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  if (!doc.empty() && doc.size() <= kMaxRecipeDocBytes && one_line) {
    return absl::OkStatus();
  }
  return InvalidTarget(
      {.what = "a recipe needs a one-line `doc` that says what it is for",
       .where = "doc",
       .limit = absl::StrCat("1 to ", kMaxRecipeDocBytes, " bytes"),
       .need = absl::StrCat(doc.size(), " bytes"),
       .fix = "write one sentence; longer ones are for comments"});
}

}  // namespace

bool IsRecipeName(absl::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c));
  };
  return !name.empty() && name.size() <= kMaxRecipeNameBytes &&
         is_alphanumeric(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_alphanumeric(c) || c == '-' || c == '_';
         });
}

absl::StatusOr<ResolvedRecipes> ResolveRecipes(
    const v1::TargetDescriptor& descriptor) {
  if (descriptor.recipes_size() > kMaxRecipes) {
    return InvalidTarget({.what = "too many entries",
                          .where = "recipes",
                          .limit = absl::StrCat(kMaxRecipes),
                          .need = absl::StrCat(descriptor.recipes_size()),
                          .fix = "remove the recipes that are not used"});
  }
  ResolvedRecipes resolved;
  v1::ResolvedRecipe& first = *resolved.Add();
  first.set_name(kDefaultRecipe);
  first.set_doc(kDefaultDoc);
  absl::flat_hash_set<std::string> seen;
  for (const v1::RecipeDescriptor& recipe : descriptor.recipes()) {
    const std::string where = absl::StrCat("recipe \"", recipe.name(), "\"");
    EK_RETURN_IF_ERROR(CheckTexts(recipe), where);
    if (!seen.insert(recipe.name()).second) {
      return InvalidTarget({.what = "two recipes have the same name",
                            .where = where,
                            .fix = "rename one of them"});
    }
    EK_ASSIGN_OR_RETURN(v1::TileRecipe tile, ResolveTiles(descriptor, recipe),
                        where);
    EK_ASSIGN_OR_RETURN(v1::PartitionRecipe partition,
                        ResolvePartition(descriptor, recipe), where);
    v1::ResolvedRecipe& out =
        recipe.name() == kDefaultRecipe ? resolved[0] : *resolved.Add();
    out.set_name(recipe.name());
    out.set_doc(recipe.doc());
    *out.mutable_tile() = std::move(tile);
    if (partition.ByteSizeLong() > 0) {
      *out.mutable_partition() = std::move(partition);
    }
    EK_ASSIGN_OR_RETURN(const v1::CRecipe c, ResolveC(descriptor, recipe),
                        where);
    if (c.kernels() != v1::CRecipe::KERNELS_UNSPECIFIED) *out.mutable_c() = c;
  }
  return resolved;
}

absl::string_view RecipeNameOf(absl::string_view asked) {
  return asked.empty() ? absl::string_view(kDefaultRecipe) : asked;
}

absl::Status UnknownRecipe(absl::string_view asked, absl::string_view target,
                           absl::Span<const std::string> names) {
  const std::string list = absl::StrJoin(names, ", ");
  return MakeError(
      absl::StatusCode::kNotFound,
      {.reason = "RECIPE_UNKNOWN",
       .what = absl::StrCat("the target has no recipe \"", asked, "\""),
       .where = absl::StrCat("target '", target, "'"),
       .need = absl::StrCat("one of: ", list),
       .fix = DidYouMean(asked, {names.begin(), names.end()},
                         "leave --recipe out for \"default\"; `edgekiln "
                         "targets list` says what each does")});
}

}  // namespace edgekiln::target
