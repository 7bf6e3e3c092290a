#include "target/variants.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "target/extend.h"
#include "target/recipes.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

std::string Fingerprint(v1::TargetDescriptor descriptor) {
  descriptor.clear_name();
  descriptor.clear_doc();
  descriptor.clear_set();
  descriptor.clear_presets();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    descriptor.SerializeToCodedStream(&coded);
  }
  return DigestOf(bytes).hash;
}

std::string TextOf(const v1::TargetDescriptor& descriptor) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(descriptor, &text);
  return text;
}

}  // namespace

absl::StatusOr<Variants> Variants::Read(absl::string_view text) {
  Variants read;
  EK_ASSIGN_OR_RETURN(read.file_, ParseDescriptor(text));
  std::vector<std::string> files;
  EK_ASSIGN_OR_RETURN(read.whole_, WithExtended(read.file_, files));
  EK_RETURN_IF_ERROR(CheckParameters(read.whole_));
  EK_ASSIGN_OR_RETURN(const ResolvedRecipes recipes,
                      ResolveRecipes(read.whole_));
  for (const v1::ResolvedRecipe& recipe : recipes) {
    read.recipes_.push_back(recipe.name());
  }
  read.fingerprint_ = Fingerprint(read.whole_);
  return read;
}

const v1::Parameter* Variants::FindParameter(absl::string_view name) const {
  for (const v1::Parameter& parameter : whole_.parameters()) {
    if (parameter.name() == name) return &parameter;
  }
  return nullptr;
}

std::vector<std::string> Variants::ParameterNames() const {
  std::vector<std::string> names;
  for (const v1::Parameter& parameter : whole_.parameters()) {
    names.push_back(parameter.name());
  }
  return names;
}

absl::Status Variants::CheckRecipe(absl::string_view name) const {
  for (const std::string& recipe : recipes_) {
    if (recipe == RecipeNameOf(name)) return absl::OkStatus();
  }
  return UnknownRecipe(name, whole_.name(), recipes_);
}

absl::StatusOr<std::string> Variants::Identity(const Settings& set) const {
  Settings merged = whole_.set();
  EK_RETURN_IF_ERROR(MergeSettings(set, &merged));
  EK_ASSIGN_OR_RETURN(const std::vector<Constant> values,
                      ParameterValues(whole_, merged));
  std::string identity = fingerprint_;
  for (const Constant& value : values) {
    absl::StrAppend(&identity, " ", value.value);
  }
  return identity;
}

std::string Variants::Head() const {
  v1::TargetDescriptor head = file_;
  head.clear_name();
  head.clear_set();
  return TextOf(head);
}

std::string Variants::Tail(const std::string& name, const Settings& set) const {
  v1::TargetDescriptor tail;
  tail.set_name(name);
  *tail.mutable_set() = file_.set();
  // Fails for a setting that occurs twice in `set`, which Identity() refuses.
  MergeSettings(set, tail.mutable_set()).IgnoreError();
  return TextOf(tail);
}

}  // namespace edgekiln::target
