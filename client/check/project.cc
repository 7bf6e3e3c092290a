#include "client/check/project.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/check/project_checks.h"
#include "client/text_message.h"
#include "google/protobuf/descriptor.h"

namespace edgekiln::client {
namespace {

constexpr char kMemoryPrefix[] = "memory.";

// The field of SweepGates that sets the gate; empty: none does.
std::string GateField(const std::string& gate) {
  if (absl::StartsWith(gate, kMemoryPrefix)) return "max_memory";
  if (gate == "cycles") return "max_cycles";
  if (gate == "latency_ms") return "max_latency_ms";
  if (gate == "ram_bytes") return "max_ram_bytes";
  if (gate == "accuracy") return "min_accuracy";
  if (gate == "error") return "max_error";
  return gate == "disagreement" ? "max_disagreement" : "";
}

const google::protobuf::FieldDescriptor* FieldOf(
    const google::protobuf::Message& message, const std::string& field) {
  return message.GetDescriptor()->FindFieldByName(field);
}

}  // namespace

std::string ProjectFile::Folder() const {
  const size_t slash = path_.rfind('/');
  return slash == std::string::npos ? "" : path_.substr(0, slash + 1);
}

std::string ProjectFile::PathOf(const std::string& file) const {
  const std::string folder = Folder();
  return absl::StartsWith(file, "/") || folder.empty()
             ? file
             : JoinPath(absl::StripSuffix(folder, "/"), file);
}

void ProjectFile::NameModels(const v1::SweepRequest& request) {
  for (int i = 0; i < project_.groups_size(); ++i) {
    v1::ProjectGroup& group = *project_.mutable_groups(i);
    for (int k = 0; k < group.models_size(); ++k) {
      group.mutable_models(k)->set_name(request.groups(i).models(k).name());
    }
  }
}

v1::CheckPlace ProjectFile::At(const Tree* tree,
                               const google::protobuf::Message& message,
                               const std::string& field, int index,
                               v1::CheckPlace otherwise) const {
  const auto* const descriptor = FieldOf(message, field);
  if (tree == nullptr || descriptor == nullptr) return otherwise;
  const auto location = tree->GetLocation(descriptor, index);
  if (location.line < 0) return otherwise;
  v1::CheckPlace place;
  place.set_file(path_);
  place.set_line(location.line + 1);
  place.set_column(location.column + 1);
  return place;
}

const ProjectFile::Tree* ProjectFile::GroupTree(int group) const {
  return places_->GetTreeForNested(FieldOf(project_, "groups"), group);
}

v1::CheckPlace ProjectFile::GroupPlace(int group) const {
  v1::CheckPlace whole;
  whole.set_file(path_);
  if (group < 0 || group >= project_.groups_size()) return whole;
  return At(places_.get(), project_, "groups", group, std::move(whole));
}

int ProjectFile::ModelIndex(int group, const std::string& name) const {
  if (group < 0 || group >= project_.groups_size()) return -1;
  const v1::ProjectGroup& of = project_.groups(group);
  for (int i = 0; i < of.models_size(); ++i) {
    if (of.models(i).name() == name) return i;
  }
  return -1;
}

v1::CheckPlace ProjectFile::ModelPlace(int group,
                                       const std::string& name) const {
  const int index = ModelIndex(group, name);
  return index < 0 ? GroupPlace(group) : EntryPlace(group, "models", index);
}

v1::CheckPlace ProjectFile::EntryPlace(int group, const std::string& field,
                                       int index) const {
  if (group < 0 || group >= project_.groups_size()) return GroupPlace(group);
  return At(GroupTree(group), project_.groups(group), field, index,
            GroupPlace(group));
}

std::string ProjectFile::ModelFile(int group, const std::string& name) const {
  const int index = ModelIndex(group, name);
  return index < 0 ? "" : PathOf(project_.groups(group).models(index).file());
}

v1::CheckPlace ProjectFile::GatePlace(int group,
                                      const std::string& gate) const {
  v1::CheckPlace around = GroupPlace(group);
  if (group < 0 || group >= project_.groups_size()) return around;
  const v1::ProjectGroup& of = project_.groups(group);
  around = At(GroupTree(group), of, "gates", -1, std::move(around));
  const Tree* const tree =
      GroupTree(group) == nullptr
          ? nullptr
          : GroupTree(group)->GetTreeForNested(FieldOf(of, "gates"), -1);
  const std::string field = GateField(gate);
  if (field != "max_memory") {
    return At(tree, of.gates(), field, -1, std::move(around));
  }
  for (int i = 0; i < of.gates().max_memory_size(); ++i) {
    if (gate == kMemoryPrefix + of.gates().max_memory(i).name()) {
      return At(tree, of.gates(), field, i, std::move(around));
    }
  }
  return around;
}

v1::CheckPlace ProjectFile::RegressionPlace(int group,
                                            const std::string& field) const {
  if (group < 0 || group >= project_.groups_size()) return GroupPlace(group);
  const v1::ProjectGroup& of = project_.groups(group);
  const google::protobuf::Message& owner =
      of.has_regression()
          ? static_cast<const google::protobuf::Message&>(of)
          : static_cast<const google::protobuf::Message&>(project_);
  const Tree* const tree =
      of.has_regression() ? GroupTree(group) : places_.get();
  v1::CheckPlace around = At(tree, owner, "regression", -1, GroupPlace(group));
  const Tree* const below =
      tree == nullptr
          ? nullptr
          : tree->GetTreeForNested(FieldOf(owner, "regression"), -1);
  return At(below, project_.regression(), field, -1, std::move(around));
}

v1::Project::Regression ProjectFile::RegressionOf(int group) const {
  if (group < 0 || group >= project_.groups_size()) return {};
  const v1::ProjectGroup& of = project_.groups(group);
  v1::Project::Regression regression =
      of.has_regression() ? of.regression() : project_.regression();
  if (of.goal() != v1::SWEEP_VALIDATE) {
    regression.clear_optional_max_accuracy_drop();
  }
  return regression;
}

bool ProjectFile::LimitsRegression() const {
  for (int group = 0; group < project_.groups_size(); ++group) {
    if (RegressionOf(group).ByteSizeLong() > 0) return true;
  }
  return false;
}

absl::StatusOr<ProjectFile> ParseProject(absl::string_view text,
                                         const std::string& path) {
  ProjectFile file;
  file.path_ = path;
  file.places_ = std::make_unique<ProjectFile::Tree>();
  EK_RETURN_IF_ERROR(ParseTextMessage(text, path,
                                      {.what = "project",
                                       .schema = "docs/check.md",
                                       .max_bytes = kMaxProjectFileBytes},
                                      file.project_, file.places_.get()));
  EK_RETURN_IF_ERROR(CheckProject(file));
  return file;
}

v1::SweepRequest SweepOfProject(const v1::Project& project) {
  v1::SweepRequest request;
  for (const v1::ProjectGroup& group : project.groups()) {
    v1::SweepGroup& out = *request.add_groups();
    *out.mutable_models() = group.models();
    *out.mutable_targets() = group.targets();
    *out.mutable_recipes() = group.recipes();
    *out.mutable_vary() = group.vary();
    *out.mutable_exclude() = group.exclude();
    out.set_goal(group.goal());
    if (group.has_options()) *out.mutable_options() = group.options();
    if (group.has_gates()) *out.mutable_gates() = group.gates();
  }
  return request;
}

}  // namespace edgekiln::client
