#ifndef EK_TARGET_VARIANTS_H_
#define EK_TARGET_VARIANTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"
#include "target/parameters.h"

namespace edgekiln::target {

// One target and what comes of it with other values of its parameters. Reading
// the file once makes thousands of variants cheap: nothing of a variant but its
// parameters is looked at. Immutable, hence thread-safe.
class Variants {
 public:
  // `text` is hostile. INVALID_ARGUMENT as of ResolveTarget(), which checks
  // more.
  static absl::StatusOr<Variants> Read(absl::string_view text);

  const std::string& name() const { return whole_.name(); }
  // Null if the target has no such parameter.
  const v1::Parameter* FindParameter(absl::string_view name) const;
  std::vector<std::string> ParameterNames() const;
  // NOT_FOUND with reason RECIPE_UNKNOWN. "" is the default one.
  absl::Status CheckRecipe(absl::string_view name) const;

  // Equal for variants that are the same chip, whatever they are called. `set`
  // wins over the file's own settings. INVALID_ARGUMENT if a value is out of
  // range or a constraint does not hold.
  absl::StatusOr<std::string> Identity(const Settings& set) const;

  // A variant in text form is Head(), common to all, and its Tail().
  std::string Head() const;
  // `set` as Identity() took it.
  std::string Tail(const std::string& name, const Settings& set) const;

 private:
  Variants() = default;

  v1::TargetDescriptor file_;
  v1::TargetDescriptor whole_;  // With what the file extends.
  std::vector<std::string> recipes_;
  std::string fingerprint_;  // Of all but names, prose and settings.
};

}  // namespace edgekiln::target

#endif  // EK_TARGET_VARIANTS_H_
