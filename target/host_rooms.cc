#include "target/host_rooms.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"

namespace edgekiln::target {
namespace {

std::string WhereOf(absl::string_view op) {
  return absl::StrCat("host_rooms \"", op, "\"");
}

absl::StatusOr<Expression> Compiled(const std::string& text,
                                    absl::Span<const Constant> parameters) {
  if (text.empty()) return Expression();
  return Expression::Compile(text, parameters, OpVariableNames());
}

absl::StatusOr<int64_t> BytesOf(const Expression& expression,
                                const OpVariables& variables,
                                const std::string& where) {
  EK_ASSIGN_OR_RETURN(const int64_t bytes,
                      expression.Evaluate(variables.values()), where);
  if (bytes >= 0) return bytes;
  return MakeError(absl::StatusCode::kOutOfRange,
                   {.reason = "TARGET_INVALID",
                    .what = absl::StrCat("an op would keep ", bytes, " bytes"),
                    .where = where,
                    .limit = expression.text(),
                    .need = "0 bytes or more",
                    .fix = "correct the expression; max(0, ..) bounds it"});
}

absl::Status Invalid(std::string what, std::string where, std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .fix = std::move(fix)});
}

}  // namespace

absl::StatusOr<HostRooms> HostRooms::Create(const v1::Machine& machine,
                                            const v1::TileRecipe& recipe) {
  std::vector<Constant> parameters;
  for (const v1::Setting& parameter : machine.parameters()) {
    parameters.push_back({parameter.name(), parameter.value()});
  }
  HostRooms rooms;
  for (const v1::TileRecipe::HostRoom& room : recipe.host_rooms()) {
    const std::string where = WhereOf(room.op());
    EK_ASSIGN_OR_RETURN(Expression data,
                        Compiled(room.bytes_expr(), parameters),
                        absl::StrCat(where, ": bytes_expr"));
    EK_ASSIGN_OR_RETURN(Expression code,
                        Compiled(room.code_bytes_expr(), parameters),
                        absl::StrCat(where, ": code_bytes_expr"));
    rooms.rooms_.push_back({room.op(), std::move(data), std::move(code)});
  }
  return rooms;
}

absl::StatusOr<HostRooms::Bytes> HostRooms::Of(
    absl::string_view op, const OpVariables& variables) const {
  Bytes bytes;
  for (const Room& room : rooms_) {
    if (room.op != op) continue;
    const std::string where = WhereOf(op);
    EK_ASSIGN_OR_RETURN(
        bytes.data,
        BytesOf(room.data, variables, absl::StrCat(where, ": bytes_expr")));
    EK_ASSIGN_OR_RETURN(bytes.code,
                        BytesOf(room.code, variables,
                                absl::StrCat(where, ": code_bytes_expr")));
  }
  return bytes;
}

absl::Status ValidateHostRooms(const v1::TargetDescriptor& descriptor,
                               const v1::RecipeDescriptor& recipe) {
  std::vector<Constant> parameters;
  for (const v1::Parameter& parameter : descriptor.parameters()) {
    parameters.push_back({parameter.name(), parameter.default_value()});
  }
  std::set<std::string> seen;
  for (const v1::RecipeDescriptor::HostRoom& room : recipe.host_rooms()) {
    const std::string where = WhereOf(room.op());
    if (v1::OpAttributes::descriptor()->FindFieldByName(room.op()) == nullptr) {
      return Invalid(absl::StrCat("no op is called \"", room.op(), "\""), where,
                     "names are those of OpAttributes in "
                     "proto/edgekiln/v1/graph.proto");
    }
    if (!seen.insert(room.op()).second) {
      return Invalid("the op occurs twice", where, "keep one of them");
    }
    if (room.provenance() == v1::PROVENANCE_UNSPECIFIED) {
      return Invalid("provenance is missing",
                     absl::StrCat(where, ": provenance"),
                     "PUBLISHED, READ, FITTED or ASSUMED");
    }
    if (room.bytes_expr().empty() && room.code_bytes_expr().empty()) {
      return Invalid("it keeps nothing", where,
                     "add bytes_expr or code_bytes_expr");
    }
    EK_RETURN_IF_ERROR(Compiled(room.bytes_expr(), parameters).status(),
                       absl::StrCat(where, ": bytes_expr"));
    EK_RETURN_IF_ERROR(Compiled(room.code_bytes_expr(), parameters).status(),
                       absl::StrCat(where, ": code_bytes_expr"));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::target
