#include "compiler/frontend/onnx/operator_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/needed_nodes.h"
#include "compiler/frontend/onnx/node.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/replacements.h"
#include "compiler/frontend/unsupported_operators.h"
#include "target/nearest_name.h"

namespace edgekiln::compiler::onnx_import {
namespace {

using FunctionKey = std::pair<absl::string_view, absl::string_view>;

// Graphs inside graphs; a parser of protobuf goes no deeper.
constexpr int kMaxDepth = 100;

enum class Verdict { kFine, kUnknown, kTooOld };

class Check {
 public:
  Check(const onnx::ModelProto& model, Bodies bodies) : bodies_(bodies) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_.emplace(FunctionKey(function.domain(), function.name()),
                         &function);
    }
  }

  // `nodes` of a graph or function with these outputs.
  template <typename Nodes>
  void Visit(const Nodes& nodes, const std::vector<std::string>& outputs,
             int opset, int depth) {
    if (depth > kMaxDepth) return;
    std::vector<bool> needed;
    for (int i = 0; i < nodes.size(); ++i) {
      const onnx::NodeProto& node = nodes.Get(i);
      const auto call =
          functions_.find(FunctionKey(node.domain(), node.op_type()));
      const bool calls = call != functions_.end();
      const Verdict verdict = calls ? Verdict::kFine : VerdictOf(node, opset);
      const bool looks =
          calls || (bodies_ == Bodies::kInclude && node.attribute_size() > 0);
      if (verdict == Verdict::kFine && !looks) continue;
      if (needed.empty()) needed = NeededNodes(nodes, outputs);
      if (!needed[static_cast<size_t>(i)]) continue;
      if (verdict != Verdict::kFine) Add(node, opset, verdict);
      if (calls) VisitFunction(*call->second, opset, depth);
      if (bodies_ == Bodies::kInclude) VisitBodies(node, opset, depth);
    }
  }

  absl::Status Result() const {
    if (found_.empty()) return absl::OkStatus();
    return MakeError(
        absl::StatusCode::kUnimplemented,
        {.fault = Fault::kUser,
         .reason = only_old_ ? "OPSET_UNSUPPORTED" : "OP_UNSUPPORTED",
         .what = found_.What("node"),
         .where = found_.Where("node"),
         .limit = absl::StrCat("the operators of docs/onnx_coverage.md, op "
                               "sets ",
                               kMinOnnxOpset, " to ", kMaxOnnxOpset,
                               "; functions that the model defines"),
         .need = "a supported operator, or several, in place of each",
         .fix =
             found_.Fix("replace it by supported operators before exporting")});
  }

 private:
  void VisitFunction(const onnx::FunctionProto& function, int opset,
                     int depth) {
    if (!visited_.insert(&function).second) return;
    for (const onnx::OperatorSetIdProto& set : function.opset_import()) {
      if (!IsDefaultDomain(set.domain())) continue;
      opset = static_cast<int>(std::clamp<int64_t>(set.version(), 1, 1 << 20));
    }
    Visit(function.node(),
          std::vector<std::string>(function.output().begin(),
                                   function.output().end()),
          opset, depth + 1);
  }

  void VisitBodies(const onnx::NodeProto& node, int opset, int depth) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      Visit(attribute.g().node(), OutputNames(attribute.g().output()), opset,
            depth + 1);
    }
  }

  Verdict VerdictOf(const onnx::NodeProto& node, int opset) {
    const bool standard = IsDefaultDomain(node.domain());
    if (!standard && node.domain() != kMicrosoftDomain) {
      return Verdict::kUnknown;
    }
    if (standard && IsControlFlow(node.op_type())) return Verdict::kFine;
    const auto [known, added] =
        verdicts_.try_emplace({node.op_type(), standard ? opset : 0});
    if (added) {
      const OperatorEntry* entry = FindOperator(
          standard ? absl::string_view() : kMicrosoftDomain, node.op_type());
      known->second = entry == nullptr             ? Verdict::kUnknown
                      : opset < entry->first_opset ? Verdict::kTooOld
                                                   : Verdict::kFine;
    }
    return known->second;
  }

  void Add(const onnx::NodeProto& node, int opset, Verdict verdict) {
    const bool standard = IsDefaultDomain(node.domain());
    std::string name = standard
                           ? node.op_type()
                           : absl::StrCat(node.domain(), ".", node.op_type());
    const bool old = verdict == Verdict::kTooOld;
    if (old) absl::StrAppend(&name, " of op set ", opset);
    only_old_ = only_old_ && old;
    found_.Add(
        name, [&] { return Node(node, opset).Label(); },
        [&]() -> std::string {
          if (!old) return AdviceFor(node);
          return "this form is no longer supported; convert the model with "
                 "onnx.version_converter.convert_version(model, 13), or export "
                 "it again";
        });
  }

  static std::string AdviceFor(const onnx::NodeProto& node) {
    const bool standard = IsDefaultDomain(node.domain());
    const absl::string_view advice = FindReplacement(
        standard ? absl::string_view() : node.domain(), node.op_type());
    if (!advice.empty()) return std::string(advice);
    if (!standard && node.domain() != kMicrosoftDomain) {
      return "unknown op set domain; export with standard ONNX operators only";
    }
    const std::vector<std::string> names = absl::StrSplit(
        OperatorNames(standard ? absl::string_view() : kMicrosoftDomain), ' ');
    return target::DidYouMean(node.op_type(), names, "");
  }

  const Bodies bodies_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  std::set<const onnx::FunctionProto*> visited_;
  // By operator and op set; 0 for the other domain, which has no versions.
  std::map<std::pair<absl::string_view, int>, Verdict> verdicts_;
  bool only_old_ = true;
  UnsupportedOperators found_;
};

}  // namespace

absl::Status CheckOperators(const onnx::ModelProto& model, int opset,
                            Bodies bodies) {
  Check check(model, bodies);
  check.Visit(model.graph().node(), OutputNames(model.graph().output()), opset,
              0);
  return check.Result();
}

}  // namespace edgekiln::compiler::onnx_import
