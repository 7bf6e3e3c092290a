#include "tests/bench/diana/compile.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "target/builtin.h"
#include "target/resolve.h"

namespace edgekiln::bench {
namespace {

absl::StatusOr<std::string> TextOfDiana() {
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    if (builtin.name == "diana") return builtin.text;
  }
  return absl::NotFoundError("no target diana");
}

}  // namespace

absl::StatusOr<DianaCompiler> DianaCompiler::Create(std::string edgekiln,
                                                    std::string shared,
                                                    std::string variants) {
  DianaCompiler compiler;
  compiler.edgekiln_ = std::move(edgekiln);
  compiler.shared_ = std::move(shared);
  compiler.variants_ = std::move(variants);
  compiler.folder_ = std::make_shared<ScratchFolder>();
  EK_ASSIGN_OR_RETURN(const v1::ResolvedTarget target,
                      target::ResolveTarget("extends: \"diana\""));
  compiler.machine_ = target.machine();
  EK_ASSIGN_OR_RETURN(const std::string text, TextOfDiana());
  EK_ASSIGN_OR_RETURN(const v1::TargetDescriptor diana,
                      target::ParseDescriptor(text));
  for (const auto& parameter : diana.parameters()) {
    if (parameter.name() == "tile_cycles") {
      compiler.tile_cycles_ = parameter.default_value();
    }
  }
  return compiler;
}

std::string DianaCompiler::ModelOf(const Published& network,
                                   const Column& column) const {
  const std::string file =
      absl::StrCat("htvm_", network.model, "_", column.models, ".onnx");
  const std::string shared = absl::StrCat(shared_, "/models/", file);
  if (variants_.empty() || std::filesystem::exists(shared)) return shared;
  return absl::StrCat(variants_, "/", file);
}

bool DianaCompiler::HasModel(const Published& network,
                             const Column& column) const {
  return std::filesystem::exists(ModelOf(network, column));
}

absl::StatusOr<std::string> DianaCompiler::Compile(
    const Published& network, const Column& column, const std::string& target,
    const std::string& recipe) const {
  const std::string out = folder_->At(absl::StrReplaceAll(
      absl::StrCat(network.name, "-", column.name, "-", target, "-", recipe),
      {{"/", "_"}}));
  EK_RETURN_IF_ERROR(
      RunProgram({edgekiln_, "compile", ModelOf(network, column), "--target",
                  target, "--recipe", recipe, "-o", out})
          .status());
  return out;
}

absl::StatusOr<ProgramFigures> DianaCompiler::Figures(
    const Published& network, const Column& column, const std::string& target,
    const std::string& recipe) const {
  EK_ASSIGN_OR_RETURN(const std::string bundle,
                      Compile(network, column, target, recipe));
  EK_ASSIGN_OR_RETURN(const v1::Program program,
                      ReadProgram(absl::StrCat(bundle, "/program.pb")));
  return FiguresOf(program, machine_, tile_cycles_);
}

absl::StatusOr<std::string> DianaCompiler::UnpaddedTarget() const {
  EK_ASSIGN_OR_RETURN(const std::string text, TextOfDiana());
  const std::string file = folder_->At("unpadded.txtpb");
  std::ofstream(file) << absl::StrReplaceAll(
      text, {{"input_channels_multiple: 16", ""},
             {"name: \"diana\"", "name: \"unpadded\""}});
  return file;
}

}  // namespace edgekiln::bench
