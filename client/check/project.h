#ifndef EK_CLIENT_CHECK_PROJECT_H_
#define EK_CLIENT_CHECK_PROJECT_H_

// edgekiln.txtpb: what it says, and where. Pure.

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/check.pb.h"
#include "edgekiln/v1/project.pb.h"
#include "edgekiln/v1/sweep.pb.h"
#include "google/protobuf/text_format.h"

namespace edgekiln::client {

// The name that `check` looks for in a folder, and `init` writes.
inline constexpr char kProjectFileName[] = "edgekiln.txtpb";
inline constexpr size_t kMaxProjectFileBytes = size_t{1} << 20;

// A project and where its fields stand. Movable.
class ProjectFile {
 public:
  const v1::Project& project() const { return project_; }
  // As it was named, for messages.
  const std::string& path() const { return path_; }
  // What paths in it are relative to, with a '/' behind it; "": the current
  // folder.
  std::string Folder() const;
  // `file` of the project as seen from the current folder.
  std::string PathOf(const std::string& file) const;

  // Gives models the names that their rows have, as OpenSweep() made them.
  void NameModels(const v1::SweepRequest& request);

  // Places of groups that exist. Of what is not written there: the nearest
  // message around it.
  v1::CheckPlace ModelPlace(int group, const std::string& name) const;
  // Of "models" or "targets".
  v1::CheckPlace EntryPlace(int group, const std::string& field,
                            int index) const;
  // The model's file as seen from the current folder; empty: not known.
  std::string ModelFile(int group, const std::string& name) const;
  // The budget that Report.Gate.name tells: "cycles", "memory.flash".
  v1::CheckPlace GatePlace(int group, const std::string& gate) const;
  // `field` of Project.Regression, of the group or else of the project.
  v1::CheckPlace RegressionPlace(int group, const std::string& field) const;
  v1::CheckPlace GroupPlace(int group) const;

  // Those of the group, or else of the project. An allowed loss of accuracy is
  // left out where the group measures none.
  v1::Project::Regression RegressionOf(int group) const;
  // Whether anything of any group is limited.
  bool LimitsRegression() const;

 private:
  friend absl::StatusOr<ProjectFile> ParseProject(absl::string_view text,
                                                  const std::string& path);
  ProjectFile() = default;

  using Tree = google::protobuf::TextFormat::ParseInfoTree;
  v1::CheckPlace At(const Tree* tree, const google::protobuf::Message& message,
                    const std::string& field, int index,
                    v1::CheckPlace otherwise) const;
  const Tree* GroupTree(int group) const;
  // Of the group's models; -1: none is called so.
  int ModelIndex(int group, const std::string& name) const;

  std::string path_;
  v1::Project project_;
  std::unique_ptr<Tree> places_;
};

// Reads a Project in text form. The schema is closed: an unknown key is an
// error with line, key and the nearest known one; so are limits that nothing
// can keep or that are not measured. `path`: as ProjectFile::path(). A usage
// error.
absl::StatusOr<ProjectFile> ParseProject(absl::string_view text,
                                         const std::string& path);

// All groups as one sweep, in their order.
v1::SweepRequest SweepOfProject(const v1::Project& project);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_PROJECT_H_
