#ifndef EK_TARGET_BUILTIN_H_
#define EK_TARGET_BUILTIN_H_

// The target descriptors that come with the program: data/*.txtpb, compiled
// in, and their presets.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

enum class Listing {
  kListed,
  // For tests: can be named, is not listed. Descriptors without presets, and
  // presets "...-unit".
  kHidden,
};

struct BuiltinRecipe {
  std::string name;
  std::string doc;  // One line.
};

struct BuiltinTarget {
  std::string name;  // "dla-64-o-512k"
  std::string doc;   // One line.
  // The complete descriptor; a preset's has its `set` lines on top, so that it
  // can be saved, edited and used as a file.
  std::string text;
  std::string file;  // Of data/, without ".txtpb".
  Listing listing = Listing::kListed;
  std::vector<BuiltinRecipe> recipes = {};  // "default" first.
};

// All of them in the order to show: each descriptor, then its presets. The
// first call takes milliseconds.
const std::vector<BuiltinTarget>& BuiltinTargets();

// What ParseDescriptor() makes of the text of the one with this name, without
// its presets: these are chips of their own.
struct BuiltinDescriptor {
  v1::TargetDescriptor descriptor;
  std::string file;  // As of BuiltinTarget.
};
// Empty if there is none. Reads no file without the name, and each file once
// per process.
std::optional<BuiltinDescriptor> FindBuiltinDescriptor(absl::string_view name);

}  // namespace edgekiln::target

#endif  // EK_TARGET_BUILTIN_H_
